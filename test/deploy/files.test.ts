import { describe, expect, it } from 'vitest';
import { readConfig, SETTINGS } from '../../src/config.js';
import { MONITORING_PATHS } from '../../src/observability/monitoring.js';
import { readText } from '../support/readme.js';
import {
  alerts,
  bytesOf,
  compose,
  type DeploymentSpec,
  dashboard,
  deployed,
  deployment,
  gatewayContainer,
  imageEnv as image,
  kinds,
  kubernetesObject,
  scaling,
} from './files.js';

/** How long a gateway needs after DRAIN_MS to end in any case. */
const STOP_WITHIN_S =
  Number(/STOP_WITHIN_MS = ([\d_]+)/.exec(readText('src/start.ts'))?.[1]?.replace('_', '')) / 1000;

const settingNames = new Set(Object.values(SETTINGS).map(({ name }) => name));
const gateways = Object.entries(compose.services).filter(([name]) => name.startsWith('gateway'));
const inKubernetes = kubernetesObject('ConfigMap').data ?? {};

/** What the gateway makes of these settings, beside those of the image, with secrets filled in. */
function configOf(settings: Readonly<Record<string, string>>) {
  const filled = Object.entries(settings).map(([name, value]) => [
    name,
    value.startsWith('${UPSTREAM_URL')
      ? 'https://example.org/v1'
      : value.replace(/^\$\{.*\}$/, 'x'.repeat(32)),
  ]);
  const found = readConfig({ ...image, ...Object.fromEntries(filled) });
  if ('errors' in found) throw new Error(found.errors.join('\n'));
  return found.config;
}

