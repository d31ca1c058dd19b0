import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface Prometheus {
  /** Resolves with the data of its HTTP API at this path; rejects with its message if it refuses. */
  get<Data>(path: string): Promise<Data>;
  /** Runs an instant query. */
  query(expr: string): Promise<readonly Sample[]>;
}

/**
 * Starts a real Prometheus that scrapes each second; the test's end ends it.
 *
 * @param target host and port of a gateway's metrics
 * @param rules the file of the alerts
 */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-prometheus-'));
  const port = await freePort();
  // The labels of a pod, as Kubernetes would add them. JSON is YAML.
  const labels = { namespace: 'default', pod: 'gateway-0' };
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets: [target], labels }] }],
  };
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const address = `http://127.0.0.1:${port}`;
  await expect
    .poll(() => {
      if (child.exitCode !== null) throw new Error(`Prometheus ended: ${errors}`);
      return fetch(`${address}/-/ready`).then(
        ({ status }) => status,
        () => 0,
      );
    })
    .toBe(200);
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
    query: async (expr) =>
      (await get<{ result: readonly Sample[] }>(`/api/v1/query?query=${encodeURIComponent(expr)}`)).result,
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
  // A digit in front is that of a duration, such as 15m.
  return [...new Set(words.filter((word) => !isOperator(word) && !new RegExp(`\\d${word}\\b`).test(bare)))];
}
