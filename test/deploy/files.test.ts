/** Tests that the files agree with the gateway and with each other. Their form is tested in schemas.test.ts. */
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig, SETTING_NAMES } from '../../src/config/config.js';
import { MAX_UPSTREAM_WAIT_MS } from '../../src/graph/loaders.js';
import { MONITORING_PATHS } from '../../src/http/paths.js';
import { PACKAGE, ROOT, readText } from '../support/readme.js';
import {
  alerts,
  bytesOf,
  compose,
  dashboard,
  deployed,
  deployment,
  gatewayContainer,
  imageEnv as image,
  kubernetesEnv,
  kubernetesObject,
  kustomization,
} from './files.js';

/** The longest time between the end of DRAIN_MS and the end of a gateway's process. */
const STOP_WITHIN_S =
  Number(/STOP_WITHIN_MS = ([\d_]+)/.exec(readText('src/start.ts'))?.[1]?.replace('_', '')) / 1000;

const settingNames = new Set(SETTING_NAMES);
const [first, second] = [compose.services['gateway-1'], compose.services['gateway-2']];
const GATEWAYS: readonly (readonly [file: string, settings: Readonly<Record<string, string>>])[] = [
  ['compose.yaml', first.environment],
  ['kustomization.yaml', kubernetesEnv],
];

function configOf(settings: Readonly<Record<string, string>>) {
  const filled = Object.entries(settings).map(([name, value]) => [
    name,
    // The folder of rules is mounted from .deploy.
    value.replace(/^\$\{\w+:-(.*)\}$/, '$1').replace(/^\/gateway(?=\/rules\/)/, join(ROOT, '.deploy')),
  ]);
  const found = readConfig({ ...image, ...Object.fromEntries(filled) });
  if ('errors' in found) throw new Error(found.errors.join('\n'));
  return found.config;
}

it.each<(typeof GATEWAYS)[number]>([['the Dockerfile', image], ...GATEWAYS])(
  'the settings of %s are known to the gateway, and valid',
  (_, settings) => {
    const names = Object.keys(settings).filter((name) => name !== 'NODE_ENV');
    expect(names.filter((name) => !settingNames.has(name))).toEqual([]);
    const config = configOf({ UPSTREAM_URL: 'https://example.org/v1', ...settings });
    expect(config).toMatchObject({ host: '0.0.0.0', port: 4000, adminPort: 4001 });
  },
);

it.each(GATEWAYS)('the settings of %s follow the successor, limit clients, and log errors', (_, settings) => {
  const config = configOf(settings);
  expect(config).toMatchObject({
    upstreamProfile: 'auto',
    upstreamUrl: 'https://stargate.finance/api/v1',
    upstreamSuccessorUrl: 'https://transfer.layerzero-api.com/v1',
    logRequests: 'errors',
  });
  expect(config.rateLimit?.perSecond).toBeGreaterThan(0);
  expect(config.trustedProxies.length).toBeGreaterThan(0);
  // Every machine in a trusted network is trusted, so the network must be small.
  for (const network of config.trustedProxies)
    expect(Number(network.split('/')[1] ?? 32)).toBeGreaterThanOrEqual(24);
});

it.each(GATEWAYS)('the settings of %s fit the alerts about old prices and slow hits', (_, settings) => {
  const alertOf = (name: string) => alerts.find(({ alert }) => alert === name);
  const limit = Number(/> (\d+)$/.exec(alertOf('GatewayPricesRunOut')?.expr ?? '')?.[1]);
  expect(limit).toBe((0.75 * configOf(settings).priceMaxAgeMs) / 1000);
  expect(readText('src/server/responder.ts')).toContain('COALESCE_WITHIN_MS = 1_000;');
  const { description } = alertOf('GatewayHitsSlow')?.annotations ?? {};
  expect(description).toContain('for a second at most, for an equal request');
});

it('the settings that alerts name exist', () => {
  const named = alerts.flatMap(
    ({ annotations }) => annotations.description.match(/\b[A-Z]+(_[A-Z]+)+\b/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !settingNames.has(name))).toEqual([]);
});

