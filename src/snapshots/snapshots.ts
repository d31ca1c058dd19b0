import type { Listing } from '../domain/listing.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';
import {
  type Freshness,
  freshnessOf,
  LISTING_NAMES,
  type ListingAge,
  type ListingName,
  type ListingStatus,
  type StaleListing,
  statusOf,
} from './freshness.js';
import { NO_PEERS } from './peers.js';
import { PinnedSnapshot } from './pinned-snapshot.js';
import { createRefresher, type RefreshOptions } from './refresher.js';
import { createReconcile } from './routes/route-rows.js';
import { createRouteView, type RouteView } from './routes/route-view.js';
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
  type TokenSources,
} from './sweep/reverse-routes.js';

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

/**
 * The state of the world that one operation reads. Once it has returned a snapshot it returns the same one to the
 * operation's end, whatever is refreshed meanwhile.
 */
export interface View extends Omit<RouteView, 'goodUntil'> {
  /** As {@link Snapshots.now}. */
  now(): number;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot>;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot>;
  /** Whether routes are swept, so that `sources` is not null. */
  readonly isSwept: boolean;
  /**
   * What can reach this token; null if routes are not swept.
   *
   * @param tokens the token listing of this operation
   * @throws UpstreamError while nothing is known
   */
  sources(tokens: TokenSnapshot, chainKey: string, address: string): TokenSources | null;
  /** The snapshots of this operation, for a use that does not show in the response. */
  untracked(): ServedSnapshots;
  /** Resolves when each of these listings is there or has failed. */
  arrival(listings: readonly ListingName[]): Promise<void>;
  /**
   * The snapshots in the response that are stale. Snapshots that were read only to make a request to the upstream
   * are not among them.
   *
   * @param now milliseconds since 1970
   */
  staleReads(now: number): readonly StaleListing[];
  /** The snapshots that the response depends on so far. */
  readSnapshots(): ReadSnapshots;
  /** Sets which listings count as read from now on. @returns which of them did until now */
  swapReads(reads: ListingReads): ListingReads;
}

/** The snapshots that are served now; each is undefined before the first. */
export interface ServedSnapshots {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** Which listings were read. */
export type ListingReads = Readonly<Record<ListingName, boolean>>;

/** The snapshots that one operation has read; undefined for a listing that it has not. */
export interface ReadSnapshots extends ServedSnapshots {
  /** Whether a listing was read that has no snapshot: the response changes when there is one. */
  readonly isMissing: boolean;
  /** Until when the routes in the response stay cached (milliseconds since 1970). */
  readonly routesGoodUntil: number;
  /** The version of the map of routes; undefined if it was not read. */
  readonly routeMap?: RouteMapVersion | undefined;
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

  function now(): number {
    const { snapshot } = tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  /** The freshness of the listings that were read. */
  function freshness(of: ServedSnapshots, read: ListingReads, now: number): Freshness {
    const listings: ListingAge[] = [];
    for (const name of LISTING_NAMES)
      if (read[name]) listings.push({ name, snapshot: of[name], freshMs: freshMs[name] });
    return freshnessOf(listings, now);
  }

  function view(client?: string): View {
    const pinnedChains = new PinnedSnapshot(chains);
    const pinnedTokens = new PinnedSnapshot(tokens);
    let madeRouteView: RouteView | undefined;
    let routeMapRead: RouteMapVersion | undefined;
    const routeView = () => {
      madeRouteView ??= createRouteView({ ...ofAllRoutes, pinnedTokens, client });
      return madeRouteView;
    };
    return {
      now,
      isSwept: reverse !== undefined,
      chains: () => pinnedChains.read(),
      tokens: () => pinnedTokens.read(),
      sources(tokens, chainKey, address) {
        if (!reverse) return null;
        routeMapRead ??= reverse.version();
        return reverse.sourcesOf(tokens, chainKey, address);
      },
      untracked: () => ({ chains: pinnedChains.arrived, tokens: pinnedTokens.arrived }),
      async arrival(listings) {
        const pins = { chains: pinnedChains, tokens: pinnedTokens };
        await Promise.allSettled(listings.map((name) => pins[name].readUntracked()));
      },
      routeRequest: (filter) => routeView().routeRequest(filter),
      cachedRoutes: (filter) => routeView().cachedRoutes(filter),
      routes: (request) => routeView().routes(request),
      readSnapshots: () => ({
        chains: pinnedChains.snapshotRead,
        tokens: pinnedTokens.snapshotRead,
        isMissing: pinnedChains.readFailed || pinnedTokens.readFailed,
        routesGoodUntil: madeRouteView?.goodUntil() ?? Number.POSITIVE_INFINITY,
        routeMap: routeMapRead,
      }),
      swapReads: ({ chains, tokens }) => ({
        chains: pinnedChains.swapRead(chains),
        tokens: pinnedTokens.swapRead(tokens),
      }),
      staleReads(now) {
        const read = { chains: pinnedChains.snapshotRead, tokens: pinnedTokens.snapshotRead };
        const isRead = { chains: read.chains !== undefined, tokens: read.tokens !== undefined };
        return freshness(read, isRead, now).stale;
      },
    };
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
    view,
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
