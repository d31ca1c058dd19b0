import DataLoader from 'dataloader';
import { GatewayError, RowLimitError } from './errors.js';
import { tokenFilterKey, tokenKey } from './listing/address.js';
import type { Chain, Token, TokenFilter } from './listing/listing.js';
import type { View } from './listing/snapshots.js';
import type { TokenPage, TokenSearchRequest } from './listing/token-search.js';

/** What may be there already: a list of 10,000 tokens must not cost 10,000 promises. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** What {@link createLoaders} takes. */
export interface LoadersOptions {
  /** The state of the world that this operation reads. */
  readonly view: View;
  /** A price asked for before this (milliseconds since 1970) is as good as none. */
  readonly oldestPriceAsOf: number;
  /** How many distinct questions for routes this operation may cost the upstream. */
  readonly maxRoutes: number;
  /** How many rows the lists of this operation may come to in all. */
  readonly maxRows: number;
}

/**
 * The reads of one operation: batched, and equal ones done once. Each is named for what it returns, and
 * rejects with a GatewayError. Make new ones for every operation.
 */
export interface Loaders {
  /** The chain listing, searched; null once the operation has listed too many rows. */
  chainsBySearch(search: string, chainTypes?: readonly string[]): Promise<readonly Chain[] | null>;
  chainByKey(chainKey: string): MaybePromise<Chain | null>;
  /** The token at this address, in any writing of it. */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null>;
  /** What the upstream's token operation means by the filter; null once too many rows are listed. */
  tokensByFilter(filter: TokenFilter): Promise<readonly Token[] | null>;
  /** The listed tokens of one chain; null once the operation has listed too many rows. */
  tokensByChain(chainKey: string): MaybePromise<readonly Token[] | null>;
  /** How many tokens are listed on one chain. */
  tokenCountByChain(chainKey: string): MaybePromise<number>;
  /** A page of what was searched for; null once the operation has listed too many rows. */
  tokenSearch(request: Omit<TokenSearchRequest, 'arePricesGood'>): Promise<TokenPage | null>;
  /** The same keys, one of which is to give one row; none of them once too many rows are listed. */
  withinRows<Key>(keys: readonly Key[]): readonly Key[];
}

/** Makes the loaders of one operation. */
export function createLoaders({ view, oldestPriceAsOf, maxRoutes, maxRows }: LoadersOptions): Loaders {
  const chainLoader = new DataLoader<string, Chain | null>(async (chainKeys) => {
    const chains = await view.chains();
    return chainKeys.map((chainKey) => chains.byKey(chainKey) ?? null);
  });

  const tokenLoader = new DataLoader<Pick<Token, 'chainKey' | 'address'>, Token | null, string>(
    async (keys) => {
      const tokens = await view.tokens();
      return keys.map(({ chainKey, address }) => tokens.byAddress(chainKey, address) ?? null);
    },
    { cacheKeyFn: ({ chainKey, address }) => tokenKey(chainKey, address) },
  );

  const filterLoader = new DataLoader<TokenFilter, readonly Token[], string>(
    (filters) => Promise.all(filters.map((filter) => tokensOf(filter).catch(asError))),
    { cacheKeyFn: tokenFilterKey },
  );

  async function tokensOf(filter: TokenFilter): Promise<readonly Token[]> {
    if (filter.srcToken !== undefined) return routes(filter);
    const tokens = await view.tokens();
    return filter.srcChainKey === undefined ? tokens.rows : tokens.byChain(filter.srcChainKey);
  }

  const asked = new Set<string>();
  async function routes(filter: TokenFilter): Promise<readonly Token[]> {
    const question = await view.routeQuestion(filter);
    const key = tokenFilterKey(question);
    if (!asked.has(key) && !view.isRouteKept(question)) {
      if (asked.size >= maxRoutes) throw routeBudgetExceeded(maxRoutes);
      asked.add(key);
    }
    return view.routes(question);
  }

  // Lists multiply, by aliases and more so within each other, and would fill any memory.
  let listedRows = 0;
  // Thrown once, and null after that: an error for each of the fields beyond the limit would cost more than
  // the rows that it saves. An operation that met this error has no data at all.
  function listed<Row>(rows: readonly Row[]): readonly Row[] | null {
    const wasExceeded = listedRows > maxRows;
    listedRows += rows.length;
    if (wasExceeded) return null;
    if (listedRows > maxRows) throw new RowLimitError(maxRows, listedRows);
    return rows;
  }

  async function tokenSearch(request: Omit<TokenSearchRequest, 'arePricesGood'>): Promise<TokenPage | null> {
    const named = Promise.resolve(view.chains());
    const [tokens, chains] = await Promise.all([
      view.tokens(),
      // Names are worth having, and no reason to fail; types cannot be told without the listing.
      request.filter.chainTypes ? named : named.catch(() => undefined),
    ]);
    const page = tokens.search({ ...request, arePricesGood: tokens.takenAt >= oldestPriceAsOf }, chains);
    return listed(page.tokens) && page;
  }

  return {
    tokenSearch,
    withinRows: (keys) => listed(keys) ?? [],
    chainsBySearch: async (search, chainTypes) => listed((await view.chains()).matching(search, chainTypes)),
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
    tokensByFilter: async (filter) => listed(await filterLoader.load(filter)),
    tokensByChain(chainKey) {
      const tokens = view.tokens();
      return tokens instanceof Promise
        ? filterLoader.load({ srcChainKey: chainKey }).then(listed)
        : listed(tokens.byChain(chainKey));
    },
    tokenCountByChain(chainKey) {
      const tokens = view.tokens();
      return tokens instanceof Promise
        ? filterLoader.load({ srcChainKey: chainKey }).then(({ length }) => length)
        : tokens.byChain(chainKey).length;
    },
  };
}

function routeBudgetExceeded(maxRoutes: number): GatewayError {
  return new GatewayError(
    'ROUTE_BUDGET_EXCEEDED',
    `One operation may ask for the routes from at most ${maxRoutes} distinct tokens that are not at hand; this one asks for more. Ask for the rest in a further operation.`,
  );
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
