/** Sends attacks to the built gateway. Measures their cost, and the delay of other clients. */
import { once } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { type AtEnd, repeat, share } from './ends.js';
import { type FakeListings, type FakeUpstream, startFakeUpstream } from './fake-upstream.js';
import { startGatewayProcess } from './gateway-process.js';
import { LIMITS_OF_PRODUCTION, mainThreadMs, megabytesOf } from './processes.js';
import { sendHttp } from './send-http.js';

/** A request. With a body it is sent by POST as JSON to `/graphql`, unless said otherwise. */
export interface Asked {
  readonly path?: string;
  readonly method?: string;
  /** In it, `$N` becomes a different number each time. */
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent;
}

interface TargetOptions {
  readonly chainCount?: number;
  readonly tokenCount?: number;
  /** The rows of the upstream, in place of generated ones. Without rows, a listing stays without a snapshot. */
  readonly listings?: FakeListings;
  /** Plans other answers of the upstream, before the gateway starts. The gateway need not become ready then. */
  readonly plan?: (upstream: FakeUpstream) => void;
  readonly env?: Record<string, string>;
  readonly atEnd?: AtEnd;
}

const PROBE_EVERY_MS = 25;
/** An operation that stays cached as long as the chain listing does not change. */
const CACHED = JSON.stringify({ query: '{ chains { chainKey } }' });

export type Target = Awaited<ReturnType<typeof startTarget>>;

/** Starts one gateway, the target of the attacks, for all tests of a file or `describe`. Call this function there, not in a hook. */
export const shareTarget = (options: TargetOptions = {}): Target =>
  share((atEnd) => startTarget({ ...options, atEnd }));

export async function startTarget(options: TargetOptions = {}) {
  const { chainCount = 80, tokenCount = 10_000, env = {}, atEnd = onTestFinished } = options;
  const { listings = generatedListings(chainCount, tokenCount), plan } = options;
  const upstream = await startFakeUpstream(listings, atEnd);
  plan?.(upstream);
  const settings = { UPSTREAM_URL: upstream.url, ...LIMITS_OF_PRODUCTION, ...env };
  const gateway = await startGatewayProcess(settings, atEnd);
  const { address, child } = gateway;
  const isComplete = !plan && Object.values(listings).every((rows) => rows.length > 0);
  while (isComplete && (await send(address, { path: '/ready' })).status !== 200) await sleep(50);
  return {
    ...gateway,
    upstream,
    /** CPU time of the main thread since the start, in milliseconds. The time of other processes does not count. */
    cpuMs: () => mainThreadMs(child.pid),
    memoryMb: () => megabytesOf(child.pid).now,
    send: (asked: Asked) => send(address, asked),
    ask: (body: string | object) => send(address, { body }),
    watch: () => watch(address, child.pid),
    async cuts(reason: string) {
      const { body } = await send(address, { path: '/metrics' });
      return Number(new RegExp(`connections_cut_total{reason="${reason}"} (\\d+)`).exec(body)?.[1] ?? 0);
    },
  };
}

type Watched = Awaited<ReturnType<ReturnType<Target['watch']>['stop']>>;

/** A query whose response has 3.7 MB with 10,000 tokens. */
export const FULL =
  '{ tokens { id isBridgeable chainKey address decimals symbol name price { usd asOf } chain { name shortName } } }';

let sent = 0;

export async function send(address: string, asked: Asked) {
  const { path = '/graphql', body, method = body === undefined ? 'GET' : 'POST', headers, ...rest } = asked;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const text = (typeof body === 'object' ? JSON.stringify(body) : body)?.replaceAll('$N', String(sent++));
  const answer = await sendHttp(address + path, {
    method,
    headers: { ...type, ...headers },
    body: text,
    ...rest,
  });
  return { ...answer, body: answer.body.toString() };
}