it('both files give a gateway more time to stop than it needs', () => {
  const needed = (settings: Readonly<Record<string, string>>) =>
    configOf(settings).drainMs / 1000 + STOP_WITHIN_S;
  expect(Number.parseInt(first.stop_grace_period, 10)).toBeGreaterThan(needed(first.environment));
  expect(second.stop_grace_period).toBe(first.stop_grace_period);
  const [program, seconds] = gatewayContainer.lifecycle.preStop.exec.command;
  expect(program).toBe('sleep');
  const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + needed(kubernetesEnv));
});

it('both files run the image of this version, with a read-only root and a folder for snapshots', () => {
  const { version } = PACKAGE;
  for (const gateway of [first, second]) {
    expect(gateway).toMatchObject({ image: `chains-and-tokens-gateway:${version}`, read_only: true });
    expect(gateway.volumes[0]).toMatch(new RegExp(`:${gateway.environment.SNAPSHOT_DIR}$`));
  }
  expect(first.volumes).not.toEqual(second.volumes);
  expect(kustomization.images).toMatchObject([{ name: gatewayContainer.image, newTag: version }]);
  const { securityContext } = deployment.spec.template.spec;
  expect(securityContext).toMatchObject({ runAsUser: 65_534, fsGroup: 65_534 });
  expect(gatewayContainer.securityContext.readOnlyRootFilesystem).toBe(true);
  expect(gatewayContainer.volumeMounts[0]?.mountPath).toBe(kubernetesEnv.SNAPSHOT_DIR);
});

it("both files mount the folder of the operator's rules, so that running gateways read changed rules", () => {
  const { LISTING_RULES: path = '' } = kubernetesEnv;
  const [, { name, files, options }] = kustomization.configMapGenerator;
  // The name of the file in the ConfigMap is that of the file in .deploy.
  expect(files.map((file) => `/gateway/${file}`)).toEqual([path]);
  for (const { environment, volumes } of [first, second]) {
    expect(environment.LISTING_RULES).toBe(path);
    expect(volumes).toContain(`./${dirname(files[0] ?? '')}:${dirname(path)}:ro`);
  }
  // If the name had a digest, a change would make a new ConfigMap, which only new pods get.
  expect(options).toEqual({ disableNameSuffixHash: true });
  expect(deployment.spec.template.spec.volumes).toContainEqual({ name: 'rules', configMap: { name } });
  // Kubernetes does not update a mount with `subPath`.
  expect(gatewayContainer.volumeMounts).toContainEqual({ name: 'rules', mountPath: dirname(path) });
});

it('both files limit memory alike, an alert fires before the limit, and the dashboard shows it', () => {
  const { requests, limits } = gatewayContainer.resources;
  for (const { deploy } of [first, second]) {
    expect(bytesOf(deploy.resources.limits.memory)).toBe(bytesOf(limits.memory));
    expect(bytesOf(deploy.resources.reservations.memory)).toBe(bytesOf(requests.memory));
  }
  const high = alerts.find(({ alert }) => alert === 'GatewayMemoryHigh');
  expect(high?.expr).toContain(`> 0.9 * ${Number.parseInt(limits.memory, 10)} * 1024 * 1024`);
  expect(deployed('grafana.json')).toContain(`"value": ${bytesOf(limits.memory)}\n`);
});

it('compose.yaml publishes only the port of nginx; TRUSTED_PROXIES is its fixed address in the inner network', () => {
  const published = Object.entries(compose.services).filter(([, { ports }]) => ports);
  expect(published.map(([name, { ports }]) => [name, ports])).toEqual([['nginx', ['127.0.0.1:8080:8080']]]);
  const { ipv4_address: address = '' } = compose.services.nginx?.networks.inside ?? {};
  expect(first.environment.TRUSTED_PROXIES).toBe(address);
  const subnet = compose.networks.inside?.ipam.config[0]?.subnet ?? '';
  expect(subnet.replace(/\.0\/24$/, '.')).toBe(address.replace(/\d+$/, ''));
});

it('compose.yaml starts nginx after the gateways, also while the upstream is down and they are not healthy', () => {
  // `depends_on` as a list waits only until the gateways have started. nginx needs no more than their names.
  expect(compose.services.nginx?.depends_on).toEqual(['gateway-1', 'gateway-2']);
});

