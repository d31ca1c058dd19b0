import type { Listing, ListingSource, Token, TokenFilter } from '../domain/listing.js';
import type { Logger } from '../logger.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';
import type { HoldBackRules } from './changes/change-check.js';
import type { DiskStore } from './disk-store.js';
import {
  type AgedListing,
  type Freshness,
  freshnessOf,
  type ListingName,
  type ListingStatus,
  type StaleListing,
  statusOf,
} from './freshness.js';
import { NO_PEERS, type Peers } from './peers.js';
import { PinnedSnapshot } from './pinned-snapshot.js';
import { createRefresher } from './refresher.js';
import { createRouteRows } from './routes/route-rows.js';
import { createRouteView, type RouteView } from './routes/route-view.js';
import { createRoutes } from './routes/routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';

/** Times are in milliseconds. */
export interface SnapshotsOptions extends HoldBackRules {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** The pause after a first failed refresh of a listing. */
  readonly firstPauseMs?: number | undefined;
  /** The gateways to share with; by default none. */
  readonly peers?: Peers | undefined;
  /** Where the listings outlive the process; by default nowhere. */
  readonly disk?: DiskStore | undefined;
  /** Called at the end of each refresh: `taken`, `shared`, `held_back` with the reasons, or an error's code. */
  readonly onRefresh?: (listing: string, outcome: string, heldBackFor: readonly string[]) => void;
  /** Called with the number of routes that were left out because they disagree with the token listing. */
  readonly onConflictingRouteRows?: (count: number) => void;
  readonly log: Logger;
}

/**
 * The state of the world that one operation reads. Once it has returned a snapshot it returns the same one to the
 * operation's end, whatever is refreshed meanwhile.
 */
export interface View {
  /** As {@link Snapshots.now}. */
  now(): number;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot>;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot>;
  /** The snapshots of this operation, for a use that does not show in the response. */
  untracked(): ServedSnapshots;
  /** Resolves when each of these listings is there or has failed. */
  arrival(listings: readonly ListingName[]): Promise<void>;
  /** The request as the upstream gets it: a listed token's address is spelled as the upstream spells it. */
  routeRequest(filter: TokenFilter): Promise<TokenFilter>;
  /** The routes, if they can be had at once and without the upstream; undefined otherwise. As `routes`. */
  cachedRoutes(request: TokenFilter): readonly Token[] | undefined;
  /**
   * The upstream's own answer, with each row as the token listing has it. While the listing is fresh and lacks the
   * token, there are no routes, and the upstream is not asked. Rejects with an UpstreamError.
   */
  routes(request: TokenFilter): Promise<readonly Token[]>;
  /**
   * The snapshots in the response that are stale. Snapshots that were read only to make a request to the upstream
   * are not among them.
   *
   * @param now milliseconds since 1970
   */
  staleReads(now: number): readonly StaleListing[];
  /** The snapshots that the response depends on so far. */
  readSnapshots(): ReadSnapshots;
}

