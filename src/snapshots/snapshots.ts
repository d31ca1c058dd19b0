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
import { pinSnapshot } from './pinned-snapshot.js';
import { createRefresher } from './refresher.js';
import { createRouteRows } from './routes/route-rows.js';
import { createRouteView } from './routes/route-view.js';
import { createRoutes } from './routes/routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';

/** What {@link createSnapshots} takes. Times are in milliseconds. */
export interface SnapshotsOptions extends HoldBackRules {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** The pause after a first failed refresh of a listing. */
  readonly firstPauseMs?: number | undefined;
  /** The gateways to share with; none unless given. */
  readonly peers?: Peers | undefined;
  /** Where the listings outlive the process; nowhere unless given. */
  readonly disk?: DiskStore | undefined;
  /** Called at the end of each refresh: `taken`, `shared`, `held_back` and for what, or an error's code. */
  readonly onRefresh?: (listing: string, outcome: string, heldBackFor: readonly string[]) => void;
  /** Called when routes are left out that disagree with the token listing, with how many. */
  readonly onConflictingRouteRows?: (count: number) => void;
  readonly log: Logger;
}

/**
 * The state of the world that one operation reads. Once it has given a snapshot it gives the same one to
 * its end, whatever is refreshed meanwhile.
 */
export interface View {
  /** As {@link Snapshots.now}. */
  now(): number;
  /** At once where a snapshot is at hand; rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot>;
  /** At once where a snapshot is at hand; rejects with an UpstreamError. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot>;
  /** The snapshots that this operation reads, as far as they are there; a look that shows nowhere in the answer. */
  untracked(): ServedSnapshots;
  /** Resolves when each of these listings is there or cannot be had. */
  arrival(listings: readonly ListingName[]): Promise<void>;
  /** The question as the upstream is to get it: the address of a listed token in its own writing of it. */
  routeRequest(filter: TokenFilter): Promise<TokenFilter>;
  /** Whether this question's answer is at hand, so that it costs the upstream nothing. */
  isRouteKept(question: TokenFilter): boolean;
  /**
   * The upstream's own answer to the question, with each row as the token listing has it; none, without asking,
   * while the listing is fresh and has no such token. Rejects with an UpstreamError.
   */
  routes(question: TokenFilter): Promise<readonly Token[]>;
  /**
   * Which of the snapshots given so far are stale at this time (milliseconds since 1970). What is read only
   * to put a question to the upstream is not among them: nothing of it is in the answer.
   */
  staleReads(now: number): readonly StaleListing[];
  /** What was given so far. */
  readSnapshots(): ReadSnapshots;
}

/** The snapshots that are served now; undefined where there is none yet. */
export interface ServedSnapshots {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** What one operation has read; undefined where it has not. */
export interface ReadSnapshots extends ServedSnapshots {
  /** Whether a listing was asked for that there is none of: what was answered without it is another with it. */
  readonly isMissing: boolean;
  /** Until when the routes in it are given without asking again (milliseconds since 1970). */
  readonly routesGoodUntil: number;
}

/** Everything the gateway holds of the upstream. */
export interface Snapshots {
  /** Takes up what was kept on disk. To be awaited before `start`. */
  restore(): Promise<void>;
  /** Begins to fetch both listings, and keeps them fresh from then on. */
  start(): void;
  /** Refreshes both listings now. */
  refreshNow(): void;
  /**
   * The time by which prices are to be judged (milliseconds since 1970): the present, or later where the
   * clock was set back since the token listing was taken.
   */
  now(): number;
  /**
   * What one operation reads; make one for each.
   *
   * @param client who asks, for sharing the upstream fairly; undefined is one client like any other
   */
  view(client?: string): View;
  current(): ServedSnapshots;
  /** How fresh these listings are together at this time (milliseconds since 1970). */
  freshness(read: Readonly<Record<ListingName, boolean>>, now: number): Freshness;
  /** The status of the two listings at this time (milliseconds since 1970). */
  status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus];
  /** Ends the refreshing. */
  stop(): void;
}

/** Puts snapshots between the graph and one service. */
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

  /** Those of the two listings that were read. */
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
    const pinnedChains = pinSnapshot(chains);
    const pinnedTokens = pinSnapshot(tokens);
    const ofRoutes = createRouteView({ ...ofAllRoutes, pinnedTokens, client });
    return {
      now,
      chains: pinnedChains.read,
      tokens: pinnedTokens.read,
      untracked: () => ({ chains: pinnedChains.arrived, tokens: pinnedTokens.arrived }),
      async arrival(listings) {
        const pins = { chains: pinnedChains, tokens: pinnedTokens };
        await Promise.allSettled(listings.map((name) => pins[name].readUntracked()));
      },
      routeRequest: ofRoutes.question,
      isRouteKept: ofRoutes.isKept,
      routes: ofRoutes.tokens,
      readSnapshots: () => ({
        chains: pinnedChains.snapshotRead,
        tokens: pinnedTokens.snapshotRead,
        isMissing: pinnedChains.readFailed || pinnedTokens.readFailed,
        routesGoodUntil: ofRoutes.goodUntil,
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
