/** The metrics of client requests and of the response cache. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ERROR_CODES, hasScope } from '../domain/error-codes.js';

/**
 * What the response cache did for a request. `hit`: the response is from the cache. `miss`: the operation was executed.
 * `refused`: the operation was not executed. `none`: the request is not an operation, such as one for a page.
 */
export type CacheResult = 'hit' | 'miss' | 'refused' | 'none';

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
   * @param outcome `ok`, an error code, `HTTP_4XX`, `HTTP_5XX` or `ABORTED`; any other text counts as `OTHER`
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

const CACHE_LABELS = ['hit', 'miss', 'refused', 'none'] as const satisfies readonly CacheResult[];
const INDEX_OF: Readonly<Record<CacheResult, number>> = { hit: 0, miss: 1, refused: 2, none: 3 };

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
const OUTCOME_INDEX: ReadonlyMap<string, number> = new Map(
  OUTCOMES.map((outcome, index) => [outcome, index]),
);
const OTHER = OUTCOMES.length - 1;

/** The labels of each count: first all outcomes, then the same outcomes with the scope `client`. */
const COLUMNS: readonly { readonly outcome: string; readonly scope?: 'client' | 'process' }[] = [
  ...OUTCOMES.map((outcome) => (hasScope(outcome) ? { outcome, scope: 'process' as const } : { outcome })),
  ...OUTCOMES.map((outcome) => ({ outcome, scope: 'client' as const })),
];

/** Limits of buckets in milliseconds, from a hit (tens of microseconds) to a timeout of the upstream. */
const DURATIONS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const BUCKETS = DURATIONS_MS.length + 1;

/** The outcome of a response with these error codes: the most severe one. */
export function outcomeOf(codes: readonly string[]): string {
  if (codes.length === 0) return 'ok';
  const first = Math.min(...codes.map((code) => OUTCOME_INDEX.get(code) ?? OTHER));
  return OUTCOMES[first] ?? 'OTHER';
}

/**
 * Creates the metrics of client requests and of the response cache.
 *
 * @param cacheSize read at each scrape
 */
export function createRequestMetrics(registry: Registry, cacheSize: () => CacheSize): RequestMetrics {
  const registers = [registry];
  // Plain numbers: a counter and a histogram of prom-client would add 5 % to the cost of a hit.
  const counts = new Float64Array(CACHE_LABELS.length * COLUMNS.length);
  const durations = new Float64Array(CACHE_LABELS.length * BUCKETS);
  const seconds = new Float64Array(CACHE_LABELS.length);
  const bytes = new Float64Array(CACHE_LABELS.length);
  let inFlight = 0;

  new Counter({
    name: 'gateway_requests_total',
    help: 'Requests of clients, by the use of the response cache (hit, miss, refused; none: not an operation) and by outcome: ok, or the code of the most severe error. Overloads and failures of the upstream have a scope: client (it has caused them itself, and nobody else has them) or process.',
    labelNames: ['cache', 'outcome', 'scope'],
    registers,
    collect() {
      this.reset();
      counts.forEach((count, index) => {
        const labels = COLUMNS[index % COLUMNS.length] ?? { outcome: '' };
        const cache = CACHE_LABELS[Math.floor(index / COLUMNS.length)] ?? '';
        // A series that exists from the start has a rate from its first request on.
        if (count > 0 || (labels === COLUMNS[0] && cache !== 'refused'))
          this.inc({ cache, ...labels }, count);
      });
    },
  });
  const name = 'gateway_request_duration_seconds';
  const help =
    'Duration from the complete request until its response is passed on to be sent, by the use of the response cache.';
  const read = async () => {
    return { name, help, type: 'histogram', values: CACHE_LABELS.flatMap(samplesOfDurations) };
  };
  // Replaces the function that prom-client calls at a scrape: a histogram cannot show counts that it has not observed itself.
  const histogram = new Histogram({ name, help, labelNames: ['cache'], registers });
  Object.assign(histogram, { get: read, getForPromString: read });

  function samplesOfDurations(cache: string, row: number) {
    const sample = (suffix: string, value: number, labels = {}) => ({
      metricName: `${name}_${suffix}`,
      labels: { ...labels, cache },
      value,
    });
    let count = 0;
    const buckets = [...DURATIONS_MS, Number.POSITIVE_INFINITY].map((ms, index) => {
      count += durations[row * BUCKETS + index] ?? 0;
      return sample('bucket', count, { le: Number.isFinite(ms) ? ms / 1000 : '+Inf' });
    });
    return [...buckets, sample('sum', seconds[row] ?? 0), sample('count', count)];
  }

  new Counter({
    name: 'gateway_response_bytes_total',
    help: 'Bytes of response bodies as sent, compressed ones after compression.',
    labelNames: ['cache'],
    registers,
    collect() {
      this.reset();
      CACHE_LABELS.forEach((cache, index) => {
        this.inc({ cache }, bytes[index] ?? 0);
      });
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
      const row = INDEX_OF[cache];
      const column = outcome === 'ok' ? 0 : (OUTCOME_INDEX.get(outcome) ?? OTHER);
      let bucket = 0;
      while (bucket < DURATIONS_MS.length && ms > (DURATIONS_MS[bucket] ?? 0)) bucket++;
      const isOwn = isByClient && hasScope(outcome);
      add(counts, row * COLUMNS.length + column + (isOwn ? OUTCOMES.length : 0), 1);
      add(durations, row * BUCKETS + bucket, 1);
      add(seconds, row, ms / 1000);
      add(bytes, row, sent);
    },
  };
}

function add(numbers: Float64Array, index: number, amount: number): void {
  numbers[index] = (numbers[index] ?? 0) + amount;
}