/** The snapshots that are served now; each is undefined before the first. */
export interface ServedSnapshots {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** The snapshots that one operation has read; undefined for a listing that it has not. */
export interface ReadSnapshots extends ServedSnapshots {
  /** Whether a listing was read that has no snapshot: the response changes when there is one. */
  readonly isMissing: boolean;
  /** Until when the routes in the response stay cached (milliseconds since 1970). */
  readonly routesGoodUntil: number;
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
  /** The freshness of the listings that were read, together; `now` is in milliseconds since 1970. */
  freshness(read: Readonly<Record<ListingName, boolean>>, now: number): Freshness;
  /** The status of both listings; `now` is in milliseconds since 1970. */
  status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus];
  stop(): void;
}

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { listing, chainsFreshMs, tokensFreshMs, destinationsFreshMs, log } = options;
  const {
    peers = NO_PEERS,
    disk,
    firstPauseMs,
    onRefresh = () => {},
    onConflictingRouteRows = () => {},
  } = options;
  const shared = {
    rules: options,
    peers,
    disk,
    delay: () => listing.delay?.(),
    onSource: (source: ListingSource) => listing.switchTo?.(source),
    log,
    ...(firstPauseMs === undefined ? {} : { firstPauseMs }),
  };
  const chains = createRefresher({
    ...shared,
    kind: CHAINS,
    fetch: () => listing.chains(),
    index: createChainSnapshot,
    freshMs: chainsFreshMs,
    onRefresh: (...outcome) => onRefresh('chains', ...outcome),
  });
  const tokens = createRefresher({
    ...shared,
    kind: TOKENS,
    fetch: () => listing.tokens({}),
    index: createTokenSnapshot,
    freshMs: tokensFreshMs,
    onRefresh: (...outcome) => onRefresh('tokens', ...outcome),
  });
  const routes = createRoutes({ listing, peers, freshMs: destinationsFreshMs, log });
  const routeRows = createRouteRows({ onConflicts: onConflictingRouteRows, log });

  const ofAllRoutes = { listing, tokensFreshMs, routes, routeRows, now, log };

  function now(): number {
    const { snapshot } = tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  /** The listings that were read, with the ages up to which they are fresh. */
  function aged(
    of: Readonly<Record<ListingName, Snapshot<unknown> | undefined>>,
    read: Readonly<Record<ListingName, boolean>>,
  ): readonly AgedListing[] {
    const all: AgedListing[] = [];
    if (read.chains) all.push({ name: 'chains', snapshot: of.chains, freshMs: chainsFreshMs });
    if (read.tokens) all.push({ name: 'tokens', snapshot: of.tokens, freshMs: tokensFreshMs });
    return all;
  }

  function view(client?: string): View {
    const pinnedChains = new PinnedSnapshot(chains);
    const pinnedTokens = new PinnedSnapshot(tokens);
    let madeRouteView: RouteView | undefined;
    const routeView = () => {
      madeRouteView ??= createRouteView({ ...ofAllRoutes, pinnedTokens, client });
      return madeRouteView;
    };
    return {
      now,
      chains: () => pinnedChains.read(),
      tokens: () => pinnedTokens.read(),
      untracked: () => ({ chains: pinnedChains.arrived, tokens: pinnedTokens.arrived }),
      async arrival(listings) {
        const pins = { chains: pinnedChains, tokens: pinnedTokens };
        await Promise.allSettled(listings.map((name) => pins[name].readUntracked()));
      },
      routeRequest: (filter) => routeView().requestFor(filter),
      cachedRoutes: (request) => routeView().cached(request),
      routes: (request) => routeView().tokens(request),
      readSnapshots: () => ({
        chains: pinnedChains.snapshotRead,
        tokens: pinnedTokens.snapshotRead,
        isMissing: pinnedChains.readFailed || pinnedTokens.readFailed,
        routesGoodUntil: madeRouteView?.goodUntil ?? Number.POSITIVE_INFINITY,
      }),
      staleReads(now) {
        const read = { chains: pinnedChains.snapshotRead, tokens: pinnedTokens.snapshotRead };
        const isRead = { chains: read.chains !== undefined, tokens: read.tokens !== undefined };
        return freshnessOf(aged(read, isRead), now).stale;
      },
    };
  }

  return {
    async restore() {
      await Promise.all([chains.restore(), tokens.restore()]);
    },
    start() {
      chains.start();
      tokens.start();
    },
    refreshNow() {
      chains.refreshNow();
      tokens.refreshNow();
    },
    now,
    view,
    current: () => ({ chains: chains.snapshot, tokens: tokens.snapshot }),
    freshness: (read, now) =>
      freshnessOf(aged({ chains: chains.snapshot, tokens: tokens.snapshot }, read), now),
    status: (now) => [
      statusOf(
        { name: 'chains', snapshot: chains.snapshot, freshMs: chainsFreshMs },
        { source: listing.source, lastFailure: chains.lastFailure, isHeldBack: chains.isHeldBack },
        now,
      ),
      statusOf(
        { name: 'tokens', snapshot: tokens.snapshot, freshMs: tokensFreshMs },
        { source: listing.source, lastFailure: tokens.lastFailure, isHeldBack: tokens.isHeldBack },
        now,
      ),
    ],
    stop() {
      chains.stop();
      tokens.stop();
    },
  };
}
