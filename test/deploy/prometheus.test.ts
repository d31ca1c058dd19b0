/** A real Prometheus finds every metric of the alerts and the dashboard in a gateway. */
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { repeat, temporaryDirectory, temporaryFile } from '../support/ends.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { ask, startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits, freePort } from '../support/processes.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { startServerProcess } from '../support/server-process.js';
import {
  alerts,
  compose,
  dashboardQueries,
  deployment,
  gatewayContainer,
  prometheusConfig,
  RULES,
} from './files.js';
import { areMissing } from './programs.js';

const MAX_CONNECTIONS = 20;

async function startPrometheus(target: string) {
  const folder = temporaryDirectory();
  const port = await freePort();
  const config = {
    rule_files: [RULES],
    scrape_configs: [withoutKubernetes(target)],
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
  };
  // JSON is valid YAML.
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config));
  const address = `http://127.0.0.1:${port}`;
  const command = [
    'prometheus',
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const isAnswering = async () => (await fetch(`${address}/-/ready`)).status === 200;
  const env = { PATH: process.env.PATH ?? '' };
  await startServerProcess({ name: 'Prometheus', command, cwd: folder, env, isAnswering }, onTestFinished);
  const get = async <Data>(path: string) => {
    const { status, data, error } = (await (await fetch(address + path)).json()) as {
      status: string;
      data: Data;
      error?: string;
    };
    if (status !== 'success') throw new Error(`${decodeURIComponent(path)}: ${error}`);
    return data;
  };
  return {
    get,
    /** Whether an instant query has a result that is a number. */
    async hasData(expr: string) {
      const { result } = await get<{ result: readonly { value: readonly [time: number, value: string] }[] }>(
        `/api/v1/query?query=${encodeURIComponent(expr)}`,
      );
      return result.some(({ value }) => Number.isFinite(Number(value[1])));
    },
  };
}

/**
 * The job for Kubernetes in .deploy/README.md, without Kubernetes: Debian's Prometheus does not support it. In place of
 * pods, the job has one target, with the labels that Kubernetes gives a pod of the gateway.
 */
function withoutKubernetes(target: string): object {
  const { kubernetes_sd_configs, ...job } =
    prometheusConfig.scrape_configs.find(({ job_name }) => job_name === 'gateway-pods') ?? {};
  if (!kubernetes_sd_configs)
    throw new Error('Expected a job gateway-pods for Kubernetes in .deploy/README.md');
  const { labels } = deployment.spec.template.metadata;
  const admin = gatewayContainer.ports.find(({ containerPort }) => containerPort === 4001);
  const pod = {
    __meta_kubernetes_namespace: 'default',
    __meta_kubernetes_pod_name: 'gateway-0',
    __meta_kubernetes_pod_label_app: labels.app,
    __meta_kubernetes_pod_container_port_name: admin?.name,
  };
  return { ...job, static_configs: [{ targets: [target], labels: pod }] };
}

async function startBusyGateway() {
  const redis = await startRedis();
  const upstream = await startFakeUpstream({}, onTestFinished);
  const { address, admin } = await startGatewayProcess({
    ADMIN_PORT: '0',
    UPSTREAM_URL: upstream.url,
    REDIS_URL: redis.url,
    TOKENS_FRESH_MS: '1000',
    UPSTREAM_REQUESTS_PER_SECOND: '100',
    ...fixedLimits({ holdBackTimes: 1000, maxConnections: MAX_CONNECTIONS }),
    LOG_REQUESTS: 'none',
    SNAPSHOT_DIR: temporaryDirectory(),
    ROUTES_SWEEP_MS: '60000',
  });
  await expect.poll(async () => (await fetch(`${admin}/ready`)).status).toBe(200);
  // More than half of the tokens are missing, so the listing is held back. Every other request for routes fails.
  upstream.plan('tokens', json({ tokens: demoTokens.slice(-200) }));
  upstream.plan('routes', (_response, _request, nth) =>
    nth % 2 === 0 ? status(500) : json({ tokens: demoTokens.slice(-3) }),
  );
  let turn = 0;
  const beat = async () => {
    turn++;
    const { chainKey, address: token } = demoTokens[turn % demoTokens.length] ?? {};
    const questions = [
      '{ chains { name } }',
      `{ chains(search: "x${turn}") { name } }`,
      `{ destinations(srcChainKey: "${chainKey}", srcToken: "${token}") { chainKey } }`,
      // This query is refused because it has too many levels.
      `{ chains ${'{ tokens { chain '.repeat(12)} { name } ${'} }'.repeat(12)} }`,
    ];
    const asked = [...questions.map((query) => ask(address, query)), fetch(`${address}/live`)];
    await Promise.all(asked.map((each: Promise<unknown>) => each.catch(() => {})));
    // This opens one connection too many: the gateway then closes an idle one of this client, perhaps one of `ask`.
    const { hostname, port } = new URL(address);
    const sockets = Array.from({ length: MAX_CONNECTIONS + 1 }, () =>
      connect({ host: hostname, port: Number(port) }).on('error', () => {}),
    );
    await sleep(100);
    for (const socket of sockets) socket.destroy();
  };
  repeat(beat);
  return { admin };
}

