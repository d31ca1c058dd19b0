import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ERROR_CODES } from '../domain/error-codes.js';

/**
 * How a request was answered. `hit`: from the response cache. `miss`: the operation was executed. `refused`: an operation
 * that was not executed. `none`: not an operation, such as a page.
 */
export type CacheResult = 'hit' | 'miss' | 'refused' | 'none';

/** What executed an operation: the writer of responses, from the snapshots alone, or GraphQL Yoga. */
export type Executor = 'writer' | 'yoga';

/** Counts client requests. A request costs a few additions: all else is done at a scrape. */
export interface RequestMetrics {
  /** A request that cannot be answered at once begins; `answered` ends it. */
  began(): void;
  ended(): void;
  /**
   * One request was answered.
   *
   * @param outcome `ok`, an error code, `HTTP_4XX`, `HTTP_5XX` or `ABORTED`; any other text counts as `OTHER`
   * @param ms from the whole request to the end of its response
   * @param bytes of the response body as sent
   */
  answered(cache: CacheResult, outcome: string, ms: number, bytes: number): void;
}

/** The size of the response cache. */
export interface CacheSize {
  readonly bytes: number;
  readonly entries: number;
}

const CACHE_LABELS = ['hit', 'miss', 'refused', 'none'] as const satisfies readonly CacheResult[];
const INDEX_OF: Readonly<Record<CacheResult, number>> = { hit: 0, miss: 1, refused: 2, none: 3 };

/** The closed set of outcomes. An answer with several errors counts once, with the first of these that it has. */
export const OUTCOMES: readonly string[] = [
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
  // Without a GraphQL error, by the status.
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

/** In milliseconds: hits take tens of microseconds; the last is longer than an upstream may take. */
const DURATIONS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const BUCKETS = DURATIONS_MS.length + 1;

/** The outcome that stands for an answer with these codes. */
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
  const counts = new Float64Array(CACHE_LABELS.length * OUTCOMES.length);
  const durations = new Float64Array(CACHE_LABELS.length * BUCKETS);
  const seconds = new Float64Array(CACHE_LABELS.length);
  const bytes = new Float64Array(CACHE_LABELS.length);
  let inFlight = 0;

  new Counter({
    name: 'gateway_requests_total',
    help: 'Requests of clients, by how they were answered (hit, miss, refused; none: not an operation) and by outcome: ok, or the code of the most severe error.',
    labelNames: ['cache', 'outcome'],
    registers,
    collect() {
      this.reset();
      counts.forEach((count, index) => {
        const outcome = OUTCOMES[index % OUTCOMES.length] ?? '';
        const cache = CACHE_LABELS[Math.floor(index / OUTCOMES.length)] ?? '';
        // A series that is there from the start has a rate from its first request on.
        if (count > 0 || (outcome === 'ok' && cache !== 'refused')) this.inc({ cache, outcome }, count);
      });
    },
  });
  const name = 'gateway_request_duration_seconds';
  const help = 'From a whole request to the end of its response, by how it was answered.';
  const read = async () => {
    return { name, help, type: 'histogram', values: CACHE_LABELS.flatMap(samplesOfDurations) };
  };
  // Replaces what prom-client reads at a scrape: a histogram can show no counts that it has not observed itself.
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
    'Requests that were read and wait for their response; hits never wait.',
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
    answered(cache, outcome, ms, sent) {
      const row = INDEX_OF[cache];
      const column = outcome === 'ok' ? 0 : (OUTCOME_INDEX.get(outcome) ?? OTHER);
      let bucket = 0;
      while (bucket < DURATIONS_MS.length && ms > (DURATIONS_MS[bucket] ?? 0)) bucket++;
      add(counts, row * OUTCOMES.length + column, 1);
      add(durations, row * BUCKETS + bucket, 1);
      add(seconds, row, ms / 1000);
      add(bytes, row, sent);
    },
  };
}

function add(numbers: Float64Array, index: number, amount: number): void {
  numbers[index] = (numbers[index] ?? 0) + amount;
}
