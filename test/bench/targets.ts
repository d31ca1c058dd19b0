import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.js';
import { ask, send } from './load.js';
import { keep, pin } from './processes.js';
import type { Counts } from './servers/upstream.js';

/** A server in a separate process. */
export interface Target {
  readonly name: string;
  /** The address to which requests are sent. */
  readonly url: string;
  readonly child: ChildProcess;
  /** The name by which the upstream counts its requests; empty if it sends no requests to the upstream. */
  readonly asker: string;
}

/** The behaviour of the upstream for one server. */
export interface UpstreamOptions {
  readonly listed: number;
  readonly delayMs?: number;
  /** Whether a price changes with each response. */
  readonly isMoving?: boolean;
}

/** Options of {@link startGateway}. */
export interface GatewayOptions extends UpstreamOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether to measure how long its event loop is blocked. */
  readonly isProbed?: boolean;
  /** Whether it may use all cores. */
  readonly hasAllCores?: boolean;
  /** The folder of the built checkout to start; this one unless given. */
  readonly root?: string;
}

/** The default delay of the upstream, in milliseconds. */
export const UPSTREAM_DELAY_MS = 50;

/** Long, so that the gateway refuses no operation on a busy machine. */
const MAX_WAIT_MS = 60_000;
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The arguments of Node in `npm start`. */
const START = startArguments(readFileSync(`${ROOT}package.json`, 'utf8'));
const PROBE = new URL('servers/loop-probe.js', import.meta.url).href;
const ANY_QUESTION = JSON.stringify({ query: '{ chains { chainKey } }' });

const MAX_LOGGED = 2_000;

let askers = 0;
let logged = '';

/** The first part of what the gateways have logged: lines of level `warn` and above, unless their settings differ. */
export function gatewayLog(): string {
  return logged.slice(0, MAX_LOGGED);
}

/** Starts a server of the bench other than the gateway. */
export async function startServer(name: string, file: string, ...args: readonly string[]): Promise<Target> {
  const child = keep(
    fork(fileURLToPath(new URL(`servers/${file}.js`, import.meta.url)), args, {
      env: { ...process.env, NODE_ENV: 'production' },
    }),
  );
  pin(child.pid, file === 'upstream' ? 'load' : 'server');
  const ended = once(child, 'exit').then(() => []);
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number?];
  if (port === undefined) throw new Error(`${name} did not start`);
  return { name, url: `http://127.0.0.1:${port}/graphql`, child, asker: '' };
}

/** Starts such a server, with the address of the upstream as an argument. */
export async function startPeer(
  name: string,
  upstream: Target,
  options: UpstreamOptions,
  file: string,
  ...args: readonly string[]
): Promise<Target> {
  const { address, asker } = addressFor(upstream, options);
  return { ...(await startServer(name, file, address, ...args)), asker };
}

/** Starts the built gateway as `npm start` does, with only these settings, and waits for its first answer. */
export async function startGateway(
  upstream: Target,
  options: GatewayOptions,
  question = ANY_QUESTION,
): Promise<Target & { readonly firstAnswerMs: number }> {
  const { settings = {}, isProbed = false, hasAllCores = false, root = ROOT } = options;
  const { address, asker } = addressFor(upstream, options);
  const port = await freePort();
  const env = {
    PORT: String(port),
    UPSTREAM_URL: address,
    LOG_LEVEL: 'warn',
    MAX_WAIT_MS: String(MAX_WAIT_MS),
    ...settings,
  };
  const began = performance.now();
  const child = keep(
    spawn(process.execPath, [...(isProbed ? ['--import', PROBE] : []), ...START], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe', ...(isProbed ? ['ipc' as const] : [])],
    }),
  );
  pin(child.pid, hasAllCores ? 'any' : 'server');
  endWith(upstream, child);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      // Read the whole output, so that the gateway's log does not wait for a reader.
      if (logged.length < MAX_LOGGED) logged += text;
    });
  }
  const url = `http://127.0.0.1:${port}/graphql`;
  while (child.exitCode === null) {
    try {
      await ask(url, question);
      return { name: 'gateway', url, child, asker, firstAnswerMs: performance.now() - began };
    } catch (error) {
      // `fetch` throws this before the port is open.
      if (!(error instanceof TypeError)) throw error;
      await sleep(1);
    }
  }
  throw new Error(`The gateway did not start: ${logged}`);
}

/** If this process is killed, the upstream's process ends this child, which would not notice it. */
export function endWith(upstream: Target, child: ChildProcess): void {
  upstream.child.send({ pid: child.pid, hasEnded: false });
  child.once('exit', () => {
    if (upstream.child.connected) upstream.child.send({ pid: child.pid, hasEnded: true });
  });
}

/** How many requests the upstream got: all of them, or those for one listing. */
export async function requestsOf(
  upstream: Target,
  { asker }: Pick<Target, 'asker'>,
  only?: string,
): Promise<number> {
  const counts = (await (await send(new URL('/count', upstream.url).href, {})).json()) as Counts;
  return Object.entries(counts[asker] ?? {})
    .filter(([listing]) => only === undefined || listing === only)
    .reduce((sum, [, count]) => sum + count, 0);
}

function addressFor(
  upstream: Target,
  { listed, delayMs = UPSTREAM_DELAY_MS, isMoving = false }: UpstreamOptions,
) {
  const asker = String(++askers);
  const path = `/${asker}/${delayMs}/${listed}/${isMoving ? 'moving' : 'still'}/v1`;
  return { asker, address: new URL(path, upstream.url).href };
}

function startArguments(packageJson: string): readonly string[] {
  const { scripts } = JSON.parse(packageJson) as { scripts: { start: string } };
  const [node, ...args] = scripts.start.replace(/^exec /, '').split(' ');
  if (node !== 'node') throw new Error(`Expected npm start to run node, got ${scripts.start}`);
  return args;
}
