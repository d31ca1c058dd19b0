/**
 * The reads of one operation, without repeats. Each method is named after its result, and throws or rejects with a
 * GatewayError. If the snapshot is loaded, the method returns a value and not a promise: a list of 10,000 tokens must
 * not cost 10,000 promises.
 */
import DataLoader from 'dataloader';
import { tokenRequestKey } from '../domain/addresses.js';
import { isIdentifiedBy, parseCaip19 } from '../domain/caip.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { Chain, Token, TokenRequest } from '../domain/listing.js';
import type { FoundTokens } from '../search/did-you-mean.js';
import { needsChains, type TokenSearchRequest } from '../search/token-search.js';
import type { ListingChanges } from '../snapshots/change-log.js';
import type { IndexedListings, ListingName } from '../snapshots/listings.js';
import type { View } from '../snapshots/operation-view.js';
import type { RouteAnswer } from '../snapshots/routes.js';
import type { ChainSnapshot } from '../snapshots/snapshot.js';
import type { TokenSources } from '../snapshots/sources.js';
import { type CostMeter, ROUTE_UNITS, searchUnits } from './cost.js';
import type { DependencyTracker } from './dependency-tracker.js';
import { awaitAndYield, type MaybePromise, WOULD_WAIT, whenReady } from './maybe-promise.js';

type RouteRequest = TokenRequest & { readonly srcToken: string };

export interface LoadersOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Waits in the queue. Called after each wait for the upstream, since one answer can resume many operations. */
  readonly yieldToQueue: () => Promise<void>;
  /** How many distinct route requests this operation may send to the upstream. */
  readonly maxRoutes: number;
  /** Charges searches and route requests. */
  readonly cost: Pick<CostMeter, 'spend'>;
  /**
   * Present for an operation that may not wait: a loader then throws {@link WOULD_WAIT} in place of returning a
   * promise, and does not ask the upstream.
   *
   * @param pendingListing the listing that the operation would wait for; undefined for routes
   */
  readonly refuseToWait?: ((pendingListing: Promise<unknown> | undefined) => void) | undefined;
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  readonly tracker: Pick<DependencyTracker, 'note'>;
}

/** A class, because each operation makes one and uses few methods: an object of closures would make them all. */
export class Loaders {
  /** The listings that this operation waits for. All reads of one listing share a turn in the queue. */
  private readonly pendingListings = new Map<ListingName, Promise<unknown>>();
  private madeRouteReads: RouteReads | undefined;

  constructor(private readonly options: LoadersOptions) {}

  /** Resolves when each listing that the other fields of this operation wait for is loaded or has failed. */
  async settled(): Promise<void> {
    // Lets the resolvers of the fields after the calling field start first.
    await null;
    for (let awaited = -1; awaited < this.pendingListings.size; ) {
      awaited = this.pendingListings.size;
      await Promise.allSettled(this.pendingListings.values());
    }
  }

  /** The chains that match a search; all chains for a blank search without types. */
  chainsBySearch(search: string, chainTypes?: readonly string[]): MaybePromise<readonly Chain[]> {
    return this.read('chains', (chains) => {
      const isSearch = search !== '' || chainTypes !== undefined;
      if (isSearch) this.options.cost.spend(searchUnits(chains.rows.length, search));
      return chains.matching(search, chainTypes);
    });
  }

  /** The chain with this key, in any letter case. */
  chainByKey(chainKey: string): MaybePromise<Chain | null> {
    return this.read('chains', (chains) => chains.byKey(chainKey) ?? null);
  }

  /** The chain with exactly this CAIP-2 identifier; null if it is unknown or malformed. */
  chainByCaip2(caip2: string): MaybePromise<Chain | null> {
    return this.read('chains', (chains) => chains.byCaip2(caip2) ?? null);
  }

  /** The token at this address. All forms of an address that `foldAddress` makes equal find the same token. */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null> {
    return this.read('tokens', (tokens) => tokens.byAddress(chainKey, address) ?? null);
  }

  /** The token with this CAIP-19 identifier; null if it is unknown or malformed. */
  tokenByCaip19(caip19: string): MaybePromise<Token | null> {
    const parts = parseCaip19(caip19);
    if (!parts) return null;
    return whenReady(this.chainByCaip2(parts.caip2), (chain) => {
      if (!chain) return null;
      const found = this.tokenByAddress(chain.chainKey, parts.address);
      return whenReady(found, (token) => (token && isIdentifiedBy(parts, chain, token) ? token : null));
    });
  }

  /** The token listing, or its tokens on one chain. */
  tokensListed(chainKey: string | undefined): MaybePromise<readonly Token[]> {
    return this.read('tokens', (tokens) => (chainKey === undefined ? tokens.rows : tokens.byChain(chainKey)));
  }

