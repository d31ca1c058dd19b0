import { describe, expect, it } from 'vitest';
import { readConfig, SETTINGS } from '../../src/config/config.js';
import { MONITORING_PATHS } from '../../src/http/paths.js';
import { MAX_UPSTREAM_WAIT_MS } from '../../src/snapshots/operation-view.js';
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
  kubernetesEnv,
  kubernetesObject,
  kustomization,
} from './files.js';

/** The longest time between the end of DRAIN_MS and the end of a gateway's process. */
const STOP_WITHIN_S =
  Number(/STOP_WITHIN_MS = ([\d_]+)/.exec(readText('src/start.ts'))?.[1]?.replace('_', '')) / 1000;

const settingNames = new Set(Object.values(SETTINGS).map(({ name }) => name));
const gateways = Object.entries(compose.services).filter(([name]) => name.startsWith('gateway'));

/** The configuration of the gateway from these settings and those of the image. */
function configOf(settings: Readonly<Record<string, string>>) {
  const filled = Object.entries(settings).map(([name, value]) => [
    name,
    value.replace(/^\$\{\w+:-(.*)\}$/, '$1'),
  ]);
  const found = readConfig({ ...image, ...Object.fromEntries(filled) });
  if ('errors' in found) throw new Error(found.errors.join('\n'));
  return found.config;
}

