import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createHeldBackMetrics, type HeldBackMetrics } from './metrics/held-back.js';
import { createRateLimitMetrics, type RateLimitMetrics } from './metrics/rate-limit.js';
import { type CacheSize, createRequestMetrics, type RequestMetrics } from './metrics/requests.js';
import { createSweepMetrics, type SweepMetrics } from './metrics/sweep.js';
import type { ListingState, ListingStatus } from './snapshots/freshness.js';

/**
 * The counters and gauges of this gateway. Every label value is from a small set that the gateway itself defines,
 * never from a client: each new value is kept as long as the process runs.
 */
export interface Metrics extends HeldBackMetrics {
  /** Requests of clients. */
  readonly requests: RequestMetrics;
  /** Operations that `RATE_LIMIT` refuses. */
  readonly rateLimit: RateLimitMetrics;
  /** The sweep of routes. Its metrics are absent while nothing is said of it. */
  readonly sweep: SweepMetrics;
  /** A line of the log was dropped because its reader is too slow. */
  logLineDropped(): void;
  /** Sets the function that returns the size of the response cache; it is called at each scrape. */
  watchCache(size: () => CacheSize): void;
  /** One attempt at the upstream: the service, the operation, 'ok' or the error's code, the duration in seconds. */
  upstreamRequest(upstream: string, path: string, outcome: string, seconds: number): void;
  /** The state of a circuit breaker: that of a service's listings, or one of the three of its routes. */
  breaker(
    upstream: string,
    state: (typeof BREAKER_STATES)[number],
    requests?: 'listings' | keyof typeof ROUTE_BREAKERS,
  ): void;
  /** Rows of routes that were left out because the token listing has other decimals for the same tokens. */
  conflictingRouteRows(count: number): void;
  /**
   * The end of one refresh.
   *
   * @param outcome 'taken' (from the upstream), 'shared' (from another gateway), 'older' (not used), 'held_back', or an error's code
   * @param heldBackFor the reasons why it is held back, from a closed set; empty for other outcomes
   */
  refresh(listing: string, outcome: string, heldBackFor?: readonly string[]): void;
  /** Fields of upstream rows that were never seen before, or that always came before and are now missing. */
  fieldDrift(listing: string, drift: 'appeared' | 'missing', fields: number): void;
  /** How many rows the token list of all chains leaves out. */
  tokenListOmitted(rows: number): void;
  /** A change from one service to its successor. */
  changedOver(from: string, to: string): void;
  /** Whether snapshots are shared with other gateways now. Never called if sharing is not configured. */
  sharing(isShared: boolean): void;
  /** A connection that was cut, or a request that was refused for lack of memory. */
  connectionCut(reason: string): void;
  /** Sets the function that returns the status of the listings; it is called at each scrape. */
  watchListings(status: () => readonly ListingStatus[]): void;
  /** All metrics in the exposition format; rejects if a function that they watch throws. */
  expose(): Promise<{ contentType: string; text: string }>;
}

const LISTING_STATES: readonly ListingState[] = ['FRESH', 'STALE', 'EMPTY'];
const BREAKER_STATES = ['closed', 'half-open', 'open'] as const;
/** The label of each breaker of routes. */
const ROUTE_BREAKERS = { routes: 'listed', unlisted: 'unlisted', sweep: 'sweep' } as const;

/** In seconds: from a response out of a cache nearby to an attempt that reaches any sensible timeout. */
const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What a gauge shows of one listing. */
type Sample = { readonly value: number } & Partial<Pick<ListingStatus, 'state' | 'source'>>;

/** Name and help of each gauge of the listings, and its samples for one listing, which it reads at each scrape. */
const LISTING_GAUGES: readonly (readonly [string, string, (status: ListingStatus) => readonly Sample[]])[] = [
  [
    'gateway_listing_state',
    'State of a listing by its age: 1 for its current state (FRESH, STALE or EMPTY), 0 for the others.',
    ({ state }) => LISTING_STATES.map((each) => ({ state: each, value: state === each ? 1 : 0 })),
  ],
  [
    'gateway_listing_age_seconds',
    'Age of the snapshot that is served. Absent while the listing is EMPTY.',
    ({ ageMs }) => (ageMs === null ? [] : [{ value: ageMs / 1000 }]),
  ],
  [
    'gateway_listing_rows',
    'Rows of the snapshot that is served; 0 while the listing is EMPTY.',
    ({ rows }) => [{ value: rows }],
  ],
  [
    'gateway_listing_rejected_rows',
    'Rows that were left out of the snapshot that is served, as malformed or duplicate.',
    ({ rejectedRows }) => [{ value: rejectedRows }],
  ],
  [
    'gateway_listing_source',
    'The service that the rows are from: 1 for that one, the others absent.',
    ({ source }) => [{ source, value: 1 }],
  ],
  [
    'gateway_listing_held_back',
    'Whether a whole refresh is being held back (1), while the last good snapshot is served.',
    ({ isHeldBack }) => [{ value: isHeldBack ? 1 : 0 }],
  ],
];

/**
 * Creates the metrics of one gateway, in their own registry.
 *
 * @param version of the gateway
 * @param ofProcess whether they include those of the process, such as its memory
 */
