/** The metrics of client requests and of the response cache. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ERROR_CODES, hasScope } from '../domain/error-codes.js';

/**
 * What the response cache did for a request. `hit`: the response is from the cache. `miss`: the operation was executed.
 * `refused`: the operation was not executed. `none`: the request is not an operation, such as one for a page.
 */
export type CacheResult = (typeof CACHE_RESULTS)[number];

const CACHE_RESULTS = ['hit', 'miss', 'refused', 'none'] as const;

/** The part that executed an operation: the operation writer, from the snapshots alone, or GraphQL Yoga. */
export type Executor = 'writer' | 'yoga';

/** Counts client requests. A request costs a few additions; the metrics are computed at a scrape. */
export interface RequestMetrics {
  /** A request that cannot be answered at once has begun. Call `ended` when it is answered. */
  began(): void;
  ended(): void;
  /**
   * One request was answered.
   *
   * @param outcome of {@link outcomeOf}, or `ABORTED`
   * @param ms from the complete request until its response was passed to Node
   * @param bytes of the response body as sent
   * @param isByClient whether the client itself has caused the overload, or the failure of the upstream
   */
  answered(cache: CacheResult, outcome: string, ms: number, bytes: number, isByClient: boolean): void;
}

export interface CacheSize {
  readonly bytes: number;
  readonly entries: number;
}

/** The error codes with an outcome of their own, the most severe first. A response counts once, with the first of them. */
const CODES: readonly string[] = [
  'INTERNAL_SERVER_ERROR',
  ...ERROR_CODES,
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_MISMATCH',
  'BAD_REQUEST',
  'REQUEST_ENTITY_TOO_LARGE',
];

/** The outcome of a response: `ok`, its most severe error code, `HTTP_4XX` or `HTTP_5XX`, or `OTHER`. */
export function outcomeOf(status: number, codes: readonly string[]): string {
  if (codes.length > 0) return CODES.find((code) => codes.includes(code)) ?? 'OTHER';
  if (status < 400) return 'ok';
  return status < 500 ? 'HTTP_4XX' : 'HTTP_5XX';
}

/** Limits of buckets in milliseconds, from a hit (tens of microseconds) to a timeout of the upstream. */
const DURATIONS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** The counts of one cache result. Plain numbers: the counters of prom-client would add 5 % to the cost of a hit. */
class Counts {
  seconds = 0;
  bytes = 0;
  /** How many requests took as long as each bucket allows, and not as short as the one before. */
  readonly durations = new Array<number>(DURATIONS_MS.length + 1).fill(0);
  /** By outcome: all requests, and those that the client itself has caused. */
  readonly outcomes = new Map<string, { count: number; byClient: number }>();

  constructor(readonly cache: CacheResult) {
    // A series that exists from the start has a rate from its first request on.
    if (cache !== 'refused') this.outcomes.set('ok', { count: 0, byClient: 0 });
  }

  add(outcome: string, ms: number, bytes: number, isByClient: boolean): void {
    let bucket = 0;
    while (bucket < DURATIONS_MS.length && ms > (DURATIONS_MS[bucket] as number)) bucket++;
    (this.durations[bucket] as number)++;
    this.seconds += ms / 1000;
    this.bytes += bytes;
    let counts = this.outcomes.get(outcome);
    if (!counts) {
      counts = { count: 0, byClient: 0 };
      this.outcomes.set(outcome, counts);
    }
    counts.count++;
    if (isByClient) counts.byClient++;
  }

  samplesOfDurations(name: string) {
    const { cache } = this;
    let count = 0;
    const buckets = [...DURATIONS_MS, Number.POSITIVE_INFINITY].map((ms, index) => {
      count += this.durations[index] as number;
      const le = Number.isFinite(ms) ? ms / 1000 : '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, cache }, value: count };
    });
    const sum = { metricName: `${name}_sum`, labels: { cache }, value: this.seconds };
    return [...buckets, sum, { metricName: `${name}_count`, labels: { cache }, value: count }];
  }
}

/**
 * Creates the metrics of client requests and of the response cache.
 *
 * @param cacheSize read at each scrape
 */
export function createRequestMetrics(registry: Registry, cacheSize: () => CacheSize): RequestMetrics {
  const registers = [registry];
  const [hit, miss, refused, none] = CACHE_RESULTS.map((cache) => new Counts(cache)) as [
    Counts,
    Counts,
    Counts,
    Counts,
  ];
  const all = { hit, miss, refused, none };
  let inFlight = 0;

  new Counter({
    name: 'gateway_requests_total',
    help: 'Requests of clients, by the use of the response cache (hit, miss, refused; none: not an operation) and by outcome: ok, or the code of the most severe error. Overloads and failures of the upstream have a scope: client (it has caused them itself, and nobody else has them) or process.',
    labelNames: ['cache', 'outcome', 'scope'],
    registers,
    collect() {
      this.reset();
      for (const { cache, outcomes } of Object.values(all))
        for (const [outcome, { count, byClient }] of outcomes) {
          if (!hasScope(outcome)) this.inc({ cache, outcome }, count);
          else {
            if (byClient > 0) this.inc({ cache, outcome, scope: 'client' }, byClient);
            if (count > byClient) this.inc({ cache, outcome, scope: 'process' }, count - byClient);
          }
        }
    },
  });
  const name = 'gateway_request_duration_seconds';
  const help =
    'Duration from the complete request until its response is passed on to be sent, by the use of the response cache.';
  const read = async () => {
    const values = Object.values(all).flatMap((counts) => counts.samplesOfDurations(name));
    return { name, help, type: 'histogram', values };
  };
  // Replaces the function that prom-client calls at a scrape: a histogram cannot show counts that it has not observed itself.
  const histogram = new Histogram({ name, help, labelNames: ['cache'], registers });
  Object.assign(histogram, { get: read, getForPromString: read });

  new Counter({
    name: 'gateway_response_bytes_total',
    help: 'Bytes of response bodies as sent, compressed ones after compression.',
    labelNames: ['cache'],
    registers,
    collect() {
      this.reset();
      for (const { cache, bytes } of Object.values(all)) this.inc({ cache }, bytes);
    },
  });
  const gauge = (gaugeName: string, gaugeHelp: string, value: () => number) =>
    new Gauge({
      name: gaugeName,
      help: gaugeHelp,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge(
    'gateway_requests_in_flight',
    'Requests that were read and wait for their response. Hits never wait.',
    () => inFlight,
  );
  gauge('gateway_response_cache_bytes', 'Estimated size of the response cache.', () => cacheSize().bytes);
  gauge('gateway_response_cache_entries', 'Responses in the response cache.', () => cacheSize().entries);

  return {
    began: () => {
      inFlight++;
    },
    ended: () => {
      inFlight--;
    },
    answered: (cache, outcome, ms, bytes, isByClient) => all[cache].add(outcome, ms, bytes, isByClient),
  };
}
