import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** How one listing stands at the time of a scrape. */
export interface ListingFigures {
  readonly name: string;
  /** Which service its rows are from. */
  readonly source: string;
  readonly state: (typeof LISTING_STATES)[number];
  /** Age of the snapshot that is served, in milliseconds; null while EMPTY. */
  readonly ageMs: number | null;
  readonly rows: number;
  readonly rejectedRows: number;
  /** Whether a refresh is being held back, since it looks wrong. */
  readonly isHeldBack: boolean;
}

/**
 * What is counted and measured of this gateway. Every label is one of a small set that the gateway itself
 * knows: what a client sent must never become one, since each new value is kept as long as the gateway runs.
 */
export interface Metrics {
  /** One attempt at the upstream: which service, which operation, 'ok' or the error's code, how long in seconds. */
  upstreamRequest(upstream: string, path: string, outcome: string, seconds: number): void;
  /** A breaker in front of one service: the one of its listings, or one of the two of its routes. */
  breaker(
    upstream: string,
    state: (typeof BREAKER_STATES)[number],
    requests?: 'listings' | 'routes' | 'unlisted',
  ): void;
  /** So many rows of routes were left out, since the token listing gives the same tokens other decimals. */
  conflictingRouteRows(count: number): void;
  /**
   * The end of one refresh: 'taken' (from the upstream), 'shared' (from another gateway), 'held_back', or an error's code.
   *
   * @param heldBackFor why it is held back; each of a closed set, and empty for other outcomes
   */
  refresh(listing: string, outcome: string, heldBackFor?: readonly string[]): void;
  /** A change from one service to its successor. */
  changedOver(from: string, to: string): void;
  /** Whether snapshots are shared with other gateways now. Never called where no sharing is set. */
  sharing(isShared: boolean): void;
  /** A connection that was closed on a client, or a request that was refused for want of memory, and why. */
  connectionCut(reason: string): void;
  /** Tells where to ask, at each scrape, how the listings stand. */
  watchListings(status: () => readonly ListingFigures[]): void;
  /** Everything in the exposition format; rejects with whatever the function given to `watchListings` throws. */
  expose(): Promise<{ contentType: string; text: string }>;
}

const LISTING_STATES = ['FRESH', 'STALE', 'EMPTY'] as const;
const BREAKER_STATES = ['closed', 'half-open', 'open'] as const;