describe('settings', () => {
  it.each([
    ['the Dockerfile', image],
    ['compose.yaml', gateways[0]?.[1].environment ?? {}],
    ['kustomization.yaml', kubernetesEnv],
  ])('of %s are known to the gateway, and valid', (_, settings) => {
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

  it('named in alerts exist', () => {
    const named = alerts.flatMap(
      ({ annotations }) => annotations.description.match(/\b[A-Z]+(_[A-Z]+)+\b/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !settingNames.has(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('has two gateways that differ only in address and volume', () => {
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

  it('builds the gateways from the Dockerfile, with a read-only root, and waits for their end', () => {
    for (const [, { build, read_only, environment, stop_grace_period = '' }] of gateways) {
      expect(build).toMatchObject({ context: '..', dockerfile: '.deploy/Dockerfile' });
      expect(read_only).toBe(true);
      const needed = configOf(environment ?? {}).drainMs / 1000 + STOP_WITHIN_S;
      expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(needed);
    }
  });

  it('makes nginx a trusted proxy, at an address of the network', () => {
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

  it('keeps the logs of each container short', () => {
    for (const [name, { logging }] of Object.entries(compose.services))
      expect(logging?.options, name).toEqual({ 'max-size': '10m', 'max-file': '3' });
  });

  it('publishes only nginx, with its file and port', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports);
    expect(published.map(([name]) => name)).toEqual(['nginx']);
    expect(published[0]?.[1].ports).toEqual(['127.0.0.1:8080:8080']);
    expect(deployed('nginx.conf')).toContain('listen 8080;');
    expect(published[0]?.[1].volumes).toEqual(['./nginx.conf:/etc/nginx/nginx.conf:ro']);
  });
});

describe('both', () => {
  const { version } = JSON.parse(readText('package.json')) as { version: string };

  it('run an image with the tag of this version', () => {
    for (const [, { image, build }] of gateways) {
      expect(image).toBe(`chains-and-tokens-gateway:${version}`);
      expect(build?.args).toMatchObject({ VERSION: version, REVISION: expect.stringContaining('REVISION') });
    }
    expect(kustomization.images).toMatchObject([{ name: gatewayContainer.image, newTag: version }]);
  });

  it('follow the upstream to its successor, limit each client, and log errors', () => {
    for (const settings of [gateways[0]?.[1].environment ?? {}, kubernetesEnv]) {
      const config = configOf(settings);
      expect(config).toMatchObject({
        upstreamProfile: 'auto',
        upstreamUrl: 'https://stargate.finance/api/v1',
        upstreamSuccessorUrl: 'https://transfer.layerzero-api.com/v1',
        logRequests: 'errors',
      });
      expect(config.rateLimit?.perSecond).toBeGreaterThan(0);
      // Every machine in a trusted network is trusted, so the network must be small.
      for (const network of config.trustedProxies)
        expect(Number(network.split('/')[1] ?? 32)).toBeGreaterThanOrEqual(24);
      expect(config.trustedProxies.length).toBeGreaterThan(0);
    }
  });
});

describe('nginx.conf', () => {
  const config = deployed('nginx.conf');

  it('forwards to the gateways of compose.yaml', () => {
    expect(
      [...config.matchAll(/server (\S+):(\d+) max_fails=0;/g)].map(([, name, port]) => [name, port]),
    ).toEqual(gateways.map(([name]) => [name, image.PORT]));
  });

  it('allows bodies as large as the gateway does, and waits longer than any operation takes', () => {
    const { maxBodyBytes, maxWaitMs } = configOf(gateways[0]?.[1].environment ?? {});
    expect(config).toContain(`client_max_body_size ${maxBodyBytes / 2 ** 20}m;`);
    const secondsOf = (name: string) => Number(new RegExp(`${name} (\\d+)s;`).exec(config)?.[1]);
    const [, equal = ''] = /COALESCE_WITHIN_MS = ([\d_]+)/.exec(readText('src/server/responder.ts')) ?? [];
    // An operation can wait for an equal request, in the queue and for the upstream. Its execution has the rest of 30 s.
    const waitMs = Number(equal.replace('_', '')) + maxWaitMs + MAX_UPSTREAM_WAIT_MS;
    expect(waitMs).toBeGreaterThan(MAX_UPSTREAM_WAIT_MS + 1_000);
    expect(waitMs).toBeLessThan(28_000);
    expect(secondsOf('proxy_read_timeout')).toBeGreaterThan(30);
    expect(secondsOf('proxy_connect_timeout') + secondsOf('proxy_read_timeout')).toBeLessThan(60);
    // An attempt that exceeds the read timeout is not repeated.
    expect(secondsOf('proxy_next_upstream_timeout')).toBeLessThan(secondsOf('proxy_read_timeout'));
  });
});

describe('kubernetes.yaml', () => {
  it('has all objects that a gateway needs', () => {
    expect(kinds).toEqual([
      'Deployment gateway',
      'Service gateway',
      'PodDisruptionBudget gateway',
      'HorizontalPodAutoscaler gateway',
      'NetworkPolicy gateway',
      'Deployment gateway-redis',
      'Service gateway-redis',
      'NetworkPolicy gateway-redis',
    ]);
  });

  it('uses ports and paths of the image', () => {
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
  });

  it('gives a gateway time to stop: preStop, DRAIN_MS, and its open requests', () => {
    const [program, seconds] = gatewayContainer.lifecycle.preStop.exec.command;
    expect(program).toBe('sleep');
    const needed = Number(seconds) + configOf(kubernetesEnv).drainMs / 1000 + STOP_WITHIN_S;
    expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
  });

  it('runs the gateway as the user of the image, with a read-only root and a folder for snapshots', () => {
    const { securityContext } = deployment.spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_534, fsGroup: 65_534 });
    expect(gatewayContainer.securityContext.readOnlyRootFilesystem).toBe(true);
    expect(gatewayContainer.volumeMounts[0]?.mountPath).toBe(kubernetesEnv.SNAPSHOT_DIR);
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

  it('restarts the gateways when a setting changes', () => {
    // Kustomize adds a digest of the values to this name, here and in the Deployment.
    const [{ name, ...generator } = { name: '' }, ...others] = kustomization.configMapGenerator;
    expect([others, Object.keys(generator)]).toEqual([[], ['literals']]);
    expect(gatewayContainer.envFrom).toEqual([{ configMapRef: { name } }]);
  });

  it('admits only proxies, Prometheus and gateways', () => {
    interface Policy {
      readonly podSelector: { readonly matchLabels: object };
      readonly policyTypes: readonly string[];
      readonly ingress: readonly { from: readonly object[]; ports: readonly { port: string }[] }[];
      readonly egress?: readonly object[];
    }
    const ofGateway = kubernetesObject<Policy>('NetworkPolicy').spec;
    expect(ofGateway.podSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
    expect(ofGateway.ingress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      ['http'],
      ['admin'],
    ]);
    expect(ofGateway.ingress.every(({ from }) => from.length === 1)).toBe(true);
    const ofRedis = kubernetesObject<Policy>('NetworkPolicy', 'gateway-redis').spec;
    const redis = kubernetesObject<DeploymentSpec>('Deployment', 'gateway-redis').spec;
    expect(ofRedis.podSelector.matchLabels).toEqual(redis.selector.matchLabels);
    expect(ofRedis.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(ofRedis.egress).toBeUndefined();
    expect(ofRedis.ingress.map(({ from }) => from)).toEqual([
      [{ podSelector: { matchLabels: deployment.spec.template.metadata.labels } }],
    ]);
  });

  it('scales by the CPU time of the pods', () => {
    const { metrics } = kubernetesObject<{ metrics: readonly object[] }>('HorizontalPodAutoscaler').spec;
    expect(metrics).toEqual([
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '600m' } } },
    ]);
    expect(gatewayContainer.resources.requests.cpu).toBe('250m');
  });

  it('selects existing pods', () => {
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
    const { port } = new URL(kubernetesEnv.REDIS_URL ?? '');
    const redis = kubernetesObject<{ ports: { port: number }[] }>('Service', 'gateway-redis');
    expect(redis.spec.ports.map((each) => String(each.port))).toEqual([port]);
    expect(new URL(kubernetesEnv.REDIS_URL ?? '').hostname).toBe(redis.metadata.name);
  });
});

describe('grafana.json', () => {
  const { panels, templating } = dashboard;

  it('has panels with descriptions, side by side', () => {
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

  it('uses only its own variables', () => {
    const used = new Set([...deployed('grafana.json').matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name));
    expect([...used].toSorted()).toEqual(
      ['__rate_interval', ...templating.list.map(({ name }) => name)].toSorted(),
    );
  });
});