describe('settings', () => {
  it.each([
    ['the Dockerfile', image],
    ['compose.yaml', gateways[0]?.[1].environment ?? {}],
    ['kubernetes.yaml', inKubernetes],
  ])('of %s are those of the gateway, and valid', (_, settings) => {
    const names = Object.keys(settings).filter((name) => name !== 'NODE_ENV');
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => !settingNames.has(name))).toEqual([]);
    const config = configOf({ UPSTREAM_URL: 'https://example.org/v1', ...settings });
    expect([config.host, config.port, config.adminPort, config.upstreamUrl !== undefined]).toEqual([
      '0.0.0.0',
      4000,
      4001,
      true,
    ]);
  });

  it('that alerts speak of are there', () => {
    const named = alerts.flatMap(
      ({ annotations }) => annotations.description.match(/\b[A-Z]+(_[A-Z]+)+\b/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !settingNames.has(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('has two gateways that differ in their address and volume alone', () => {
    expect(gateways.map(([name]) => name)).toEqual(['gateway-1', 'gateway-2']);
    const [first, second] = gateways.map(([, { volumes, networks, ...rest }]) => ({
      volumes,
      networks,
      rest,
    }));
    expect(first?.rest).toEqual(second?.rest);
    expect(first?.volumes).not.toEqual(second?.volumes);
    for (const [, { volumes = [] }] of gateways) {
      const [volume = '', path] = volumes[0]?.split(':') ?? [];
      expect(Object.keys(compose.volumes)).toContain(volume);
      expect(path).toBe(gateways[0]?.[1].environment?.SNAPSHOT_DIR);
    }
  });

  it('builds them from the Dockerfile, with a read-only root, and waits for their end', () => {
    for (const [, { build, read_only, environment, stop_grace_period = '' }] of gateways) {
      expect(build).toEqual({ context: '..', dockerfile: '.deploy/Dockerfile' });
      expect(read_only).toBe(true);
      const needed = configOf(environment ?? {}).drainMs / 1000 + STOP_WITHIN_S;
      expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(needed);
    }
  });

  it('lets the gateways believe nginx, at an address of the network', () => {
    const { nginx } = compose.services;
    const address = Object.values(nginx?.networks ?? {}).map(({ ipv4_address }) => ipv4_address);
    expect(address).toEqual([gateways[0]?.[1].environment?.TRUSTED_PROXIES]);
    const all = Object.values(compose.services).flatMap(({ networks }) =>
      Array.isArray(networks) ? [] : Object.values(networks).map(({ ipv4_address }) => ipv4_address),
    );
    expect(new Set(all).size).toBe(3);
    const subnet = compose.networks.inside?.ipam.config[0]?.subnet ?? '';
    expect(all.every((each) => each.startsWith(subnet.replace(/\.0\/24$/, '.')))).toBe(true);
  });

  it('publishes nginx alone, with its file and port', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports);
    expect(published.map(([name]) => name)).toEqual(['nginx']);
    expect(published[0]?.[1].ports).toEqual(['127.0.0.1:8080:8080']);
    expect(deployed('nginx.conf')).toContain('listen 8080;');
    expect(published[0]?.[1].volumes).toEqual(['./nginx.conf:/etc/nginx/nginx.conf:ro']);
  });
});

describe('nginx.conf', () => {
  const config = deployed('nginx.conf');

  it('forwards to the gateways of compose.yaml', () => {
    expect(
      [...config.matchAll(/server (\S+):(\d+) max_fails=0;/g)].map(([, name, port]) => [name, port]),
    ).toEqual(gateways.map(([name]) => [name, image.PORT]));
  });

  it('takes as large bodies as the gateway, and waits longer than it waits for its upstream', () => {
    const { maxBodyBytes, upstreamTimeoutMs, upstreamRetries } = configOf({
      UPSTREAM_URL: 'https://example.org/v1',
    });
    expect(config).toContain(`client_max_body_size ${maxBodyBytes / 2 ** 20}m;`);
    expect(Number(/proxy_read_timeout (\d+)s/.exec(config)?.[1]) * 1000).toBeGreaterThan(
      upstreamTimeoutMs * (1 + upstreamRetries),
    );
  });
});

describe('kubernetes.yaml', () => {
  it('has what a gateway needs', () => {
    expect(kinds).toEqual([
      'ConfigMap gateway',
      'Deployment gateway',
      'Service gateway',
      'PodDisruptionBudget gateway',
      'HorizontalPodAutoscaler gateway',
      'ConfigMap gateway-adapter-rules',
      'Deployment gateway-redis',
      'Service gateway-redis',
    ]);
  });

  it('asks ports and paths that the image has', () => {
    const ports = Object.fromEntries(
      gatewayContainer.ports.map(({ name, containerPort }) => [name, containerPort]),
    );
    expect(ports).toEqual({ http: Number(image.PORT), admin: Number(image.ADMIN_PORT) });
    const { startupProbe, readinessProbe, livenessProbe } = gatewayContainer;
    const probes = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet);
    expect(probes.map(({ path }) => path)).toEqual(['/live', '/ready', '/live']);
    for (const { path, port } of probes) {
      expect(MONITORING_PATHS).toContain(path);
      expect(ports).toHaveProperty(port);
    }
    expect(gatewayContainer.image).toBe(gateways[0]?.[1].image);
  });

  it('gives a gateway the time to stop: preStop, DRAIN_MS, and its open requests', () => {
    const [program, seconds] = gatewayContainer.lifecycle.preStop.exec.command;
    expect(program).toBe('sleep');
    const needed = Number(seconds) + configOf(inKubernetes).drainMs / 1000 + STOP_WITHIN_S;
    expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
  });

  it('runs it as the user of the image, with a read-only root and a folder for snapshots', () => {
    const { securityContext } = deployment.spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_534, fsGroup: 65_534 });
    expect(gatewayContainer.securityContext.readOnlyRootFilesystem).toBe(true);
    expect(gatewayContainer.volumeMounts[0]?.mountPath).toBe(inKubernetes.SNAPSHOT_DIR);
  });

  it('limits memory as compose.yaml does, and alerts before the limit', () => {
    const { requests, limits } = gatewayContainer.resources;
    expect([requests.memory, limits.memory]).toEqual(['192Mi', '384Mi']);
    const { resources } = gateways[0]?.[1].deploy ?? {};
    expect(bytesOf(resources?.limits.memory ?? '')).toBe(bytesOf(limits.memory));
    expect(bytesOf(resources?.reservations.memory ?? '')).toBe(bytesOf(requests.memory));
    const high = alerts.find(({ alert }) => alert === 'GatewayMemoryHigh');
    expect(high?.expr).toBe(
      `process_resident_memory_bytes{job="gateway"} > 0.9 * ${Number.parseInt(limits.memory, 10)} * 1024 * 1024`,
    );
  });

  it('selects the pods that there are', () => {
    const labels = { app: 'gateway' };
    expect(deployment.spec.template.metadata.labels).toEqual(labels);
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(kubernetesObject<{ selector: object }>('Service').spec.selector).toEqual(labels);
    const budget = kubernetesObject<DeploymentSpec>('PodDisruptionBudget');
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    const scaler = kubernetesObject<{ scaleTargetRef: object }>('HorizontalPodAutoscaler');
    expect(scaler.spec.scaleTargetRef).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: 'gateway',
    });
    expect(scaling.rule.name.as).toBe(scaling.metric);
    const { port } = new URL(inKubernetes.REDIS_URL ?? '');
    const redis = kubernetesObject<{ ports: { port: number }[] }>('Service', 'gateway-redis');
    expect(redis.spec.ports.map((each) => String(each.port))).toEqual([port]);
    expect(new URL(inKubernetes.REDIS_URL ?? '').hostname).toBe(redis.metadata.name);
  });
});

describe('grafana.json', () => {
  const { panels, templating } = dashboard;

  it('has panels that say what they show, side by side', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, type, description, gridPos } of panels) {
      expect(title).toBeTruthy();
      if (type !== 'row') expect(description, title).toBeTruthy();
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    }
    const overlapping = panels.flatMap(({ title, gridPos: a }, index) =>
      panels
        .slice(index + 1)
        .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map((other) => `${title} and ${other.title}`),
    );
    expect(overlapping).toEqual([]);
  });

  it('uses variables that it has', () => {
    const used = new Set([...deployed('grafana.json').matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name));
    expect([...used].toSorted()).toEqual(
      ['__rate_interval', ...templating.list.map(({ name }) => name)].toSorted(),
    );
  });
});