it.skipIf(areMissing('promtool'))('the README has a valid configuration for compose.yaml', async () => {
  const { rule_files, scrape_configs } = prometheusConfig;
  expect(rule_files).toEqual(['alerts.yaml']);
  const gateways = Object.keys(compose.services).filter((name) => name.startsWith('gateway'));
  expect(scrape_configs[0]?.static_configs[0]?.targets).toEqual(gateways.map((name) => `${name}:4001`));
  const config = { rule_files: [RULES], scrape_configs: scrape_configs.slice(0, 1) };
  const file = temporaryFile(JSON.stringify(config));
  const { stdout } = await promisify(execFile)('promtool', ['check', 'config', file]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

it.skipIf(areMissing('prometheus') || isRedisMissing)(
  'Prometheus knows every metric of the alerts and the dashboard, and has data for each panel',
  async () => {
    const { admin } = await startBusyGateway();
    const prometheus = await startPrometheus(new URL(admin).host);

    const exported = await (await fetch(`${admin}/metrics`)).text();
    // promtool checks that names, units, types and help texts follow the rules of Prometheus.
    const lint = spawnSync('promtool', ['check', 'metrics'], { input: exported, encoding: 'utf8' });
    expect([lint.stdout, lint.stderr, lint.status]).toEqual(['', '', 0]);
    const types = [...exported.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    const known = types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    const expressions = [...alerts, ...dashboardQueries].map(({ expr }) => expr);
    expect(expressions.length).toBeGreaterThan(50);
    for (const expr of expressions) {
      const names = expr.match(/\b(?:gateway|process|nodejs)_\w+|\bup\b/g) ?? [];
      expect(names.length, expr).toBeGreaterThan(0);
      expect(
        names.filter((name) => name !== 'up' && !known.includes(name)),
        expr,
      ).toEqual([]);
    }

    const withoutData = async () => {
      const answers = await Promise.all(dashboardQueries.map(({ expr }) => prometheus.hasData(expr)));
      return dashboardQueries.filter((_, index) => !answers[index]);
    };
    await expect.poll(withoutData).toEqual([]);

    const rules = () =>
      prometheus.get<{ groups: { rules: { name: string; health: string; lastError?: string }[] }[] }>(
        '/api/v1/rules',
      );
    await expect
      .poll(async () =>
        (await rules()).groups
          .flatMap((group) => group.rules.map(({ name, health, lastError }) => [name, health, lastError]))
          .toSorted(),
      )
      .toEqual(alerts.map(({ alert }) => [alert, 'ok', undefined]).toSorted());
    // The held-back listing soon fires an alert. The text of this alert shows that its template works.
    const summaries = async () => {
      const { alerts } = await prometheus.get<{ alerts: { annotations: Record<string, string> }[] }>(
        '/api/v1/alerts',
      );
      return alerts.flatMap(({ annotations }) => Object.values(annotations));
    };
    await expect
      .poll(summaries)
      .toContain(
        `${new URL(admin).host} holds back the whole listing of tokens, or did within the last 5 minutes`,
      );
    expect((await summaries()).filter((text) => /<error|<no value>/.test(text))).toEqual([]);
  },
);
