/** The metrics of client requests and of the response cache. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ERROR_CODES, hasScope } from '../domain/error-codes.js';

/**
 * What the response cache did for a request. `hit`: the response is from the cache. `miss`: the operation was executed.
 * `refused`: the operation was not executed. `none`: the request is not an operation, such as one for a page.
 */
export type CacheResult = 'hit' | 'miss' | 'refused' | 'none';

/** What executed an operation: the operation writer, from the snapshots alone, or GraphQL Yoga. */
export type Executor = 'writer' | 'yoga';

/** Counts client requests. A request costs a few additions; the metrics are computed at a scrape. */
export interface RequestMetrics {
  /** A request begins that cannot be answered at once. `ended` must follow. */
  began(): void;
  ended(): void;
  /**
   * One request was answered.
   *
   * @param outcome `ok`, an error code, `HTTP_4XX`, `HTTP_5XX` or `ABORTED`; any other text counts as `OTHER`
   * @param ms from the complete request to the end of its response
   * @param bytes of the response body as sent
   * @param isByClient whether the client itself has caused the overload, or the failure of the upstream
   */
  answered(cache: CacheResult, outcome: string, ms: number, bytes: number, isByClient: boolean): void;
}

/** The size of the response cache. */
export interface CacheSize {
  readonly bytes: number;
  readonly entries: number;
}

const CACHE_RESULTS: readonly CacheResult[] = ['hit', 'miss', 'refused', 'none'];

/** The closed set of outcomes. A response with several errors counts once, with the first of these codes. */
const OUTCOMES: readonly string[] = [
  'ok',
  'INTERNAL_SERVER_ERROR',
  ...ERROR_CODES,
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_MISMATCH',
  'BAD_REQUEST',
  'REQUEST_ENTITY_TOO_LARGE',
  // Responses without a GraphQL error, by their status.
  'HTTP_4XX',
  'HTTP_5XX',
  // The client closed the connection first.
  'ABORTED',
  'OTHER',
];
const IS_OUTCOME: ReadonlySet<string> = new Set(OUTCOMES);

/** In seconds: hits take tens of microseconds, and the last bucket is longer than an upstream may take. */
const DURATIONS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** The outcome of a response with these codes. */
export function outcomeOf(codes: readonly string[]): string {
  return codes.length === 0 ? 'ok' : (OUTCOMES.find((outcome) => codes.includes(outcome)) ?? 'OTHER');
}

/**
 * Creates the metrics of client requests and of the response cache.
 *
 * @param cacheSize read at each scrape
 */
export function createRequestMetrics(registry: Registry, cacheSize: () => CacheSize): RequestMetrics {
  const registers = [registry];
  /** By cache result, outcome and scope, with spaces between them: prom-client would take ten times as long to count. */
  const counts = new Map<string, number>();
  const bytes: Record<CacheResult, number> = { hit: 0, miss: 0, refused: 0, none: 0 };
  let inFlight = 0;
  // A series that exists from the start has a rate from its first request on.
  for (const cache of CACHE_RESULTS) if (cache !== 'refused') counts.set(`${cache} ok`, 0);

  new Counter({
    name: 'gateway_requests_total',
    help: 'Requests of clients, by the use of the response cache (hit, miss, refused; none: not an operation) and by outcome: ok, or the code of the most severe error. Overloads and failures of the upstream have a scope: client (it has caused them itself, and nobody else has them) or process.',
    labelNames: ['cache', 'outcome', 'scope'],
    registers,
    collect() {
      this.reset();
      for (const [series, count] of counts) {
        const [cache = '', outcome = '', scope] = series.split(' ');
        this.inc({ cache, outcome, ...(scope === undefined ? {} : { scope }) }, count);
      }
    },
  });
  const durations = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Duration from the complete request to the end of its response, by the use of the response cache.',
    labelNames: ['cache'],
    buckets: DURATIONS,
    registers,
  });
  for (const cache of CACHE_RESULTS) durations.zero({ cache });
  new Counter({
    name: 'gateway_response_bytes_total',
    help: 'Bytes of response bodies as sent, compressed ones after compression.',
    labelNames: ['cache'],
    registers,
    collect() {
      this.reset();
      for (const cache of CACHE_RESULTS) this.inc({ cache }, bytes[cache]);
    },
  });
  const gauge = (gaugeName: string, gaugeHelp: string, read: () => number) =>
    new Gauge({
      name: gaugeName,
      help: gaugeHelp,
      registers,
      collect() {
        this.set(read());
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
    answered(cache, outcome, ms, sent, isByClient) {
      const named = IS_OUTCOME.has(outcome) ? outcome : 'OTHER';
      const scope = !hasScope(named) ? '' : isByClient ? ' client' : ' process';
      const series = `${cache} ${named}${scope}`;
      counts.set(series, (counts.get(series) ?? 0) + 1);
      durations.observe({ cache }, ms / 1000);
      bytes[cache] += sent;
    },
  };
}
