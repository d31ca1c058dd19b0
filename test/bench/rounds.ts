/** Measures servers in turn in several rounds, because the speed of a machine changes, and compares their answers. */
import { isDeepStrictEqual } from 'node:util';
import { cpuMicrosOf, megabytesOf } from '../support/processes.js';
import { ask, type Load, runLoad } from './load.js';
import { requestsOf, type Target } from './processes.js';

interface Sample {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMicros: number;
  readonly megabytes: number;
  readonly upstreamRequests: number;
}

interface Entry {
  readonly name: string;
  readonly target: Target;
  readonly load: Load;
  readonly samples: Sample[];
  /** The name of the entry in the same contest to compare with, by default the first. */
  readonly against?: string;
}

export type Contest = { readonly label: string; readonly entries: readonly Entry[] };

export type Bench = { readonly upstream: Target; readonly seconds: number };

export const ROUNDS = 3;
/** A server warms up until it has used this much CPU time: then V8 has optimised the measured code. */
const WARM_UP_CPU_MICROS = 5_000_000;
const WARM_UP_RUN_SECONDS = 0.5;
/** The warm-up ends after this many runs at the latest: some servers mostly wait for the upstream. */
const WARM_UP_MOST_RUNS = 12;

export function entry(name: string, target: Target, load: Load, against?: string): Entry {
  return { name, target, load, samples: [], ...(against === undefined ? {} : { against }) };
}

/** Measures all entries of all contests in each round, in alternating order. */
export async function runRounds(contests: readonly Contest[], { upstream, seconds }: Bench): Promise<void> {
  for (const { label, entries } of contests) {
    for (const { name, target, load } of entries) {
      tell(`${label}: ${name} is warming up`);
      await warmUp(target, load);
    }
  }
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { label, entries } of contests) {
      tell(`${label}: round ${round} of ${ROUNDS}`);
      for (const entry of round % 2 === 1 ? entries : entries.toReversed()) {
        entry.samples.push(await measure(entry, upstream, seconds));
      }
    }
  }
  tell('');
}

async function warmUp({ url, child: { pid } }: Target, load: Load): Promise<void> {
  const before = cpuMicrosOf(pid);
  for (let run = 0; run < WARM_UP_MOST_RUNS; run++) {
    await runLoad(url, load, WARM_UP_RUN_SECONDS);
    if (cpuMicrosOf(pid) - before >= WARM_UP_CPU_MICROS) return;
  }
}

async function measure({ target, load }: Entry, upstream: Target, seconds: number): Promise<Sample> {
  const { pid } = target.child;
  // The server may have fetched new rows since the last round. Then the first request would not be answered from a cache.
  if (load.bodies?.[0] !== undefined) await ask(target.url, load.bodies[0]);
  const upstreamBefore = await requestsOf(upstream, target);
  const cpuBefore = cpuMicrosOf(pid);
  const run = await runLoad(target.url, load, seconds);
  const cpuMicros = cpuMicrosOf(pid) - cpuBefore;
  return {
    perSecond: run.answers / run.seconds,
    p50: run.p50,
    p99: run.p99,
    cpuMicros: cpuMicros / run.answers,
    megabytes: megabytesOf(pid).now,
    upstreamRequests: (await requestsOf(upstream, target)) - upstreamBefore,
  };
}

export function middle({ samples }: Entry, key: keyof Sample): number {
  return median(samples.map((sample) => sample[key]));
}

export function ratio(over: Entry, under: Entry, key: keyof Sample): number {
  return median(over.samples.map((sample, nth) => sample[key] / (under.samples[nth]?.[key] ?? Number.NaN)));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function tell(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what}`);
  else if (what) process.stderr.write(`${what}\n`);
}

/** @throws Error if an answer has errors, or the two differ in more than the time of a price */
export async function checkEqual(bodies: readonly string[], one: Target, other: Target): Promise<void> {
  for (const body of bodies) {
    const [expected, got] = [await dataOf(one, body), await dataOf(other, body)];
    if (!isDeepStrictEqual(got, expected)) {
      throw new Error(
        `${other.name} answers ${body} otherwise than ${one.name}: ${JSON.stringify(got).slice(0, 500)}`,
      );
    }
  }
}

async function dataOf({ name, url }: Target, body: string): Promise<object> {
  const answer = await ask(url, body);
  // Each server has fetched prices at a different time.
  const timeless = (key: string, value: unknown) => (key === 'asOf' ? Boolean(value) : value);
  const { data, errors } = JSON.parse(answer, timeless) as { data?: object; errors?: unknown };
  if (errors || !data)
    throw new Error(`Expected an answer of ${name} without errors, got ${answer.slice(0, 500)}`);
  return data;
}
