import type { Listing } from '../domain/listing.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';
import { type Freshness, freshnessOf, type ListingAge, type ListingStatus, statusOf } from './freshness.js';
import { NO_PEERS } from './peers.js';
import { createRefresher, type RefreshOptions } from './refresher.js';
import { createReconcile } from './routes/route-rows.js';
import { createRoutes } from './routes/routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type TokenSnapshot,
  withChainHistory,
} from './snapshot.js';
import {
  createReverseRoutes,
  type ReverseRoutesOptions,
  type RouteMapVersion,
  type SweepStatus,
} from './sweep/reverse-routes.js';
import { type ListingReads, OperationView, type ServedSnapshots, type View } from './view/operation-view.js';

/** Times are in milliseconds. */
export interface SnapshotsOptions extends RefreshOptions, Pick<ReverseRoutesOptions, 'routeMapLimits'> {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** In this time the routes of all bridgeable tokens are swept; undefined: never. */
  readonly routesSweepMs?: number | undefined;
  /** Called when the sweep has asked a token: `ok`, or the code of the error. */
  readonly onSwept?: (outcome: string) => void;
  /** Called with the number of routes that were left out because they disagree with the token listing. */
  readonly onConflictingRouteRows?: (count: number) => void;
}

/** Everything that the gateway holds of the upstream. */
export interface Snapshots {
  /** Loads the listings that are on disk. Await it before `start`. */
  restore(): Promise<void>;
  /** Starts to fetch both listings, and keeps them fresh from then on. */
  start(): void;
  /** Refreshes both listings now. */
  refreshNow(): void;
  /**
   * The time by which the age of prices is measured (milliseconds since 1970): the present, or later if the clock was
   * set back since the token listing was fetched.
   */
  now(): number;
  /**
   * Creates the view of one operation.
   *
   * @param client the address of the client, for sharing the upstream fairly; all unknown clients count as one
   */
  view(client?: string): View;
  current(): ServedSnapshots;
  /** The version of the map of routes now; undefined if routes are not swept. */
  routeMap(): RouteMapVersion | undefined;
  /** Returns the progress of the sweep; undefined if routes are not swept. */
  readonly sweepStatus: (() => SweepStatus) | undefined;
  /** The freshness of the listings that were read, together; `now` is in milliseconds since 1970. */
  freshness(read: ListingReads, now: number): Freshness;
  /** The status of both listings; `now` is in milliseconds since 1970. */
  status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus];
  stop(): void;
}

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { listing, tokensFreshMs, destinationsFreshMs, peers = NO_PEERS, log } = options;
  const chains = createRefresher({
    ...options,
    kind: CHAINS,
    fetch: () => listing.chains(),
    index: async (fetched, before: ChainSnapshot | undefined) =>
      createChainSnapshot(await withChainHistory(fetched, before)),
    freshMs: options.chainsFreshMs,
  });
  const tokens = createRefresher({
    ...options,
    kind: TOKENS,
    fetch: () => listing.tokens({}),
    index: (fetched, before: TokenSnapshot | undefined) =>
      createTokenSnapshot(fetched, before, chains.snapshot),
    freshMs: tokensFreshMs,
    onPublished: () => reverse?.wake(),
  });
  const both = [chains, tokens];
  const freshMs = { chains: options.chainsFreshMs, tokens: tokensFreshMs };
  const { routesSweepMs: intervalMs } = options;
  const reverse =
    intervalMs === undefined
      ? undefined
      : createReverseRoutes({
          ...options,
          intervalMs,
          peers,
          disk: options.disk,
          tokens: () => tokens.snapshot,
          onAsked: options.onSwept,
        });
  const routes = createRoutes({ listing, peers, freshMs: destinationsFreshMs, known: reverse?.known, log });
  const reconcile = createReconcile({ onConflicts: options.onConflictingRouteRows, log });
  const ofAllRoutes = { listing, tokensFreshMs, routes, reconcile, now, log };
  const held = { chains, tokens, reverse, ofAllRoutes, now, freshness };

  function now(): number {
    const { snapshot } = tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  /** The freshness of the listings that were read. */
  function freshness(of: ServedSnapshots, read: ListingReads, now: number): Freshness {
    const listings: ListingAge[] = [];
    if (read.chains) listings.push({ name: 'chains', snapshot: of.chains, freshMs: freshMs.chains });
    if (read.tokens) listings.push({ name: 'tokens', snapshot: of.tokens, freshMs: freshMs.tokens });
    return freshnessOf(listings, now);
  }

  const current = () => ({ chains: chains.snapshot, tokens: tokens.snapshot });

  return {
    async restore() {
      await Promise.all([...both.map((refresher) => refresher.restore()), reverse?.restore()]);
    },
    start() {
      for (const refresher of both) refresher.start();
      reverse?.start(routes);
    },
    refreshNow() {
      for (const refresher of both) refresher.refreshNow();
    },
    now,
    view: (client) => new OperationView(held, client),
    current,
    routeMap: () => reverse?.version(),
    sweepStatus: reverse?.status,
    freshness: (read, now) => freshness(current(), read, now),
    status: (now) => [
      statusOf('chains', chains, freshMs.chains, listing.source, now),
      statusOf('tokens', tokens, freshMs.tokens, listing.source, now),
    ],
    stop() {
      for (const refresher of both) refresher.stop();
      reverse?.close();
    },
  };
}