const config = deployed('nginx.conf');

it('nginx.conf forwards to the gateways of compose.yaml, at the published port', () => {
  expect(config).toContain('listen 8080;');
  for (const name of Object.keys(compose.services).filter((each) => each.startsWith('gateway')))
    expect(config).toContain(`server ${name}:${image.PORT} max_fails=0;`);
});

it('nginx.conf allows bodies as large as the gateway does, and waits longer than any operation takes', () => {
  const { maxBodyBytes, maxWaitMs } = configOf(first.environment);
  expect(config).toContain(`client_max_body_size ${maxBodyBytes / 2 ** 20}m;`);
  const secondsOf = (name: string) => Number(new RegExp(`${name} (\\d+)s;`).exec(config)?.[1]);
  const [, equal = ''] = /COALESCE_WITHIN_MS = ([\d_]+)/.exec(readText('src/server/responder.ts')) ?? [];
  // An operation can wait three times: for an equal request, in the queue, and for the upstream. Its execution has
  // the rest of 30 s.
  const waitMs = Number(equal.replace('_', '')) + maxWaitMs + MAX_UPSTREAM_WAIT_MS;
  expect(waitMs).toBeGreaterThan(MAX_UPSTREAM_WAIT_MS + 1_000);
  expect(waitMs).toBeLessThan(28_000);
  expect(secondsOf('proxy_read_timeout')).toBeGreaterThan(30);
  expect(secondsOf('proxy_connect_timeout') + secondsOf('proxy_read_timeout')).toBeLessThan(60);
  // An attempt that exceeds the read timeout is not repeated.
  expect(secondsOf('proxy_next_upstream_timeout')).toBeLessThan(secondsOf('proxy_read_timeout'));
});

const labels = { app: 'gateway' };

it('kubernetes.yaml uses ports and paths of the image', () => {
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

it('kubernetes.yaml selects existing pods', () => {
  expect(deployment.spec.template.metadata.labels).toEqual(labels);
  expect(deployment.spec.selector.matchLabels).toEqual(labels);
  expect(kubernetesObject<{ selector: object }>('Service').spec.selector).toEqual(labels);
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'])
    expect(JSON.stringify(kubernetesObject(kind).spec), kind).toContain('{"matchLabels":{"app":"gateway"}}');
  const { spec } = kubernetesObject<{ scaleTargetRef: object }>('HorizontalPodAutoscaler');
  expect(spec.scaleTargetRef).toMatchObject({ kind: 'Deployment', name: 'gateway' });
  const redis = kubernetesObject<{ ports: { port: number }[] }>('Service', 'gateway-redis');
  const { hostname, port } = new URL(kubernetesEnv.REDIS_URL ?? '');
  expect([hostname, port]).toEqual([redis.metadata.name, String(redis.spec.ports[0]?.port)]);
});

it('kubernetes.yaml admits to each port of a gateway one kind of clients, and to Redis only gateways', () => {
  interface Policy {
    readonly ingress: readonly { readonly from: readonly object[]; readonly ports: readonly object[] }[];
  }
  const { ingress } = kubernetesObject<Policy>('NetworkPolicy').spec;
  expect(ingress.map(({ from, ports }) => [from.length, ports])).toEqual([
    [1, [expect.objectContaining({ port: 'http' })]],
    [1, [expect.objectContaining({ port: 'admin' })]],
  ]);
  const ofRedis = kubernetesObject<Policy>('NetworkPolicy', 'gateway-redis').spec;
  expect(ofRedis.ingress.map(({ from }) => from)).toEqual([[{ podSelector: { matchLabels: labels } }]]);
  // `Egress` without rules: Redis can connect to nothing.
  expect(ofRedis).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
  expect(ofRedis).not.toHaveProperty('egress');
});

it('grafana.json describes each panel, and uses only its own variables', () => {
  for (const { title, type, description } of dashboard.panels)
    if (type !== 'row') expect(description, title).toBeTruthy();
  const used = new Set([...deployed('grafana.json').matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name));
  expect([...used].toSorted()).toEqual(
    ['__rate_interval', ...dashboard.templating.list.map(({ name }) => name)].toSorted(),
  );
});
