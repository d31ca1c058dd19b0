/** Counts client requests. */
import { ERROR_CODES, hasScope, SERVER_ERRORS } from '../domain/error-codes.js';

/**
 * What the response cache did for a request. `hit`: the response is from the cache. `miss`: the operation was executed.
 * `refused`: the operation was not executed. `none`: the request is not an operation, such as one for a page.
 */
export type CacheResult = 'hit' | 'miss' | 'refused' | 'none';

export type Executor = 'writer' | 'yoga';

/** The error codes with an outcome of their own. A response with several codes counts once, by the first one in this list. */
const CODES: readonly string[] = [
  'INTERNAL_SERVER_ERROR' satisfies keyof typeof SERVER_ERRORS,
  ...ERROR_CODES,
  ...Object.keys(SERVER_ERRORS),
];

/** Whether the gateway itself failed. */
export function isInternal(status: number, codes: readonly string[]): boolean {
  return status === 500 || codes.includes('INTERNAL_SERVER_ERROR');
}

export function outcomeOf(status: number, codes: readonly string[]): string {
  if (codes.length > 0) return CODES.find((code) => codes.includes(code)) ?? 'OTHER';
  if (status < 400) return 'ok';
  return status < 500 ? 'HTTP_4XX' : 'HTTP_5XX';
}

/** The limits of the buckets, in milliseconds: from a hit (tens of microseconds) to a timeout of the upstream. */
const DURATIONS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** The counts of one cache result. Plain numbers: the counters of prom-client would add 5 % to the cost of a hit. */
class Counts {
  seconds = 0;
  bytes = 0;
  /** By bucket: how many requests took longer than the previous limit, and at most as long as its own. */
  readonly durations = new Array<number>(DURATIONS_MS.length + 1).fill(0);
  /** The samples of the counter of requests, by outcome, and by who has caused it. */
  readonly requests = new Map<string, { readonly labels: Record<string, string>; value: number }>();

  constructor(readonly cache: CacheResult) {
    // A series that exists from the start has a rate from its first request on.
    if (cache !== 'refused') this.requests.set('ok', { labels: { cache, outcome: 'ok' }, value: 0 });
  }

  add(outcome: string, ms: number, bytes: number, isByClient: boolean): void {
    let bucket = 0;
    while (bucket < DURATIONS_MS.length && ms > (DURATIONS_MS[bucket] as number)) bucket++;
    (this.durations[bucket] as number)++;
    this.seconds += ms / 1000;
    this.bytes += bytes;
    const scope = hasScope(outcome) ? (isByClient ? 'client' : 'process') : undefined;
    const key = scope ? `${outcome} ${scope}` : outcome;
    const known = this.requests.get(key);
    if (known) known.value++;
    else
      this.requests.set(key, { labels: { cache: this.cache, outcome, ...(scope && { scope }) }, value: 1 });
  }

  durationSamples() {
    const name = 'gateway_request_duration_seconds';
    const labels = { cache: this.cache };
    let value = 0;
    const buckets = [...DURATIONS_MS, Number.POSITIVE_INFINITY].map((ms, index) => {
      value += this.durations[index] as number;
      const le = Number.isFinite(ms) ? ms / 1000 : '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
    });
    const sum = { metricName: `${name}_sum`, labels, value: this.seconds };
    return [...buckets, sum, { metricName: `${name}_count`, labels, value }];
  }
}

/** Counting a request takes a few additions; samples are computed at each scrape. */
export function createRequestMetrics() {
  const counts = {
    hit: new Counts('hit'),
    miss: new Counts('miss'),
    refused: new Counts('refused'),
    none: new Counts('none'),
  };
  const all = Object.values(counts);
  let inFlight = 0;
  return {
    /** Call it for a request that is not answered at once, and `ended` when it is answered. */
    began() {
      inFlight++;
    },
    ended() {
      inFlight--;
    },
    /** @param isByClient whether the client itself has caused the error (the label `scope`) */
    answered(cache: CacheResult, outcome: string, ms: number, bytes: number, isByClient: boolean) {
      counts[cache].add(outcome, ms, bytes, isByClient);
    },
    samples: {
      requests: () => all.flatMap(({ requests }) => [...requests.values()]),
      bytes: () => all.map(({ cache, bytes }) => ({ labels: { cache }, value: bytes })),
      durations: () => all.flatMap((each) => each.durationSamples()),
      inFlight: () => [{ value: inFlight }],
    },
  };
}
