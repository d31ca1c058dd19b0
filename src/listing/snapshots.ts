import type { Logger } from '../logger.js';
import { ALONE, type Fleet } from './fleet.js';
import type { HoldBackRules } from './hold-back.js';
import { createKeeper, type Keeper } from './keeper.js';
import { CHAINS, TOKENS } from './kinds.js';
import type { Listing, ListingSource, Token, TokenFilter } from './listing.js';
import { createPin, type Pin } from './pin.js';
import { createRouteRows } from './route-rows.js';
import { createRouteView } from './route-view.js';
import { createRoutes } from './routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';
import type { DiskStore } from './store-disk.js';

/** What {@link createSnapshots} takes. Times are in milliseconds. */
export interface SnapshotsOptions extends HoldBackRules {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** The pause after a first failed refresh of a listing. */
  readonly firstPauseMs?: number | undefined;
  /** The gateways to share with; none unless given. */
  readonly fleet?: Fleet | undefined;
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
  untracked(): Current;
  /** Resolves when each of these listings is there or cannot be had. */
  arrival(listings: readonly StaleListing['name'][]): Promise<void>;
  /** The question as the upstream is to get it: the address of a listed token in its own writing of it. */
  routeQuestion(filter: TokenFilter): Promise<TokenFilter>;
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
  wasRead(): WasRead;
}

/** The snapshots that are served now; undefined where there is none yet. */
export interface Current {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** What one operation has read; undefined where it has not. */
export interface WasRead extends Current {
  /** Whether a listing was asked for that there is none of: what was answered without it is another with it. */
  readonly isMissing: boolean;
  /** Until when the routes in it are given without asking again (milliseconds since 1970). */
  readonly routesGoodUntil: number;
}

/** How a listing stands by its age: not there yet, up to its freshness, beyond it. */
export type ListingState = 'EMPTY' | 'FRESH' | 'STALE';

/** A listing beyond its freshness. */
export interface StaleListing {
  readonly name: 'chains' | 'tokens';
  readonly ageMs: number;
}

/** How some of the listings stand together. */
export interface ListingsStanding {
  readonly stale: readonly StaleListing[];
  /** How long until the first of them is stale, in milliseconds; 0 where one is, infinite for none. */
  readonly freshForMs: number;
  /** When the oldest of them was taken (milliseconds since 1970); infinite for none. */
  readonly takenAt: number;
}

/** How one of the two listings stands. Times are milliseconds since 1970. */
export interface ListingStatus {
  readonly name: 'chains' | 'tokens';
  readonly source: ListingSource;
  readonly state: ListingState;
  readonly takenAt: number | null;
  readonly ageMs: number | null;
  readonly rows: number;
  readonly rejectedRows: number;
  readonly version: string | null;
  /** Whether the upstream's last answer is held back, and an older snapshot served in its place. */
  readonly isHeldBack: boolean;
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: number } | null;
}

/** Everything the gateway holds of the upstream. */
export interface Snapshots {
  /** Takes up what was kept on disk. To be awaited before `start`. */
  restore(): Promise<void>;
  /** Begins to fetch both listings, and keeps them fresh from then on. */
  start(): void;
  /** Refreshes both listings now. */
  hurry(): void;
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
  current(): Current;
  /** How these listings stand together at this time (milliseconds since 1970). */
  standing(read: Readonly<Record<StaleListing['name'], boolean>>, now: number): ListingsStanding;
  /** How the two listings stand at this time (milliseconds since 1970). */
  status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus];
  /** Ends the refreshing. */
  stop(): void;
}