  /** One page of the tokens that a search finds. */
  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): MaybePromise<FoundTokens> {
    const chains = this.chainsFor(request);
    return this.read('tokens', (tokens) => {
      this.options.cost.spend(searchUnits(tokens.rows.length, request.query));
      const searchRequest = { ...request, pricesUsable: this.options.isPriceFresh(tokens.takenAt) };
      return whenReady(chains, (known) => tokens.search(searchRequest, known));
    });
  }

  /** How the chain listing differs from an earlier state; without a cursor, all rows. */
  chainChanges(since: string | undefined): MaybePromise<ListingChanges<Chain>> {
    return this.read('chains', (chains) => chains.changesSince(since));
  }

  /** How the token listing differs from an earlier state, apart from prices; without a cursor, all rows. */
  tokenChanges(since: string | undefined): MaybePromise<ListingChanges<Token>> {
    return this.read('tokens', (tokens) => tokens.changesSince(since));
  }

  /**
   * The routes from a token. After very many refusals it returns empty routes: the whole operation has failed then.
   *
   * @throws GatewayError ROUTE_BUDGET_EXCEEDED, synchronously
   */
  routesFrom(filter: RouteRequest): MaybePromise<RouteAnswer> {
    this.options.tracker.note('routes');
    this.madeRouteReads ??= new RouteReads(this.options);
    return this.madeRouteReads.routesFrom(filter);
  }

  /** The known sources of this token; null if no background sweep collects routes. Never asks the upstream. */
  sourcesOf(chainKey: string, address: string): MaybePromise<TokenSources | null> {
    const { view, tracker } = this.options;
    tracker.note('routes');
    return view.isSwept ? this.read('tokens', (tokens) => view.sources(tokens, chainKey, address)) : null;
  }

  /**
   * The chain listing for a search that depends on it. A filter on chain types needs this listing. All other searches
   * also work without it, but find less.
   */
  private chainsFor(
    request: Pick<TokenSearchRequest, 'query' | 'filter'>,
  ): MaybePromise<ChainSnapshot | undefined> {
    if (!needsChains(request)) return undefined;
    const chains = this.read('chains', (snapshot) => snapshot);
    if (!(chains instanceof Promise)) return chains;
    // Always catch: the search may fail before it awaits the chains, and an unhandled rejection ends the process.
    const ifAny = chains.catch(() => undefined);
    return request.filter.chainTypes ? chains : ifAny;
  }

  /** Reads a listing: at once if there is a snapshot, otherwise as soon as there is one. */
  private read<Name extends ListingName, Result>(
    name: Name,
    use: (snapshot: IndexedListings[Name]) => MaybePromise<Result>,
  ): MaybePromise<Result> {
    const { view, yieldToQueue, refuseToWait } = this.options;
    const snapshot = view.read(name);
    if (!(snapshot instanceof Promise)) return use(snapshot);
    if (refuseToWait) {
      refuseToWait(snapshot);
      throw WOULD_WAIT;
    }
    const pendingListing = this.pendingListings.get(name) ?? awaitAndYield(snapshot, yieldToQueue);
    this.pendingListings.set(name, pendingListing);
    return pendingListing.then((loaded) => use(loaded as IndexedListings[Name]));
  }
}

/** Maximum fields with the error ROUTE_BUDGET_EXCEEDED. With more of them, the whole operation fails. */
const MAX_REFUSED_ROUTES = 1000;

/** Reads routes for one operation: those of each token at most once. */
class RouteReads {
  private readonly asked = new Set<string>();
  private readonly atHand = new Map<string, RouteAnswer>();
  private refused = 0;

  private madeLoader: DataLoader<RouteRequest, RouteAnswer, string> | undefined;

  constructor(private readonly options: LoadersOptions) {}

  routesFrom(filter: RouteRequest): MaybePromise<RouteAnswer> {
    const { view, maxRoutes, cost, refuseToWait } = this.options;
    const key = tokenRequestKey(filter);
    if (!this.asked.has(key)) {
      const atHand = this.atHand.get(key) ?? view.cachedRoutes(filter);
      if (atHand) {
        this.atHand.set(key, atHand);
        return atHand;
      }
      if (refuseToWait) {
        refuseToWait(undefined);
        throw WOULD_WAIT;
      }
      if (this.asked.size >= maxRoutes) return this.refuse();
      this.asked.add(key);
      cost.spend(ROUTE_UNITS);
    }
    return this.loader().load(filter);
  }

  private loader() {
    this.madeLoader ??= new DataLoader<RouteRequest, RouteAnswer, string>(
      (filters) => {
        const { view, yieldToQueue } = this.options;
        const routesOf = (filter: RouteRequest) => awaitAndYield(view.routes(filter), yieldToQueue);
        return Promise.all(filters.map((filter) => routesOf(filter).catch(asError)));
      },
      { cacheKeyFn: tokenRequestKey },
    );
    return this.madeLoader;
  }

  /** Refuses a request. It throws, since each row of a list can be refused, and each promise would cost time. */
  private refuse(): RouteAnswer {
    const { maxRoutes } = this.options;
    this.refused++;
    if (this.refused > MAX_REFUSED_ROUTES + 1) return NO_ROUTES;
    const message = `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
    if (this.refused > MAX_REFUSED_ROUTES) throw new OperationLimitError('ROUTE_BUDGET_EXCEEDED', message);
    throw new GatewayError('ROUTE_BUDGET_EXCEEDED', message);
  }
}

/** The answer for a token that cannot be in any listing. */
export const NO_ROUTES: RouteAnswer = { rows: [], takenAt: 0, isUnlisted: true };

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
