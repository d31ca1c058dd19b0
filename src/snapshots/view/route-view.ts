import {
  foldAddress,
  foldChainKey,
  isNativePlaceholder,
  NATIVE_PLACEHOLDER,
} from '../../domain/addresses.js';
import type { Listing, Token, TokenFilter } from '../../domain/listing.js';
import type { ResolvedRules } from '../../domain/listing-rules.js';
import type { Logger } from '../../logger.js';
import { createAgreement, type Reconcile } from '../routes/route-rows.js';
import type { RouteAnswer, Routes } from '../routes/routes.js';
import type { TokenSnapshot } from '../snapshot.js';
import type { PinnedSnapshot } from './pinned-snapshot.js';

export interface RouteViewOptions {
  readonly listing: Pick<Listing, 'source'>;
  /** The token listing that the operation reads. */
  readonly pinnedTokens: PinnedSnapshot<TokenSnapshot>;
  /** How long the token listing is fresh, in milliseconds. */
  readonly tokensFreshMs: number;
  readonly routes: Routes;
  readonly reconcile: Reconcile;
  /** The operator's rules now. */
  readonly operator: () => Pick<ResolvedRules, 'hides'>;
  /** The address of the client; undefined if unknown. */
  readonly client: string | undefined;
  /** The present (milliseconds since 1970). */
  readonly now: () => number;
  readonly log: Logger;
}

/** The routes as one operation sees them: the upstream's answers, made to agree with the listing that it reads. */
export interface RouteView {
  /** The request as the upstream gets it: a listed chain's key and token's address are spelled as the upstream spells them. */
  routeRequest(filter: TokenFilter): Promise<TokenFilter>;
  /** The routes, if they can be had at once and without the upstream; undefined otherwise. As `routes`. */
  cachedRoutes(filter: TokenFilter): RouteAnswer | undefined;
  /**
   * The upstream's own answer, with each row as the token listing has it. While the listing is fresh and lacks the
   * token, there are no routes, and the upstream is not asked. Rejects with an UpstreamError.
   */
  routes(request: TokenFilter): Promise<RouteAnswer>;
  /** What the response depends on so far. */
  read(): RoutesRead;
}

/** The routes that one operation has read. Times are in milliseconds since 1970. */
export interface RoutesRead {
  /** Until when all of them stay cached. */
  readonly goodUntil: number;
  /** `takenAt` of the oldest; undefined if there is none. */
  readonly takenAt: number | undefined;
  /** See {@link Routes.evictions}. */
  readonly evictions: number;
  /** The operator's rules when the first routes were read: they also apply to rows that the token listing lacks. */
  readonly rules: object;
}

