import { isIdentifiedBy, parseCaip19 } from '../domain/caip.js';
import type { Chain, Token } from '../domain/listing.js';
import type { FoundTokens } from '../search/suggestions/did-you-mean.js';
import { needsChains, type TokenSearchRequest } from '../search/token-search.js';
import type { ListingChanges } from '../snapshots/history/change-log.js';
import type { RouteAnswer } from '../snapshots/routes/routes.js';
import type { ChainSnapshot, TokenSnapshot } from '../snapshots/snapshot.js';
import type { TokenSources } from '../snapshots/sources/sources.js';
import type { View } from '../snapshots/view/operation-view.js';
import { searchUnits } from './cost.js';
import type { DependencyTracker } from './dependency-tracker.js';
import { LateReads } from './late-reads.js';
import { type MaybePromise, WOULD_WAIT, whenReady } from './maybe-promise.js';
import { type RouteFilter, RouteReads, type RouteReadsOptions } from './route-reads.js';

export interface LoadersOptions extends RouteReadsOptions {
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  readonly tracker: Pick<DependencyTracker, 'noteRoutes'>;
}

/**
 * The reads of one operation, batched and without repeats. Each is named after its result, and throws or rejects
 * with a GatewayError. While the snapshots are at hand none returns a promise: a list of 10,000 tokens must not cost
 * 10,000 promises. Make new ones for every operation.
 */
export interface Loaders {
  /** The chain listing, searched. */
  chainsBySearch(search: string, chainTypes?: readonly string[]): MaybePromise<readonly Chain[]>;
  /** The chain with this key, in any letter case. */
  chainByKey(chainKey: string): MaybePromise<Chain | null>;
  /** The chain with exactly this CAIP-2 identifier; null if it is unknown or malformed. */
  chainByCaip2(caip2: string): MaybePromise<Chain | null>;
  /** The token at this address; in any writing of both. */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null>;
  /** The token with this CAIP-19 identifier; null if it is unknown or malformed. */
  tokenByCaip19(caip19: string): MaybePromise<Token | null>;
  /** The token listing, or its tokens on one chain. */
  tokensListed(srcChainKey: string | undefined): MaybePromise<readonly Token[]>;
  /**
   * The upstream's answer to a route request. Empty once too many were refused: none of the operation's data is
   * shown then.
   *
   * @throws GatewayError ROUTE_BUDGET_EXCEEDED, synchronously
   */
  routesFrom(filter: RouteFilter): MaybePromise<RouteAnswer>;
  /** How many tokens are listed on one chain. */
  tokenCountByChain(chainKey: string): MaybePromise<number>;
  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): MaybePromise<FoundTokens>;
  /** How the chain listing differs from an earlier state; from none without a cursor. */
  chainChanges(since: string | undefined): MaybePromise<ListingChanges<Chain>>;
  /** How the token listing differs from an earlier state, prices left out; from none without a cursor. */
  tokenChanges(since: string | undefined): MaybePromise<ListingChanges<Token>>;
  /** What can reach this token, as far as it is known; null if routes are not swept. It never asks the upstream. */
  sourcesOf(chainKey: string, address: string): MaybePromise<TokenSources | null>;
}

/** Makes the loaders of one operation. */
export function createLoaders(options: LoadersOptions): Loaders {
  return new OperationLoaders(options);
}

/** A class, since one is made for every operation, and most operations need a few of its methods. */
class OperationLoaders implements Loaders {
  private readonly view: View;
  /** For listings without a snapshot. */
  private madeLateReads: LateReads | undefined;
  private madeRouteReads: RouteReads | undefined;

