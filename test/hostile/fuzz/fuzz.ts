import { type Exchange, shown, varied } from './exchange.js';
import { createGenerator } from './generate.js';
import { times } from './random.js';
import { openSession } from './session.js';

/** Options of {@link fuzz}. */
export interface FuzzOptions {
  /** Path of the gateway's built `main.js`. */
  readonly main: string;
  readonly seed: number;
  /** The index of the first request in the series of this seed. */
  readonly from?: number;
  readonly requests: number;
  readonly tokenCount: number;
  /** The highest allowed resident memory of the process, in megabytes. */
  readonly maxPeakMb: number;
  /** The highest allowed CPU time of the main thread for one request, in milliseconds. */
  readonly maxCpuMs: number;
  /** Settings of the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with a line of progress from time to time. */
  readonly tell?: (line: string) => void;
}

/** One way in which the gateway failed, with the first request that showed it. */
export interface Failure {
  /** The index of the request in the series. `--from` with this value repeats it. */
  readonly nth: number;
  readonly kind: string;
  readonly fault: string;
  readonly request: string;
}

/** A request and its cost. */
export interface Entry {
  readonly nth: number;
  readonly kind: string;
  readonly cost: number;
  readonly request: string;
}

/** The result of a run. */
export type FuzzReport = Awaited<ReturnType<typeof fuzz>>;

const COMPARED_ONE_IN = 5;
const REPEATED_ONE_IN = 50;
const BURST_EVERY = 40;
const BURST = 8;
const TELL_EVERY = 5_000;
const MAX_FAILURES = 30;
/** Costs below this CPU time (in milliseconds) are not reported: they are mostly garbage collections. */
const MIN_COST_MS = 30;
const PLACES = 10;

/** Starts a gateway, sends it the requests of a seed, and checks the answers and the process. */
export async function fuzz(options: FuzzOptions) {
  const { seed, from = 0, requests, maxCpuMs, maxPeakMb, tell = () => {} } = options;
  const generate = createGenerator(seed);
  const failures = new Map<string, Failure>();
  const statuses = new Map<number, number>();
  const dearest: Entry[] = [];
  const onStatus = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
  const session = await openSession({ ...options, onStatus });
  let peakMb = 0;
  let variations = 0;

  async function one(nth: number): Promise<void> {
    const exchange = generate(nth);
    const verdict = await session.judge(exchange, { isCompared: nth % COMPARED_ONE_IN === 0 });
    const faults = [...verdict.faults];
    if (
      verdict.cpuMs > MIN_COST_MS &&
      (verdict.cpuMs > maxCpuMs || verdict.cpuMs > (dearest.at(-1)?.cost ?? 0))
    ) {
      const cpuMs = Math.min(verdict.cpuMs, await costAgain(exchange));
      if (cpuMs > MIN_COST_MS)
        keepDearest(dearest, { nth, kind: exchange.kind, cost: cpuMs, request: shown(exchange) });
      if (cpuMs > maxCpuMs) faults.push(dearFault(cpuMs, maxCpuMs));
    }
    if (nth % REPEATED_ONE_IN === 0) faults.push(...(await session.judge(exchange)).faults);
    record(nth, exchange, [...faults, ...memoryFaults()]);
  }

  /** Measures a cost again: the first time can include the garbage collection of other requests. */
  async function costAgain(exchange: Exchange): Promise<number> {
    await session.untilIdle();
    const { cpuMs } = await session.judge(varied(exchange, ++variations));
    return cpuMs;
  }

  /** Sends several requests at once. */
  async function burst(nth: number, count: number): Promise<void> {
    const exchanges = times(count, (index) => generate(nth + index));
    const faults = await session.judgeBurst(exchanges);
    for (const [index, exchange] of exchanges.entries()) {
      record(nth, exchange, [...(faults[index] ?? []), ...memoryFaults()]);
    }
  }

  function memoryFaults(): readonly string[] {
    const now = session.peakMb();
    peakMb = Math.max(peakMb, now);
    return now > maxPeakMb
      ? [`Resident memory came to ${Math.round(now)} MB, at most ${maxPeakMb} expected`]
      : [];
  }

  function record(nth: number, exchange: Exchange, faults: readonly string[]): void {
    for (const fault of faults) {
      const signature = signatureOf(fault);
      if (failures.has(signature) || failures.size >= MAX_FAILURES) continue;
      failures.set(signature, { nth, kind: exchange.kind, fault, request: shown(exchange) });
      tell(`FAILED at ${nth} (${exchange.kind}): ${fault.slice(0, 500)}\n  ${shown(exchange)}`);
    }
  }

  try {
    for (let nth = from; nth < from + requests; ) {
      const most = nth % BURST_EVERY === BURST_EVERY - 1 ? BURST : 1;
      const count = Math.min(most, from + requests - nth);
      await (count > 1 ? burst(nth, count) : one(nth));
      const done = nth + count - from;
      if (Math.floor(done / TELL_EVERY) > Math.floor((nth - from) / TELL_EVERY)) {
        tell(`${done} requests, ${Math.round(peakMb)} MB at most`);
      }
      nth += count;
    }
    return {
      requests,
      failures: [...failures.values()],
      /** The most expensive requests by CPU time of the main thread, in milliseconds. */
      dearest,
      peakMb,
      /** The number of answers by status. */
      statuses,
    };
  } finally {
    await session.close();
  }
}

/** Keeps one entry of each kind, the most expensive first. */
function keepDearest(list: Entry[], entry: Entry): void {
  const same = list.findIndex(({ kind }) => kind === entry.kind);
  if (same >= 0 && (list[same]?.cost ?? 0) >= entry.cost) return;
  if (same >= 0) list.splice(same, 1);
  list.push(entry);
  list.sort((one, other) => other.cost - one.cost).splice(PLACES);
}

function dearFault(cpuMs: number, maxCpuMs: number): string {
  return `One request cost ${Math.round(cpuMs)} ms of CPU time, at most ${maxCpuMs} expected`;
}

/** A text that is equal for the same fault of different requests. */
function signatureOf(fault: string): string {
  const [line = ''] = fault.split('\n');
  return line.replaceAll(/"(?:\\.|[^"\\])*"|\d+/g, '').slice(0, 300);
}
