import type { Logger } from '../logger.js';
import { isNativePlaceholder, NATIVE_PLACEHOLDER } from './address.js';
import { createKeeper, type Keeper } from './keeper.js';
import type { Listing, ListingSource, Token, TokenFilter } from './listing.js';
import { createRoutes } from './routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';

/** What {@link createSnapshots} takes. Times are in milliseconds. */
export interface SnapshotsOptions {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** The pause after a first failed refresh of a listing. */
  readonly firstPauseMs?: number;
  readonly log: Logger;
}

/**
 * The state of the world that one operation reads. Once it has given a snapshot it gives the same one to
 * its end, whatever is refreshed meanwhile.
 */
export interface View {
  /** At once where a snapshot is at hand; rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot>;
  /** At once where a snapshot is at hand; rejects with an UpstreamError. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot>;
  /** The question as the upstream is to get it: the address of a listed token in its own writing of it. */
  routeQuestion(filter: TokenFilter): Promise<TokenFilter>;
  /** Whether this question's answer is at hand. */
  isRouteKept(question: TokenFilter): boolean;
  /** The upstream's own answer to the question; rejects with an UpstreamError. */
  routes(question: TokenFilter): Promise<readonly Token[]>;
}

/** How a listing stands by its age: not there yet, up to its freshness, beyond it. */
export type ListingState = 'EMPTY' | 'FRESH' | 'STALE';

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
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: number } | null;
}

/** Everything the gateway holds of the upstream. */
export interface Snapshots {
  /** Begins to fetch both listings, and keeps them fresh from then on. */
  start(): void;
  /** What one operation reads; make one for each. */
  view(): View;
  /** How the two listings stand at this time (milliseconds since 1970). */
  status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus];
  /** Ends the refreshing. */
  stop(): void;
}

/** Puts snapshots between the graph and one service. */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { listing, chainsFreshMs, tokensFreshMs, destinationsFreshMs, firstPauseMs, log } = options;
  const shared = { log, ...(firstPauseMs === undefined ? {} : { firstPauseMs }) };
  const chains = createKeeper({
    ...shared,
    name: 'chains',
    freshMs: chainsFreshMs,
    take: async () => createChainSnapshot(await listing.chains()),
  });
  const tokens = createKeeper({
    ...shared,
    name: 'tokens',
    freshMs: tokensFreshMs,
    take: async () => createTokenSnapshot(await listing.tokens({})),
  });
  const routes = createRoutes({ listing, freshMs: destinationsFreshMs, log });

  function view(): View {
    const pinnedTokens = pin(tokens);
    return {
      chains: pin(chains),
      tokens: pinnedTokens,
      async routeQuestion(filter) {
        const { srcChainKey, srcToken } = filter;
        if (srcToken === undefined) return filter;
        const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
        if (srcChainKey === undefined) return { srcToken: asGiven };
        // Without a listing the question goes out as it came: an answer may still be had.
        const listed = await Promise.resolve(pinnedTokens()).catch(() => undefined);
        return { srcChainKey, srcToken: listed?.byAddress(srcChainKey, srcToken)?.address ?? asGiven };
      },
      isRouteKept: routes.isKept,
      routes: routes.tokens,
    };
  }

  return {
    start() {
      chains.start();
      tokens.start();
    },
    view,
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

function pin<Kept extends object>(keeper: Keeper<Kept>): () => Kept | Promise<Kept> {
  let pinned: Kept | Promise<Kept> | undefined = keeper.snapshot;
  return () => {
    if (pinned === undefined) {
      pinned = keeper.current();
      // Whoever awaits it sees the failure; until somebody does, it is not to count as unhandled.
      if (pinned instanceof Promise) pinned.catch(() => {});
    }
    return pinned;
  };
}

function statusOf(
  name: ListingStatus['name'],
  source: ListingSource,
  { snapshot, lastFailure }: Keeper<Snapshot<unknown>>,
  freshMs: number,
  now: number,
): ListingStatus {
  const ageMs = snapshot ? Math.max(0, now - snapshot.takenAt) : null;
  return {
    name,
    source,
    state: ageMs === null ? 'EMPTY' : ageMs <= freshMs ? 'FRESH' : 'STALE',
    takenAt: snapshot?.takenAt ?? null,
    ageMs,
    rows: snapshot?.rows.length ?? 0,
    rejectedRows: snapshot?.rejected.count ?? 0,
    version: snapshot?.version ?? null,
    lastFailure: lastFailure
      ? { code: lastFailure.error.code, message: lastFailure.error.message, at: lastFailure.at }
      : null,
  };
}