  constructor(private readonly options: LoadersOptions) {
    this.view = options.view;
  }

  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): MaybePromise<FoundTokens> {
    const chains = this.chainsFor(request);
    return this.readTokens((tokens) => {
      this.options.cost.spend(searchUnits(tokens.rows.length, request.query));
      const searchRequest = { ...request, pricesUsable: this.options.isPriceFresh(tokens.takenAt) };
      return whenReady(chains, (known) => tokens.search(searchRequest, known));
    });
  }

  routesFrom(filter: RouteFilter): MaybePromise<RouteAnswer> {
    this.options.tracker.noteRoutes();
    this.madeRouteReads ??= new RouteReads(this.options);
    return this.madeRouteReads.routesFrom(filter);
  }

  chainsBySearch(search: string, chainTypes?: readonly string[]): MaybePromise<readonly Chain[]> {
    return this.readChains((chains) => {
      const isSearch = search !== '' || chainTypes !== undefined;
      if (isSearch) this.options.cost.spend(searchUnits(chains.rows.length, search));
      return chains.matching(search, chainTypes);
    });
  }

  chainByKey(chainKey: string): MaybePromise<Chain | null> {
    const chains = this.view.chains();
    if (chains instanceof Promise) return this.wait(chains, (late) => late.chainByKey(chainKey));
    return chains.byKey(chainKey) ?? null;
  }

  chainByCaip2(caip2: string): MaybePromise<Chain | null> {
    return this.readChains((chains) => chains.byCaip2(caip2) ?? null);
  }

  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null> {
    const tokens = this.view.tokens();
    if (tokens instanceof Promise) return this.wait(tokens, (late) => late.tokenByAddress(chainKey, address));
    return tokens.byAddress(chainKey, address) ?? null;
  }

  tokenByCaip19(caip19: string): MaybePromise<Token | null> {
    const parts = parseCaip19(caip19);
    if (!parts) return null;
    return whenReady(this.chainByCaip2(parts.caip2), (chain) => {
      if (!chain) return null;
      const found = this.tokenByAddress(chain.chainKey, parts.address);
      return whenReady(found, (token) => (token && isIdentifiedBy(parts, chain, token) ? token : null));
    });
  }

  tokensListed(chainKey: string | undefined): MaybePromise<readonly Token[]> {
    return this.readTokens((tokens) => (chainKey === undefined ? tokens.rows : tokens.byChain(chainKey)));
  }

  tokenCountByChain(chainKey: string): MaybePromise<number> {
    return whenReady(this.tokensListed(chainKey), ({ length }) => length);
  }

  chainChanges(since: string | undefined): MaybePromise<ListingChanges<Chain>> {
    return this.readChains((chains) => chains.changesSince(since));
  }

  tokenChanges(since: string | undefined): MaybePromise<ListingChanges<Token>> {
    return this.readTokens((tokens) => tokens.changesSince(since));
  }

  sourcesOf(chainKey: string, address: string): MaybePromise<TokenSources | null> {
    const { view } = this;
    this.options.tracker.noteRoutes();
    return view.isSwept ? this.readTokens((tokens) => view.sources(tokens, chainKey, address)) : null;
  }

  /** A filter on types needs the chain listing. Names only improve a search, which goes on without them. */
  private chainsFor(request: Pick<TokenSearchRequest, 'query' | 'filter'>) {
    if (!needsChains(request)) return undefined;
    const chains = this.view.chains();
    if (!(chains instanceof Promise)) return chains;
    return this.wait(chains, () => (request.filter.chainTypes ? chains : chains.catch(() => undefined)));
  }

  private readChains<Result>(use: (chains: ChainSnapshot) => Result): MaybePromise<Result> {
    const chains = this.view.chains();
    return chains instanceof Promise ? this.wait(chains, (late) => late.chains().then(use)) : use(chains);
  }

  private readTokens<Result>(use: (tokens: TokenSnapshot) => MaybePromise<Result>): MaybePromise<Result> {
    const tokens = this.view.tokens();
    return tokens instanceof Promise ? this.wait(tokens, (late) => late.tokens().then(use)) : use(tokens);
  }

  /** @param load reads from a listing that has no snapshot */
  private wait<Result>(
    arrival: Promise<unknown>,
    load: (late: LateReads) => Promise<Result>,
  ): Promise<Result> {
    const { refuseToWait } = this.options;
    if (refuseToWait) {
      refuseToWait(arrival);
      throw WOULD_WAIT;
    }
    this.madeLateReads ??= new LateReads(this.options);
    return load(this.madeLateReads);
  }
}