export function createMetrics({ version = 'unknown', ofProcess = true } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let listings: () => readonly ListingStatus[] = () => [];
  for (const [name, help, samplesOf] of LISTING_GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['listing', 'state', 'source'],
      registers,
      collect() {
        this.reset();
        for (const status of listings()) {
          for (const { value, ...labels } of samplesOf(status))
            this.set({ listing: status.name, ...labels }, value);
        }
      },
    });
  }
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });

  const requests = counter(
    'gateway_upstream_requests_total',
    'Attempts at the upstream, including retries, by outcome: ok, or the code of the error.',
    ['upstream', 'path', 'outcome'],
  );
  const durations = new Histogram({
    name: 'gateway_upstream_request_duration_seconds',
    help: 'Duration of one attempt at the upstream, until its response was read or it failed.',
    labelNames: ['upstream', 'path', 'outcome'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const breakers = new Gauge({
    name: 'gateway_upstream_breaker_state',
    help: 'The circuit breaker of the upstream: 1 for its current state, 0 for the others. Failed listing requests open it; while it is open, nothing is requested.',
    labelNames: ['upstream', 'state'],
    registers,
  });
  const routeBreakers = new Gauge({
    name: 'gateway_upstream_route_breaker_state',
    help: 'The circuit breakers for routes, which failed route requests open: 1 for the current state, 0 for the others. While the one for listed tokens is open, no routes are requested, but listings are; the one for unlisted tokens and the one of the sweep only stop their own.',
    labelNames: ['upstream', 'tokens', 'state'],
    registers,
  });
  const conflicts = counter(
    'gateway_route_rows_conflicting_total',
    'Rows of routes that were left out because the token listing has other decimals for the same token.',
  );
  const refreshes = counter(
    'gateway_listing_refreshes_total',
    'Refreshes that ended: taken from the upstream, shared by another gateway, held_back, or failed with this code.',
    ['listing', 'outcome'],
  );
  const holdBacks = counter(
    'gateway_listing_hold_backs_total',
    'Refreshes that were held back whole, by reason: shrink or rejected_rows. One refresh can have both.',
    ['listing', 'reason'],
  );
  const drifts = counter(
    'gateway_upstream_field_drift_total',
    'Fields of upstream rows that were in no row before (appeared), or in every row before and now not (missing). Each field counts once for each.',
    ['listing', 'drift'],
  );
  let omittedRows: Gauge | undefined;
  const changeovers = counter(
    'gateway_upstream_changeovers_total',
    'Changes from one service to its successor that this gateway detected first.',
    ['from', 'to'],
  );
  const cuts = counter(
    'gateway_http_connections_cut_total',
    'Connections that the server closed early, by reason: too_many_connections, pipelining, slow_reader, response_bytes, request_bytes (or only the request refused, for lack of memory), accept_failed.',
    ['reason'],
  );
  let cacheSize = (): CacheSize => ({ bytes: 0, entries: 0 });
  const clientRequests = createRequestMetrics(registry, () => cacheSize());
  const droppedLines = counter(
    'gateway_log_lines_dropped_total',
    'Lines of the log that were dropped because its reader is too slow.',
  );
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the version of the gateway is a label.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  let redisConnected: Gauge | undefined;
  if (ofProcess) collectDefaultMetrics({ register: registry });

  return {
    requests: clientRequests,
    rateLimit: createRateLimitMetrics(registry),
    sweep: createSweepMetrics(registry),
    ...createHeldBackMetrics(registry),
    logLineDropped: () => droppedLines.inc(),
    watchCache(size) {
      cacheSize = size;
    },
    upstreamRequest(upstream, path, outcome, seconds) {
      const labels = { upstream, path, outcome };
      requests.inc(labels);
      durations.observe(labels, seconds);
    },
    breaker(upstream, state, requests = 'listings') {
      for (const each of BREAKER_STATES) {
        const value = each === state ? 1 : 0;
        if (requests === 'listings') breakers.set({ upstream, state: each }, value);
        else routeBreakers.set({ upstream, tokens: ROUTE_BREAKERS[requests], state: each }, value);
      }
    },
    conflictingRouteRows: (count) => conflicts.inc(count),
    refresh(listing, outcome, heldBackFor = []) {
      refreshes.inc({ listing, outcome });
      for (const reason of heldBackFor) holdBacks.inc({ listing, reason });
    },
    fieldDrift: (listing, drift, fields) => drifts.inc({ listing, drift }, fields),
    tokenListOmitted(rows) {
      omittedRows ??= new Gauge({
        name: 'gateway_token_list_omitted_rows',
        help: 'Listed tokens of EVM chains that /tokenlist.json leaves out because its schema does not allow them; natives do not count. Absent until the list is first asked for.',
        registers,
      });
      omittedRows.set(rows);
    },
    changedOver: (from, to) => changeovers.inc({ from, to }),
    sharing(isShared) {
      redisConnected ??= new Gauge({
        name: 'gateway_redis_connected',
        help: 'Whether snapshots are shared with other gateways now (1), or this one works alone (0). Absent if sharing is not configured.',
        registers,
      });
      redisConnected.set(isShared ? 1 : 0);
    },
    connectionCut: (reason) => cuts.inc({ reason }),
    watchListings(status) {
      listings = status;
    },
    async expose() {
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
