import { foldAddress, isNativePlaceholder, NATIVE_PLACEHOLDER } from '../../domain/addresses.js';
import { listedKey } from '../../domain/chain-keys.js';
import type { Listing, Token, TokenFilter } from '../../domain/listing.js';
import type { Logger } from '../../logger.js';
import { createAgreement, type Reconcile } from '../routes/route-rows.js';
import type { Routes } from '../routes/routes.js';
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
  cachedRoutes(filter: TokenFilter): readonly Token[] | undefined;
  /**
   * The upstream's own answer, with each row as the token listing has it. While the listing is fresh and lacks the
   * token, there are no routes, and the upstream is not asked. Rejects with an UpstreamError.
   */
  routes(request: TokenFilter): Promise<readonly Token[]>;
  /** Until when the routes so far stay cached (milliseconds since 1970). */
  goodUntil(): number;
}

/** Creates the view of one operation. */
export function createRouteView(options: RouteViewOptions): RouteView {
  const { listing, pinnedTokens, tokensFreshMs, routes, reconcile, client, now, log } = options;
  const agree = createAgreement();
  let goodUntil = Number.POSITIVE_INFINITY;

  /** The pinned listing, untracked; undefined if there is none. */
  async function listingFor({ srcChainKey }: TokenFilter): Promise<TokenSnapshot | undefined> {
    // A token without a chain is sent as it is, which needs no listing.
    const pinned =
      srcChainKey === undefined ? pinnedTokens.readUntrackedIfPresent() : pinnedTokens.readUntracked();
    return Promise.resolve(pinned).catch(() => undefined);
  }

  /** For how long (milliseconds) the listing shows that there are no routes: it is fresh and lacks the token. */
  function unlistedForMs(tokens: TokenSnapshot, request: TokenFilter): number {
    // The value-transfer service does not support this: the client gets its error, and not an empty list.
    const isUnanswerable = request.srcChainKey === undefined && listing.source === 'value-transfer';
    if (isUnanswerable || isListed(tokens, request)) return 0;
    return Math.max(0, tokensFreshMs - tokens.ageAt(Date.now()));
  }

  /** The rows as they are served beside the operation's listing. */
  function reconciled(
    rows: readonly Token[],
    tokens: TokenSnapshot | undefined,
    request: TokenFilter,
  ): readonly Token[] {
    if (tokens) pinnedTokens.read();
    // The response would differ with a listing.
    else goodUntil = 0;
    return agree(reconcile(rows, tokens, request));
  }

  /** Key and address as the upstream writes them. Without a listing the request is sent as it came. */
  function requestWith(
    tokens: TokenSnapshot | undefined,
    { srcChainKey: asked, srcToken }: TokenFilter,
  ): TokenFilter {
    const srcChainKey = asked && tokens ? (listedKey(tokens.rowsByChain, asked) ?? asked) : asked;
    if (srcToken === undefined) return { srcChainKey };
    const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
    if (srcChainKey === undefined) return { srcToken: asGiven };
    return { srcChainKey, srcToken: tokens?.byAddress(srcChainKey, srcToken)?.address ?? asGiven };
  }

  /** No routes, if the listing shows that there are none. */
  function noneIfUnlisted(tokens: TokenSnapshot, request: TokenFilter): readonly Token[] | undefined {
    const unlistedMs = unlistedForMs(tokens, request);
    if (unlistedMs === 0) return undefined;
    log.debug({ ...request }, 'No routes, without asking: the token is not listed');
    pinnedTokens.read();
    goodUntil = Math.min(goodUntil, now() + unlistedMs);
    return NONE;
  }

  return {
    routeRequest: async (filter) => requestWith(await listingFor(filter), filter),
    cachedRoutes(filter) {
      const tokens = pinnedTokens.readUntrackedIfPresent();
      if (!tokens || tokens instanceof Promise) return undefined;
      const request = requestWith(tokens, filter);
      const none = noneIfUnlisted(tokens, request);
      if (none) return none;
      const rows = routes.cached(request);
      if (!rows) return undefined;
      goodUntil = Math.min(goodUntil, routes.goodUntil(request));
      // An empty answer depends on no listing.
      return rows.length === 0 ? rows : reconciled(rows, tokens, request);
    },
    async routes(request) {
      const tokens = await listingFor(request);
      const none = tokens && noneIfUnlisted(tokens, request);
      if (none) return none;
      const rows = await routes.tokens(request, client, tokens !== undefined && isListed(tokens, request));
      goodUntil = Math.min(goodUntil, routes.goodUntil(request));
      if (rows.length === 0) return rows;
      return reconciled(rows, tokens ?? (await listingFor(request)), request);
    },
    goodUntil: () => goodUntil,
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
