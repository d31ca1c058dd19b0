import { LRUCache } from 'lru-cache';
import { isNativeOf } from '../domain/addresses.js';
import type { Chain, Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { interpretationsOf } from './text.js';
import type { TokenIndexes } from './token-indexes.js';
import { compareSortKeys, type SortKey, sortByPrice, type TokenOrder } from './token-order.js';
import { NOT_FOUND, type Ranks, rankWith } from './token-ranks.js';

/** Tokens must match every condition given; an omitted condition matches everything. */
export interface TokenSearchFilter {
  readonly chainKeys?: readonly string[] | undefined;
  /** In any letter case. */
  readonly chainTypes?: readonly string[] | undefined;
  /** In any letter case. */
  readonly symbols?: readonly string[] | undefined;
  readonly isBridgeable?: boolean | undefined;
  readonly isNative?: boolean | undefined;
  readonly hasPrice?: boolean | undefined;
  readonly minPriceUsd?: number | undefined;
  readonly maxPriceUsd?: number | undefined;
}

export interface TokenSearchRequest {
  /** As typed by a person; blank finds all. */
  readonly query: string;
  readonly filter: TokenSearchFilter;
  readonly order: TokenOrder;
  /** Maximum size of the page. */
  readonly first: number;
  /** Start after this position, which must be of the same order. */
  readonly after?: SortKey | undefined;
  /** False if the listing's prices are too old: the search then treats every token as having none. */
  readonly pricesUsable: boolean;
}

/** One page of the tokens found. */
export interface TokenPage {
  readonly tokens: readonly Token[];
  /** The sort key of the token at this index of the page. */
  sortKeyOf(index: number): SortKey;
  /** Number of tokens found, on all pages together. */
  readonly totalCount: number;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

/** The chain listing as far as a search needs it. */
export interface KnownChains extends ChainNames {
  byKey(chainKey: string): Chain | undefined;
}

/** Whether the result of this request depends on the chain listing. */
export function needsChains({ query, filter }: Pick<TokenSearchRequest, 'query' | 'filter'>): boolean {
  return query.trim() !== '' || filter.chainTypes !== undefined || filter.isNative !== undefined;
}

/**
 * Searches one token listing. Pass the chains if {@link needsChains} and they are known. Without them, no token
 * has a chain type, and a token is native only if its address is the placeholder.
 *
 * @throws GatewayError BAD_USER_INPUT for a query of too many words
 */
export type TokenSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => TokenPage;

/** The numbers of the rows found, in order; with their ranks if the order is by relevance. */
interface Found {
  readonly rows: Uint32Array;
  readonly ranks?: Int32Array;
}

/** Size of the cache of results, which serves the further pages of a search. */
const CACHE_BYTES = 4 * 2 ** 20;
const ENTRY_BYTES = 500;

export function createTokenSearch(
  rows: readonly Token[],
  { orders, ranksOf, symbols }: TokenIndexes,
): TokenSearch {
  /** Valid for one snapshot of the chains. */
  let cache = createCache();
  let cachedFor: KnownChains | undefined;

  const pricesInOrder = new Map<TokenOrder, Uint32Array>();

  function byPrice(direction: 'PRICE_ASC' | 'PRICE_DESC'): Uint32Array {
    const prices = () => rows.map(({ price }) => price?.usd ?? null);
    const made = pricesInOrder.get(direction) ?? sortByPrice(prices(), orders.bySymbol, direction);
    pricesInOrder.set(direction, made);
    return made;
  }

  function createCache() {
    return {
      found: new LRUCache<string, Found>({
        maxSize: CACHE_BYTES,
        sizeCalculation: (found, key) => ENTRY_BYTES + 2 * key.length + 8 * found.rows.length,
      }),
      /** Ranks by interpretation of the last query: people often try several filters on one query. */
      typed: undefined as undefined | { readonly query: string; readonly ranks: (Ranks | undefined)[] },
      nativeRows: undefined as undefined | Uint8Array,
    };
  }

  function find(request: TokenSearchRequest, chains: KnownChains | undefined): Found {
    if (chains && chains !== cachedFor) {
      cache = createCache();
      cachedFor = chains;
    }
    const { query, filter, order, pricesUsable } = request;
    const key = JSON.stringify([query, filter, order, pricesUsable]);
    const known = cache.found.get(key);
    if (known) return known;
    const found = findUncached(request, chains);
    cache.found.set(key, found);
    return found;
  }

  function findUncached(request: TokenSearchRequest, chains: KnownChains | undefined): Found {
    const { query, filter, order } = request;
    if (filter.isNative !== undefined) {
      cache.nativeRows ??= Uint8Array.from(rows, (row) =>
        Number(isNativeOf(chains?.byKey(row.chainKey), row)),
      );
    }
    const matches = matcherOf(request, chains, symbols, cache.nativeRows);
    const candidates = rowsIn(request).filter((row) => matches(at(rows, row), row));
    const interpretations = interpretationsOf(query);
    if (interpretations.length === 0) return inOrder(candidates, undefined, request);
    if (cache.typed?.query !== query) cache.typed = { query, ranks: [] };
    const { ranks: known } = cache.typed;
    for (const [nth, interpretation] of interpretations.entries()) {
      if (known.length <= nth) known.push(ranksOf(interpretation, chains));
      const ranks = known[nth];
      const found = ranks && candidates.filter((row) => ranks[row] !== NOT_FOUND);
      if (found && found.length > 0) return inOrder(found, ranks, request);
    }
    return { rows: new Uint32Array(), ...(order === 'RELEVANCE' ? { ranks: new Int32Array() } : {}) };
  }

  function rowsIn({ order, pricesUsable }: TokenSearchRequest): Uint32Array {
    if (order === 'NAME') return orders.byName;
    const isByPrice = order === 'PRICE_ASC' || order === 'PRICE_DESC';
    return isByPrice && pricesUsable ? byPrice(order) : orders.bySymbol;
  }

  /** Sorts by relevance if asked to; the rows found are already in every other order. */
  function inOrder(
    found: Uint32Array,
    ranks: Ranks | undefined,
    { order, pricesUsable }: TokenSearchRequest,
  ): Found {
    if (order !== 'RELEVANCE') return { rows: found };
    return sortByRank(found, (row) => {
      const { isBridgeable, price } = at(rows, row);
      return rankWith(ranks ? at(ranks, row) : 0, isBridgeable, pricesUsable && price !== null);
    });
  }

  return (request, chains) => {
    const { order, first, after, pricesUsable } = request;
    const found = find(request, chains);

    function sortKeyOf(position: number): SortKey {
      const row = at(found.rows, position);
      const tieBreaker = orders.tieBreakerOf(row);
      if (order === 'SYMBOL') return { order, value: null, tieBreaker };
      if (order === 'NAME') return { order, value: orders.nameOf(row), tieBreaker };
      if (found.ranks) return { order, value: at(found.ranks, position), tieBreaker };
      return { order, value: pricesUsable ? (at(rows, row).price?.usd ?? null) : null, tieBreaker };
    }

    const start = after ? indexAfter(after, found.rows.length, sortKeyOf) : 0;
    const page = found.rows.subarray(start, start + first);
    return {
      tokens: Array.from(page, (row) => at(rows, row)),
      sortKeyOf: (index) => sortKeyOf(start + index),
      totalCount: found.rows.length,
      hasPrevious: start > 0,
      hasNext: start + page.length < found.rows.length,
    };
  };
}

/** The filter as a predicate on rows. */
function matcherOf(
  { filter, pricesUsable }: TokenSearchRequest,
  chains: KnownChains | undefined,
  symbols: readonly string[],
  nativeRows: Uint8Array | undefined,
): (token: Token, row: number) => boolean {
  const { isBridgeable, isNative, hasPrice, minPriceUsd, maxPriceUsd } = filter;
  const onChains = filter.chainKeys && new Set(filter.chainKeys);
  const types = filter.chainTypes && new Set(filter.chainTypes.map((type) => type.toLowerCase()));
  const ofSymbols = filter.symbols && new Set(filter.symbols.map((symbol) => symbol.toLowerCase()));
  const needsPrice = minPriceUsd !== undefined || maxPriceUsd !== undefined;
  return (token, row) => {
    if (onChains && !onChains.has(token.chainKey)) return false;
    if (ofSymbols && !ofSymbols.has(at(symbols, row))) return false;
    if (isBridgeable !== undefined && token.isBridgeable !== isBridgeable) return false;
    const usd = pricesUsable ? token.price?.usd : undefined;
    if (hasPrice !== undefined && (usd !== undefined) !== hasPrice) return false;
    if (needsPrice && usd === undefined) return false;
    if (usd !== undefined && (usd < (minPriceUsd ?? usd) || usd > (maxPriceUsd ?? usd))) return false;
    if (isNative !== undefined && (nativeRows?.[row] === 1) !== isNative) return false;
    if (!types) return true;
    const chainType = chains?.byKey(token.chainKey)?.chainType;
    return chainType !== undefined && types.has(chainType);
  };
}

/** A stable bucket sort: there are few distinct ranks. */
function sortByRank(found: Uint32Array, rankOf: (row: number) => number): Found {
  const groups = new Map<number, number[]>();
  for (const row of found) {
    const rank = rankOf(row);
    const group = groups.get(rank);
    if (group) group.push(row);
    else groups.set(rank, [row]);
  }
  const rows = new Uint32Array(found.length);
  const ranks = new Int32Array(found.length);
  let position = 0;
  for (const [rank, group] of [...groups].sort(([a], [b]) => a - b)) {
    rows.set(group, position);
    ranks.fill(rank, position, position + group.length);
    position += group.length;
  }
  return { rows, ranks };
}

/** Binary search for the first of `count` sorted positions that comes after this sort key. */
function indexAfter(after: SortKey, count: number, sortKeyOf: (position: number) => SortKey): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareSortKeys(sortKeyOf(middle), after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function at<Item>(items: { readonly [index: number]: Item; readonly length: number }, index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`Expected an index below ${items.length}, got ${index}`);
  return item;
}
