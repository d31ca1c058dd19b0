import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.js';
import { blockOf } from '../support/readme.js';
import { startServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { deployment, gatewayContainer } from './files.js';

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/**
 * Starts a real Prometheus that scrapes the target each second. The test's end ends Prometheus.
 *
 * @param target host and port of a gateway's metrics
 * @param rules the path of the file with the alerts
 */
export async function startPrometheus(target: string, rules: string) {
  const folder = temporaryDirectory();
  const port = await freePort();
  const config = {
    ...withoutKubernetes(target, rules),
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
    /** Resolves with the data of Prometheus's HTTP API at this path. Rejects with the error that the API reports. */
    get,
    /** Runs an instant query. */
    query: async (expr: string) =>
      (await get<{ result: readonly Sample[] }>(`/api/v1/query?query=${encodeURIComponent(expr)}`)).result,
  };
}

/**
 * The configuration for Kubernetes in .deploy/README.md, without Kubernetes: Debian's Prometheus does not support it. In
 * place of pods, the configuration has one target, with the labels that Kubernetes gives a pod of the gateway.
 */
function withoutKubernetes(target: string, rules: string): object {
  const { scrape_configs } = parse(blockOf('.deploy/README.md', 'prometheus.yaml')) as {
    scrape_configs: readonly { job_name: string; kubernetes_sd_configs?: unknown }[];
  };
  const { kubernetes_sd_configs, ...job } =
    scrape_configs.find(({ job_name }) => job_name === 'gateway-pods') ?? {};
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
  return {
    rule_files: [rules],
    scrape_configs: [{ ...job, static_configs: [{ targets: [target], labels: pod }] }],
  };
}

/** The names of the metrics in an expression of PromQL. */
export function metricNames(expr: string): readonly string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  const words = [...bare.matchAll(/[a-z_:][a-z0-9_:]*(?!\w|\s*\()/gi)].map(([word]) => word);
  const isOperator = (word: string) => /^(and|or|unless|offset|bool)$/.test(word);
  // A word after a digit is the unit of a duration, such as the m of 15m.
  return [...new Set(words.filter((word) => !isOperator(word) && !new RegExp(`\\d${word}\\b`).test(bare)))];
}
