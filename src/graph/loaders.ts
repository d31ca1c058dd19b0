import DataLoader from 'dataloader';
import { tokenFilterKey, tokenKey } from '../domain/addresses.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { Chain, Token, TokenFilter } from '../domain/listing.js';
import { needsChains, type TokenPage, type TokenSearchRequest } from '../search/token-search.js';
import type { View } from '../snapshots/snapshots.js';
import { ROUTE_UNITS } from './cost/cost.js';
import type { CostMeter } from './cost/cost-meter.js';

/** A value, or a promise where it must be loaded first: a list of 10,000 tokens must not cost 10,000 promises. */
export type MaybePromise<Value> = Value | Promise<Value>;

export interface LoadersOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  /** How many distinct route requests this operation may send to the upstream. */
  readonly maxRoutes: number;
  /** Counts what route requests cost. */
  readonly cost: Pick<CostMeter, 'spend'>;
  /** Waits for a turn. Called after waiting for the upstream, since an answer resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
}

/**
 * The reads of one operation, batched and without repeats. Each is named after its result and rejects with a
 * GatewayError. Make new ones for every operation.
 */
export interface Loaders {
  /** The chain listing, searched. */
  chainsBySearch(search: string, chainTypes?: readonly string[]): Promise<readonly Chain[]>;
  chainByKey(chainKey: string): MaybePromise<Chain | null>;
  /** The token at this address; equal addresses may differ in letter case. */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null>;
  /** The token listing, or its tokens on one chain. */
  tokensListed(srcChainKey: string | undefined): Promise<readonly Token[]>;
  /**
   * The upstream's answer to a route request. Empty once too many were refused: none of the operation's data is
   * shown then.
   *
   * @throws GatewayError ROUTE_BUDGET_EXCEEDED, synchronously
   */
  routesFrom(filter: TokenFilter & { readonly srcToken: string }): MaybePromise<readonly Token[]>;
  /** The listed tokens of one chain. */
  tokensByChain(chainKey: string): MaybePromise<readonly Token[]>;
  /** How many tokens are listed on one chain. */
  tokenCountByChain(chainKey: string): MaybePromise<number>;
  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): Promise<TokenPage>;
}

/** Makes the loaders of one operation. */
export function createLoaders(options: LoadersOptions): Loaders {
  const { view, isPriceFresh, maxRoutes, cost, nextTurn } = options;
  async function inTurn<Listing>(listing: MaybePromise<Listing>): Promise<Listing> {
    if (!(listing instanceof Promise)) return listing;
    try {
      return await listing;
    } finally {
      await nextTurn();
    }
  }

  const chainLoader = new DataLoader<string, Chain | null>(async (chainKeys) => {
    const chains = await inTurn(view.chains());
    return chainKeys.map((chainKey) => chains.byKey(chainKey) ?? null);
  });

  const tokenLoader = new DataLoader<Pick<Token, 'chainKey' | 'address'>, Token | null, string>(
    async (keys) => {
      const tokens = await inTurn(view.tokens());
      return keys.map(({ chainKey, address }) => tokens.byAddress(chainKey, address) ?? null);
    },
    { cacheKeyFn: ({ chainKey, address }) => tokenKey(chainKey, address) },
  );

  const filterLoader = new DataLoader<TokenFilter, readonly Token[], string>(
    (filters) => Promise.all(filters.map((filter) => tokensOf(filter).catch(asError))),
    { cacheKeyFn: tokenFilterKey },
  );

  async function tokensOf(filter: TokenFilter): Promise<readonly Token[]> {
    if (filter.srcToken !== undefined) return routesOf(filter);
    const tokens = await inTurn(view.tokens());
    return filter.srcChainKey === undefined ? tokens.rows : tokens.byChain(filter.srcChainKey);
  }

  async function routesOf(filter: TokenFilter): Promise<readonly Token[]> {
    const question = await view.routeRequest(filter);
    return view.isRouteKept(question) ? view.routes(question) : inTurn(view.routes(question));
  }

  const routesAsked = new Set<string>();
  let refusedRoutes = 0;
  function routesFrom(filter: TokenFilter): MaybePromise<readonly Token[]> {
    const key = tokenFilterKey(filter);
    if (!routesAsked.has(key) && !view.isRouteKept(filter)) {
      if (routesAsked.size >= maxRoutes) return refuseRoute();
      cost.spend(ROUTE_UNITS);
      routesAsked.add(key);
    }
    return filterLoader.load(filter);
  }

  /** Throws instead of rejecting: a list of tokens can ask for as many routes as it has rows. */
  function refuseRoute(): readonly Token[] {
    refusedRoutes++;
    if (refusedRoutes > MAX_REFUSED_ROUTES + 1) return [];
    throw refusedRoutes > MAX_REFUSED_ROUTES ? tooManyRefused(maxRoutes) : routeBudgetExceeded(maxRoutes);
  }

  async function tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): Promise<TokenPage> {
    const [tokens, chains] = await Promise.all([inTurn(view.tokens()), chainsFor(request)]);
    return tokens.search({ ...request, pricesUsable: isPriceFresh(tokens.takenAt) }, chains);
  }

  /** A filter on types needs the chain listing. Names only improve a search, which goes on without them. */
  async function chainsFor(request: Pick<TokenSearchRequest, 'query' | 'filter'>) {
    if (!needsChains(request)) return undefined;
    const chains = Promise.resolve(view.chains());
    return request.filter.chainTypes ? chains : chains.catch(() => undefined);
  }

  return {
    tokenSearch,
    routesFrom,
    chainsBySearch: async (search, chainTypes) => (await inTurn(view.chains())).matching(search, chainTypes),
    chainByKey(chainKey) {
      const chains = view.chains();
      return chains instanceof Promise ? chainLoader.load(chainKey) : (chains.byKey(chainKey) ?? null);
    },
    tokenByAddress(chainKey, address) {
      const tokens = view.tokens();
      return tokens instanceof Promise
        ? tokenLoader.load({ chainKey, address })
        : (tokens.byAddress(chainKey, address) ?? null);
    },
    tokensListed: (srcChainKey) => filterLoader.load({ srcChainKey }),
    tokensByChain(chainKey) {
      const tokens = view.tokens();
      return tokens instanceof Promise
        ? filterLoader.load({ srcChainKey: chainKey })
        : tokens.byChain(chainKey);
    },
    tokenCountByChain(chainKey) {
      const tokens = view.tokens();
      return tokens instanceof Promise
        ? filterLoader.load({ srcChainKey: chainKey }).then(({ length }) => length)
        : tokens.byChain(chainKey).length;
    },
  };
}

/** How many fields get an error of their own; beyond it the whole operation fails with one error. */
const MAX_REFUSED_ROUTES = 1000;

function routeBudgetExceeded(maxRoutes: number): GatewayError {
  return new GatewayError('ROUTE_BUDGET_EXCEEDED', budgetMessage(maxRoutes));
}

function tooManyRefused(maxRoutes: number): OperationLimitError {
  return new OperationLimitError('ROUTE_BUDGET_EXCEEDED', budgetMessage(maxRoutes));
}

function budgetMessage(maxRoutes: number): string {
  return `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
