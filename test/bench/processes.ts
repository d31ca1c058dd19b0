/** The processes of the bench: the built gateway, the other servers, and the upstream of all. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fixedLimits, freePort } from '../support/processes.js';
import { ask, send } from './load.js';
import type { Counts } from './servers/upstream.js';

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
  /** The name by which the upstream counts its requests; empty if it sends no requests to the upstream. */
  readonly asker: string;
}

interface GatewayOptions {
  /** How many tokens the upstream lists. */
  readonly listed: number;
  /** Whether a price changes with each response of the upstream. */
  readonly isMoving?: boolean;
  readonly delayMs?: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly isProbed?: boolean;
  readonly hasAllCores?: boolean;
  /** The folder of the built checkout to start, by default this checkout. */
  readonly root?: string;
}

const UPSTREAM_DELAY_MS = 50;
/** A listing of 100,000 tokens has more bytes than a gateway usually accepts. */
const LIMITS = { upstreamMaxBytes: 64 * 2 ** 20 };
const ROOT = new URL('../../../', import.meta.url);
const PEERS = new URL('test/bench/peers/', ROOT);
const PROBE = new URL('servers/loop-probe.js', import.meta.url).href;
const ANY_OPERATION = JSON.stringify({ query: '{ chains { chainKey } }' });
const MAX_LOGGED = 2_000;
const TASKSET = '/usr/bin/taskset';

export const isPinned = cpus().length >= 2 && existsSync(TASKSET);

const children = new Set<ChildProcess>();
let askers = 0;
let logged = '';

/** The first part of what the gateways have logged: lines of level `warn` and above, unless their settings differ. */
export const gatewayLog = () => logged.slice(0, MAX_LOGGED);

export function pin(pid: number | undefined, side: 'server' | 'load' | 'any'): void {
  if (!isPinned || pid === undefined) return;
  const cores = { server: '0', load: '1', any: `0-${cpus().length - 1}` };
  execFileSync(TASKSET, ['-a', '-c', '-p', cores[side], String(pid)]);
}

function keep<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export async function end(...ending: readonly { readonly child: ChildProcess }[]): Promise<void> {
  for (const { child } of ending) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

export function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

export function installPeers(): void {
  // npm writes this file at the end of an installation.
  if (existsSync(new URL('node_modules/.package-lock.json', PEERS))) return;
  process.stderr.write('Installing what the gateway is measured against: npm ci --prefix test/bench/peers\n');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', fileURLToPath(PEERS)];
  execFileSync('npm', args, { stdio: ['ignore', process.stderr, process.stderr] });
}

export const requirePeer: (name: string) => unknown = createRequire(new URL('package.json', PEERS));

export async function startServer(name: string, file: string, upstream?: Target, listed?: number) {
  const args = upstream && listed ? [addressIn(upstream, { listed }).address] : [];
  const path = fileURLToPath(new URL(`servers/${file}.js`, import.meta.url));
  const child = keep(fork(path, args, { env: { ...process.env, NODE_ENV: 'production' } }));
  pin(child.pid, file === 'upstream' ? 'load' : 'server');
  const ended = once(child, 'exit').then(() => []);
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number?];
  if (port === undefined) throw new Error(`${name} did not start`);
  return { name, url: `http://127.0.0.1:${port}/graphql`, child, asker: '' };
}

/** Starts the built gateway as `npm start` does, with only these settings, and waits for its first answer. */
export async function startGateway(upstream: Target, options: GatewayOptions, operation = ANY_OPERATION) {
  const { settings = {}, isProbed = false, hasAllCores = false, root = fileURLToPath(ROOT) } = options;
  const { asker, address } = addressIn(upstream, options);
  const port = await freePort();
  const env = {
    PORT: String(port),
    UPSTREAM_URL: address,
    LOG_LEVEL: 'warn',
    // An earlier checkout has the setting MAX_WAIT_MS, and accepts such large responses of the upstream.
    ...(options.root === undefined ? fixedLimits(LIMITS, root) : { MAX_WAIT_MS: '60000' }),
    ...settings,
  };
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
    scripts: { start: string };
  };
  const start = scripts.start.replace(/^exec node /, '').split(' ');
  const began = performance.now();
  const child = keep(
    spawn(process.execPath, [...(isProbed ? ['--import', PROBE] : []), ...start], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe', ...(isProbed ? ['ipc' as const] : [])],
    }),
  );
  pin(child.pid, hasAllCores ? 'any' : 'server');
  for (const stream of [child.stdout, child.stderr]) {
    // Read the whole output, so that the gateway's log does not wait for a reader.
    stream?.on('data', (text) => {
      if (logged.length < MAX_LOGGED) logged += text;
    });
  }
  const url = `http://127.0.0.1:${port}/graphql`;
  while (child.exitCode === null) {
    try {
      await ask(url, operation);
      return { name: 'gateway', url, child, asker, firstAnswerMs: performance.now() - began };
    } catch (error) {
      // `fetch` throws this before the port is open.
      if (!(error instanceof TypeError)) throw error;
      await sleep(1);
    }
  }
  throw new Error(`The gateway did not start: ${logged}`);
}

/** How many requests the upstream got from this server: all of them, or those for one listing. */
export async function requestsOf(upstream: Target, { asker }: Target, only?: string): Promise<number> {
  const counts = (await (await send(new URL('/count', upstream.url).href, {})).json()) as Counts;
  return Object.entries(counts[asker] ?? {})
    .filter(([listing]) => only === undefined || listing === only)
    .reduce((sum, [, count]) => sum + count, 0);
}

function addressIn(upstream: Target, options: GatewayOptions) {
  const { listed, delayMs = UPSTREAM_DELAY_MS, isMoving = false } = options;
  const asker = String(++askers);
  const path = `/${asker}/${delayMs}/${listed}/${isMoving ? 'moving' : 'still'}/v1`;
  return { asker, address: new URL(path, upstream.url).href };
}