/** Puts snapshots between the graph and one service. */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { listing, chainsFreshMs, tokensFreshMs, destinationsFreshMs, log } = options;
  const {
    fleet = ALONE,
    disk,
    firstPauseMs,
    onRefresh = () => {},
    onConflictingRouteRows = () => {},
  } = options;
  const shared = {
    rules: options,
    fleet,
    disk,
    onSource: (source: ListingSource) => listing.follow?.(source),
    log,
    ...(firstPauseMs === undefined ? {} : { firstPauseMs }),
  };
  const chains = createKeeper({
    ...shared,
    kind: CHAINS,
    take: () => listing.chains(),
    index: createChainSnapshot,
    freshMs: chainsFreshMs,
    onRefresh: (...outcome) => onRefresh('chains', ...outcome),
  });
  const tokens = createKeeper({
    ...shared,
    kind: TOKENS,
    take: () => listing.tokens({}),
    index: createTokenSnapshot,
    freshMs: tokensFreshMs,
    onRefresh: (...outcome) => onRefresh('tokens', ...outcome),
  });
  const routes = createRoutes({ listing, fleet, freshMs: destinationsFreshMs, log });
  const routeRows = createRouteRows({ onConflicts: onConflictingRouteRows, log });

  const ofAllRoutes = { listing, tokensFreshMs, routes, routeRows, now, log };

  function now(): number {
    const { snapshot } = tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  function view(client?: string): View {
    const pinnedChains = createPin(chains);
    const pinnedTokens = createPin(tokens);
    const ofRoutes = createRouteView({ ...ofAllRoutes, pinnedTokens, client });
    return {
      now,
      chains: pinnedChains.read,
      tokens: pinnedTokens.read,
      untracked: () => ({ chains: pinnedChains.arrived, tokens: pinnedTokens.arrived }),
      async arrival(listings) {
        const pins = { chains: pinnedChains, tokens: pinnedTokens };
        await Promise.allSettled(listings.map((name) => pins[name].peek()));
      },
      routeQuestion: ofRoutes.question,
      isRouteKept: ofRoutes.isKept,
      routes: ofRoutes.tokens,
      wasRead: () => ({
        chains: pinnedChains.wasRead,
        tokens: pinnedTokens.wasRead,
        isMissing: pinnedChains.isMissed || pinnedTokens.isMissed,
        routesGoodUntil: ofRoutes.goodUntil,
      }),
      staleReads: (now) => [
        ...staleRead('chains', pinnedChains, chainsFreshMs, now),
        ...staleRead('tokens', pinnedTokens, tokensFreshMs, now),
      ],
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
    hurry() {
      chains.hurry();
      tokens.hurry();
    },
    now,
    view,
    current: () => ({ chains: chains.snapshot, tokens: tokens.snapshot }),
    standing(read, now) {
      let stale: readonly StaleListing[] = NONE;
      let freshForMs = Number.POSITIVE_INFINITY;
      let takenAt = Number.POSITIVE_INFINITY;
      for (const name of LISTINGS) {
        if (!read[name]) continue;
        const { snapshot } = name === 'chains' ? chains : tokens;
        const freshMs = name === 'chains' ? chainsFreshMs : tokensFreshMs;
        const ageMs = snapshot ? snapshot.ageAt(now) : Number.POSITIVE_INFINITY;
        if (stateAt(ageMs, freshMs) === 'STALE') stale = [...stale, { name, ageMs }];
        freshForMs = Math.min(freshForMs, Math.max(0, freshMs - ageMs));
        takenAt = Math.min(takenAt, snapshot?.takenAt ?? takenAt);
      }
      return { stale, freshForMs, takenAt };
    },
    status: (now) => [
      statusOf('chains', listing.source, chains, chainsFreshMs, now),
      statusOf('tokens', listing.source, tokens, tokensFreshMs, now),
    ],
    stop() {
      chains.stop();
      tokens.stop();
    },
  };
}

const LISTINGS = ['chains', 'tokens'] as const;
const NONE: readonly StaleListing[] = [];

function staleRead(
  name: StaleListing['name'],
  { wasRead }: Pin<Snapshot<unknown>>,
  freshMs: number,
  now: number,
): readonly StaleListing[] {
  if (!wasRead) return [];
  const ageMs = wasRead.ageAt(now);
  return stateAt(ageMs, freshMs) === 'STALE' ? [{ name, ageMs }] : [];
}

function stateAt(ageMs: number, freshMs: number): 'FRESH' | 'STALE' {
  return ageMs <= freshMs ? 'FRESH' : 'STALE';
}

function statusOf(
  name: ListingStatus['name'],
  source: ListingSource,
  { snapshot, lastFailure, isHeldBack }: Keeper<Snapshot<unknown>>,
  freshMs: number,
  now: number,
): ListingStatus {
  const ageMs = snapshot ? snapshot.ageAt(now) : null;
  return {
    name,
    source: snapshot?.source ?? source,
    state: ageMs === null ? 'EMPTY' : stateAt(ageMs, freshMs),
    takenAt: snapshot?.takenAt ?? null,
    ageMs,
    rows: snapshot?.rows.length ?? 0,
    rejectedRows: snapshot?.rejected.count ?? 0,
    version: snapshot?.version ?? null,
    isHeldBack,
    lastFailure: lastFailure
      ? { code: lastFailure.error.code, message: lastFailure.error.message, at: lastFailure.at }
      : null,
  };
}