/**
 * Attacks from another thread. Each connection sends its next operation after the response to the last one.
 *
 * @param bodies request bodies, sent in rotation; `$N` in them becomes a different number each time
 * @param from the attacker's address, such as 127.0.0.2, if the attacker must be another client than the test
 * @returns the number of responses by HTTP status; 0 stands for a connection that failed
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
  // If the gateway has ended, the worker would send requests as fast as it can until its time is over.
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [statuses] = await once(worker, 'message');
  return statuses as ReadonlyMap<number, number>;
}

function watch(address: string, pid: number | undefined) {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  const worst = {
    /** The most CPU time of the main thread between a request to `/live` and its answer, in milliseconds. */
    liveMs: 0,
    cachedMs: 0,
    memoryMb: 0,
    failed: 0,
    probes: 0,
  };
  const probe = (name: 'liveMs' | 'cachedMs', asked: Asked) =>
    repeat(async () => {
      const before = mainThreadMs(pid);
      const { status } = await send(address, asked).catch(() => ({ status: 0 }));
      worst[name] = Math.max(worst[name], mainThreadMs(pid) - before);
      worst.memoryMb = Math.max(worst.memoryMb, megabytesOf(pid).now);
      worst.probes++;
      if (status !== 200) worst.failed++;
      await sleep(PROBE_EVERY_MS);
    });
  const probes = [probe('liveMs', { path: '/live', agent }), probe('cachedMs', { body: CACHED, agent })];
  return {
    async stop() {
      await Promise.all(probes.map((stop) => stop()));
      agent.destroy();
      return worst;
    },
  };
}

/** Fails unless all probes of a watch got a response, and the memory stayed within this limit. */
export function expectAlive({ failed, probes, memoryMb }: Watched, atMostMb: number): void {
  expect(failed).toBe(0);
  // At least one probe of each kind. On a busy machine, a probe can take as long as the whole attack.
  expect(probes).toBeGreaterThan(1);
  expect(memoryMb).toBeLessThan(atMostMb);
}

const REFERENCE = JSON.stringify(Array.from({ length: 250_000 }, (_nothing, nth) => `a${nth}`));
/** The time that a machine of usual speed takes to parse {@link REFERENCE}, in milliseconds. */
const REFERENCE_MS = 25;

/** How many times as long as {@link REFERENCE_MS} this machine takes now; at least 1. */
function slowness(): number {
  const times = Array.from({ length: 5 }, () => {
    const before = performance.now();
    JSON.parse(REFERENCE);
    return performance.now() - before;
  });
  return Math.max(1, Math.min(...times) / REFERENCE_MS);
}

const MOST_MEMORY_MB = 300;
const TIMES = 4;

export async function costOf(target: Target, asked: Asked) {
  const before = target.cpuMs();
  const answer = await target.send(asked);
  return { ...answer, cpuMs: target.cpuMs() - before };
}

/**
 * Fails unless a request costs at most this CPU time of the main thread. The cheapest of up to four attempts counts,
 * to leave out other work of the process. A slow machine may take longer in proportion.
 *
 * @param control a request whose cost is subtracted, such as one of the same size whose text is ignored
 * @returns the body of the answer
 */
export async function expectCheap(
  target: Target,
  name: string,
  asked: Asked,
  mostMs: number,
  control?: Asked,
): Promise<string> {
  const first = await costOf(target, asked);
  expect(first.status, name).toBeLessThan(500);
  expect(target.memoryMb(), name).toBeLessThan(MOST_MEMORY_MB);
  let least = first.cpuMs;
  if (least > mostMs) {
    const controls = control ? [await costOf(target, control), await costOf(target, control)] : [];
    const unavoidable = controls.length > 0 ? Math.min(...controls.map(({ cpuMs }) => cpuMs)) : 0;
    for (let time = 1; time < TIMES && least - unavoidable > mostMs; time++)
      least = Math.min(least, (await costOf(target, asked)).cpuMs);
    if (least - unavoidable > mostMs) expect(least - unavoidable, name).toBeLessThan(mostMs * slowness());
  }
  return first.body;
}