/** Creates the view of one operation. */
export function createRouteView(options: RouteViewOptions): RouteView {
  const { listing, pinnedTokens, tokensFreshMs, routes, reconcile, operator, client, now, log } = options;
  const rules = operator();
  const agree = createAgreement();
  const evictions = routes.evictions();
  let goodUntil = Number.POSITIVE_INFINITY;
  let oldestAt = Number.POSITIVE_INFINITY;

  /** The pinned listing, untracked; undefined if there is none. */
  async function listingFor({ srcChainKey }: TokenFilter): Promise<TokenSnapshot | undefined> {
    // A token without a chain is sent as it is, which needs no listing.
    const pinned =
      srcChainKey === undefined ? pinnedTokens.readUntrackedIfPresent() : pinnedTokens.readUntracked();
    return Promise.resolve(pinned).catch(() => undefined);
  }

  /**
   * For how long (milliseconds) it is known that there are no routes: the listing is fresh and lacks the token, or the
   * operator hides it.
   */
  function unlistedForMs(tokens: TokenSnapshot | undefined, request: TokenFilter): number {
    const { srcChainKey: chainKey, srcToken: address } = request;
    if (chainKey !== undefined && address !== undefined && rules.hides({ chainKey, address }))
      return tokensFreshMs;
    if (!tokens) return 0;
    // The value-transfer service does not support this: the client gets its error, and not an empty list.
    const isUnanswerable = request.srcChainKey === undefined && listing.source === 'value-transfer';
    if (isUnanswerable || isListed(tokens, request)) return 0;
    return Math.max(0, tokensFreshMs - tokens.ageAt(Date.now()));
  }

  /** Notes that the response depends on this answer. */
  function noteRead({ takenAt }: RouteAnswer, request: TokenFilter): void {
    goodUntil = Math.min(goodUntil, routes.goodUntil(request));
    oldestAt = Math.min(oldestAt, takenAt);
  }

  /** The answer as it is served beside the operation's listing. */
  function reconciled(
    answer: RouteAnswer,
    tokens: TokenSnapshot | undefined,
    request: TokenFilter,
  ): RouteAnswer {
    if (tokens) pinnedTokens.read();
    // The response would differ with a listing.
    else goodUntil = 0;
    return { ...answer, rows: agree(reconcile(answer.rows, tokens, request)) };
  }

  /** The key as rows have it, and the address as the upstream writes it. Without a listing the address is sent as given. */
  function requestWith(
    tokens: TokenSnapshot | undefined,
    { srcChainKey: asked, srcToken }: TokenFilter,
  ): TokenFilter {
    const srcChainKey = asked && foldChainKey(asked);
    if (srcToken === undefined) return { srcChainKey };
    const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
    if (srcChainKey === undefined) return { srcToken: asGiven };
    return { srcChainKey, srcToken: tokens?.byAddress(srcChainKey, srcToken)?.address ?? asGiven };
  }

  /** No routes, if it is known that there are none. */
  function noneIfUnlisted(tokens: TokenSnapshot | undefined, request: TokenFilter): RouteAnswer | undefined {
    const unlistedMs = unlistedForMs(tokens, request);
    if (unlistedMs === 0) return undefined;
    log.debug({ ...request }, 'No routes, without asking: the token is not listed');
    if (tokens) pinnedTokens.read();
    goodUntil = Math.min(goodUntil, now() + unlistedMs);
    return { rows: NONE, takenAt: tokens?.takenAt ?? now() };
  }

  return {
    routeRequest: async (filter) => requestWith(await listingFor(filter), filter),
    cachedRoutes(filter) {
      const tokens = pinnedTokens.readUntrackedIfPresent();
      if (!tokens || tokens instanceof Promise) return undefined;
      const request = requestWith(tokens, filter);
      const none = noneIfUnlisted(tokens, request);
      if (none) return none;
      const answer = routes.cached(request);
      if (!answer) return undefined;
      noteRead(answer, request);
      // An empty answer depends on no listing.
      return answer.rows.length === 0 ? answer : reconciled(answer, tokens, request);
    },
    async routes(request) {
      const tokens = await listingFor(request);
      const none = noneIfUnlisted(tokens, request);
      if (none) return none;
      const answer = await routes.tokens(request, client, tokens !== undefined && isListed(tokens, request));
      noteRead(answer, request);
      if (answer.rows.length === 0) return answer;
      return reconciled(answer, tokens ?? (await listingFor(request)), request);
    },
    read: () => ({ goodUntil, takenAt: Number.isFinite(oldestAt) ? oldestAt : undefined, evictions, rules }),
  };
}

const NONE: readonly Token[] = Object.freeze([]);

/** The folded addresses of a listing, by its indexes, which snapshots that differ only in prices share. */
const listedAddresses = new WeakMap<TokenSnapshot['indexes'], ReadonlySet<string>>();

/** Whether the listing has the token that the routes start from. Without a chain, a token on any chain counts. */
function isListed(listing: TokenSnapshot, { srcChainKey, srcToken }: TokenFilter): boolean {
  if (srcToken === undefined) return false;
  if (srcChainKey !== undefined) return listing.byAddress(srcChainKey, srcToken) !== undefined;
  const { rows, indexes } = listing;
  const addresses = listedAddresses.get(indexes) ?? new Set(rows.map(({ address }) => foldAddress(address)));
  listedAddresses.set(indexes, addresses);
  return addresses.has(foldAddress(srcToken));
}
