import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.js';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';

/** A built gateway process under attack, with a large listing behind it. */
export interface Target extends GatewayProcess {
  readonly upstream: FakeUpstream;
  /** CPU time of the main thread since the start, in milliseconds: it does not grow while other processes run. */
  cpuMs(): number;
  /** Resident memory now, in megabytes. */
  memoryMb(): number;
  /** Sends one operation by POST on a connection of its own. */
  ask(body: string | object, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** Watches the process from outside, until `stop`. */
  watch(): Watch;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** The worst that was seen of a process while it was watched. */
export interface Watched {
  /** CPU time that the process spent between a request to `/live` and its answer, in milliseconds. */
  readonly liveMs: number;
  /** The same for an operation whose response is cached. */
  readonly cachedMs: number;
  /** Resident memory in megabytes. */
  readonly memoryMb: number;
  /** How many probes were answered with something else than 200; 0 unless cached answers were lost. */
  readonly failed: number;
  readonly probes: number;
}

export interface Watch {
  stop(): Promise<Watched>;
}

export interface TargetOptions {
  readonly chainCount?: number;
  readonly tokenCount?: number;
  /** Settings beside PORT and UPSTREAM_URL. */
  readonly env?: Record<string, string>;
}

const PROBE_EVERY_MS = 25;
/** Cached from its first answer on, as long as the chain listing stays the same. */
const CACHED = JSON.stringify({ query: '{ chains { chainKey } }' });

/** Starts the built gateway in front of a fake upstream; the test's end ends both. */
export async function startTarget(options: TargetOptions = {}): Promise<Target> {
  const { chainCount = 80, tokenCount = 10_000, env = {} } = options;
  const upstream = await startFakeUpstream(generatedListings(chainCount, tokenCount));
  onTestFinished(() => upstream.close());
  const gateway = await startGatewayProcess({
    UPSTREAM_URL: upstream.url,
    // What the defaults stand is what is tested.
    MAX_WAIT_MS: '1000',
    ...env,
  });
  const { address, child } = gateway;
  await untilReady(address);
  return {
    ...gateway,
    upstream,
    cpuMs: () => mainThreadMs(child.pid),
    memoryMb: () => residentMb(child.pid),
    ask: (body, headers) => post(address, body, headers),
    watch: () => watch(address, child.pid),
  };
}

async function untilReady(address: string): Promise<void> {
  for (;;) {
    const { status } = await exchange(address, '/ready', 'GET', undefined, {}, undefined);
    if (status === 200) return;
    await sleep(50);
  }
}

/** Sends an operation as JSON. */
export function post(
  address: string,
  body: string | object,
  headers: Record<string, string> = {},
  agent?: Agent,
): Promise<HttpAnswer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return exchange(
    address,
    '/graphql',
    'POST',
    text,
    { 'content-type': 'application/json', ...headers },
    agent,
  );
}

/** Sends any request, and reads the whole answer. */
export function exchange(
  address: string,
  path: string,
  method: string,
  body: string | undefined,
  headers: Record<string, string>,
  agent: Agent | undefined,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${address}${path}`,
      { method, headers, ...(agent ? { agent } : {}) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

/** A connection on which any bytes can be sent; the test's end destroys it. */
export async function openSocket(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  // Being cut off is what most tests wait for.
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return socket;
}

/**
 * Attacks for a while, from a thread of its own: so many connections, each of which sends its next operation when
 * the last one is answered.
 *
 * @param bodies request bodies, sent in turn; `$N` in them is another number each time
 * @param from the attacker's own address, such as 127.0.0.2, where it is to be another client than the tests
 * @returns how often each HTTP status came; 0 stands for a connection that was cut
 */
export async function attack(
  address: string,
  connections: number,
  forMs: number,
  bodies: readonly (string | object)[],
  from?: string,
): Promise<ReadonlyMap<number, number>> {
  const texts = bodies.map((body) => (typeof body === 'string' ? body : JSON.stringify(body)));
  const worker = new Worker(new URL('./attacker.js', import.meta.url), {
    workerData: { address, connections, forMs, bodies: texts, from },
  });
  const [statuses] = await once(worker, 'message');
  return statuses as ReadonlyMap<number, number>;
}

function watch(address: string, pid: number | undefined): Watch {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  const worst = { liveMs: 0, cachedMs: 0, memoryMb: 0, failed: 0, probes: 0 };
  let isStopped = false;

  async function probe(name: 'liveMs' | 'cachedMs', ask: () => Promise<HttpAnswer>): Promise<void> {
    while (!isStopped) {
      const before = mainThreadMs(pid);
      const status = await ask().then(
        (answer) => answer.status,
        () => 0,
      );
      worst[name] = Math.max(worst[name], mainThreadMs(pid) - before);
      worst.memoryMb = Math.max(worst.memoryMb, residentMb(pid));
      worst.probes++;
      if (status !== 200) worst.failed++;
      await sleep(PROBE_EVERY_MS);
    }
  }
  const probes = [
    probe('liveMs', () => exchange(address, '/live', 'GET', undefined, {}, agent)),
    probe('cachedMs', () => post(address, CACHED, {}, agent)),
  ];
  return {
    async stop() {
      isStopped = true;
      await Promise.all(probes);
      agent.destroy();
      return worst;
    },
  };
}

/** The main thread is where all requests have their turn; compression and garbage collection have others. */
function mainThreadMs(pid: number | undefined): number {
  return Number(procFile(pid, 'schedstat').split(' ')[0]) / 1e6;
}

function residentMb(pid: number | undefined): number {
  return (Number(/VmRSS:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1]) * 1024) / 1e6;
}

function procFile(pid: number | undefined, name: string): string {
  return readFileSync(`/proc/${pid}/${name}`, 'utf8');
}

const REFERENCE = JSON.stringify(Array.from({ length: 250_000 }, (_nothing, nth) => `a${nth}`));
/** The time that a machine of usual speed takes to parse {@link REFERENCE}, in milliseconds. */
const REFERENCE_MS = 25;

/** How many times slower than that this machine is now; at least 1. */
export function slowness(): number {
  const times = Array.from({ length: 5 }, () => {
    const before = performance.now();
    JSON.parse(REFERENCE);
    return performance.now() - before;
  });
  return Math.max(1, Math.min(...times) / REFERENCE_MS);
}
