import { isNativePlaceholder, NATIVE_PLACEHOLDER } from '../../domain/addresses.js';
import type { Listing, Token, TokenFilter } from '../../domain/listing.js';
import type { Logger } from '../../logger.js';
import type { PinnedSnapshot } from '../pinned-snapshot.js';
import type { TokenSnapshot } from '../snapshot.js';
import { isListed } from './listed-addresses.js';
import { createUnlistedRows, type RouteRows } from './route-rows.js';
import type { Routes } from './routes.js';

/** What {@link createRouteView} takes. */
export interface RouteViewOptions {
  readonly listing: Pick<Listing, 'source'>;
  /** The token listing that the operation reads. */
  readonly pinnedTokens: PinnedSnapshot<TokenSnapshot>;
  /** How long the token listing is fresh, in milliseconds. */
  readonly tokensFreshMs: number;
  readonly routes: Routes;
  readonly routeRows: RouteRows;
  /** Who asks; undefined is one client like any other. */
  readonly client: string | undefined;
  /** The present (milliseconds since 1970). */
  readonly now: () => number;
  readonly log: Logger;
}

/** What one operation sees of routes: the upstream's answers, in agreement with the listing that it reads. */
export interface RouteView {
  /** The question as the upstream is to get it: the address of a listed token in its own writing of it. */
  question(filter: TokenFilter): Promise<TokenFilter>;
  /** Whether the answer is at hand, so that it costs the upstream nothing. */
  isKept(question: TokenFilter): boolean;
  /** The answer; rejects with an UpstreamError. */
  tokens(question: TokenFilter): Promise<readonly Token[]>;
  /** Until when the answers so far are given without asking again (milliseconds since 1970). */
  readonly goodUntil: number;
}

/** Makes it; one for each operation. */
export function createRouteView(options: RouteViewOptions): RouteView {
  const { listing, pinnedTokens, tokensFreshMs, routes, routeRows, client, now, log } = options;
  const unlistedRows = createUnlistedRows();
  let goodUntil = Number.POSITIVE_INFINITY;

  /** The pinned listing; undefined where there is none. It is not counted as read. */
  async function listingFor({ srcChainKey }: TokenFilter): Promise<TokenSnapshot | undefined> {
    // A token without its chain goes out as it is: nothing of the listing is needed for that.
    const pinned =
      srcChainKey === undefined ? pinnedTokens.readUntrackedIfPresent() : pinnedTokens.readUntracked();
    return Promise.resolve(pinned).catch(() => undefined);
  }

  /** For how long (milliseconds) the listing is the answer: while it is fresh and has no such token. */
  function unlistedForMs(tokens: TokenSnapshot, question: TokenFilter): number {
    // This service cannot be asked of an address alone, which its own error is to say.
    const isUnanswerable = question.srcChainKey === undefined && listing.source === 'value-transfer';
    if (isUnanswerable || isListed(tokens, question)) return 0;
    return Math.max(0, tokensFreshMs - tokens.ageAt(Date.now()));
  }

  /** The rows as they are served beside the listing that the operation reads. */
  function reconciled(
    rows: readonly Token[],
    tokens: TokenSnapshot | undefined,
    question: TokenFilter,
  ): readonly Token[] {
    if (tokens) pinnedTokens.read();
    // With a listing it would be another answer.
    else goodUntil = 0;
    return unlistedRows.agree(routeRows.reconcile(rows, tokens, question));
  }

  return {
    async question(filter) {
      const { srcChainKey, srcToken } = filter;
      if (srcToken === undefined) return filter;
      const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
      if (srcChainKey === undefined) return { srcToken: asGiven };
      // Without a listing the question goes out as it came: an answer may still be had.
      const tokens = await listingFor(filter);
      return { srcChainKey, srcToken: tokens?.byAddress(srcChainKey, srcToken)?.address ?? asGiven };
    },
    isKept(question) {
      if (routes.isKept(question)) return true;
      const tokens = pinnedTokens.readUntrackedIfPresent();
      return tokens !== undefined && !(tokens instanceof Promise) && unlistedForMs(tokens, question) > 0;
    },
    async tokens(question) {
      const tokens = await listingFor(question);
      const unlistedMs = tokens ? unlistedForMs(tokens, question) : 0;
      if (unlistedMs > 0) {
        log.debug({ ...question }, 'No routes, without asking: the token is not listed');
        pinnedTokens.read();
        goodUntil = Math.min(goodUntil, now() + unlistedMs);
        return NONE;
      }
      const asker = { client, isListed: tokens !== undefined && isListed(tokens, question) };
      const rows = await routes.tokens(question, asker);
      goodUntil = Math.min(goodUntil, routes.goodUntil(question));
      // An empty answer depends on no listing.
      if (rows.length === 0) return rows;
      return reconciled(rows, tokens ?? (await listingFor(question)), question);
    },
    get goodUntil() {
      return goodUntil;
    },
  };
}

const NONE: readonly Token[] = Object.freeze([]);