/** From an answer out of a cache nearby to an attempt that uses up any sensible time limit. */
const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Makes the metrics of one gateway, in a registry of their own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const listings = createListingGauges(registers);
  let listingStatus: () => readonly ListingFigures[] = () => [];

  const requests = new Counter({
    name: 'upstream_requests_total',
    help: 'Attempts at the upstream, retries included, by what came of them: ok, or the code of the error.',
    labelNames: ['upstream', 'path', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'upstream_request_duration_seconds',
    help: 'How long one attempt at the upstream took, until its answer was read or it failed.',
    labelNames: ['upstream', 'path', 'outcome'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const breakers = new Gauge({
    name: 'upstream_breaker_state',
    help: 'The breaker in front of the upstream: 1 for its present state, 0 for the others. Failed listings open it; while it is open, nothing is asked.',
    labelNames: ['upstream', 'state'],
    registers,
  });
  const routeBreakers = new Gauge({
    name: 'upstream_route_breaker_state',
    help: 'The breakers that failed routes open: 1 for the present state, 0 for the others. While the one for routes from listed tokens is open, no routes are asked for, but listings are; the one for unlisted tokens stops those alone.',
    labelNames: ['upstream', 'tokens', 'state'],
    registers,
  });
  const conflicts = new Counter({
    name: 'route_rows_conflicting_total',
    help: 'Rows of routes that were left out, since the token listing gives the same token other decimals.',
    registers,
  });
  const refreshes = new Counter({
    name: 'listing_refreshes_total',
    help: 'Refreshes that ended: taken from the upstream, shared by another gateway, held_back, or failed with this code.',
    labelNames: ['listing', 'outcome'],
    registers,
  });
  const holdBacks = new Counter({
    name: 'listing_hold_backs_total',
    help: 'Refreshes that were held back, by what looks wrong: shrink, rejected_rows, decimals, symbol, address, chain_id or native_currency. One can have several reasons.',
    labelNames: ['listing', 'reason'],
    registers,
  });
  const changeovers = new Counter({
    name: 'upstream_changeovers_total',
    help: 'Changes from one service to its successor that this gateway was the first to find.',
    labelNames: ['from', 'to'],
    registers,
  });
  const cuts = new Counter({
    name: 'http_connections_cut_total',
    help: 'Connections that were closed on their clients, by reason: too_many_connections, pipelining, slow_reader, response_bytes, request_bytes (or a request refused for its memory), accept_failed.',
    labelNames: ['reason'],
    registers,
  });
  let redisConnected: Gauge | undefined;
  collectDefaultMetrics({ register: registry });

  return {
    upstreamRequest(upstream, path, outcome, seconds) {
      const labels = { upstream, path, outcome };
      requests.inc(labels);
      durations.observe(labels, seconds);
    },
    breaker(upstream, state, requests = 'listings') {
      const tokens = requests === 'routes' ? 'listed' : 'unlisted';
      for (const each of BREAKER_STATES) {
        const value = each === state ? 1 : 0;
        if (requests === 'listings') breakers.set({ upstream, state: each }, value);
        else routeBreakers.set({ upstream, tokens, state: each }, value);
      }
    },
    conflictingRouteRows: (count) => conflicts.inc(count),
    refresh(listing, outcome, heldBackFor = []) {
      refreshes.inc({ listing, outcome });
      for (const reason of heldBackFor) holdBacks.inc({ listing, reason });
    },
    changedOver: (from, to) => changeovers.inc({ from, to }),
    sharing(isShared) {
      redisConnected ??= new Gauge({
        name: 'redis_connected',
        help: 'Whether snapshots are shared with other gateways now (1), or this one goes on alone (0). Absent where no sharing is set.',
        registers,
      });
      redisConnected.set(isShared ? 1 : 0);
    },
    connectionCut: (reason) => cuts.inc({ reason }),
    watchListings(status) {
      listingStatus = status;
    },
    async expose() {
      listings.show(listingStatus());
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

interface ListingGauges {
  /** Replaces all that was shown before. */
  show(listings: readonly ListingFigures[]): void;
}

function createListingGauges(registers: Registry[]): ListingGauges {
  const states = new Gauge({
    name: 'listing_state',
    help: 'How a listing stands by its age: 1 for its present state (FRESH, STALE or EMPTY), 0 for the others.',
    labelNames: ['listing', 'state'],
    registers,
  });
  const ages = new Gauge({
    name: 'listing_age_seconds',
    help: 'Age of the snapshot that is served. Absent while the listing is EMPTY.',
    labelNames: ['listing'],
    registers,
  });
  const rows = new Gauge({
    name: 'listing_rows',
    help: 'Rows of the snapshot that is served; 0 while the listing is EMPTY.',
    labelNames: ['listing'],
    registers,
  });
  const rejectedRows = new Gauge({
    name: 'listing_rejected_rows',
    help: 'Rows that were left out of the snapshot that is served, as malformed or duplicate.',
    labelNames: ['listing'],
    registers,
  });
  const sources = new Gauge({
    name: 'listing_source',
    help: 'Which service the rows are from: 1 for that one, the others absent.',
    labelNames: ['listing', 'source'],
    registers,
  });
  const heldBack = new Gauge({
    name: 'listing_held_back',
    help: 'Whether a refresh that looks wrong is being held back (1), while the last good snapshot is served.',
    labelNames: ['listing'],
    registers,
  });

  return {
    show(listings) {
      for (const gauge of [states, ages, rows, rejectedRows, sources, heldBack]) gauge.reset();
      for (const { name: listing, ...figures } of listings) {
        for (const state of LISTING_STATES) states.set({ listing, state }, state === figures.state ? 1 : 0);
        if (figures.ageMs !== null) ages.set({ listing }, figures.ageMs / 1000);
        rows.set({ listing }, figures.rows);
        rejectedRows.set({ listing }, figures.rejectedRows);
        sources.set({ listing, source: figures.source }, 1);
        heldBack.set({ listing }, figures.isHeldBack ? 1 : 0);
      }
    },
  };
}
