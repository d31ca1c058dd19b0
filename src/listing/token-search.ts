import { foldAddress, isNativeOf } from './address.js';
import type { Chain, Token } from './listing.js';
import { comparePlaces, createTokenOrders, type OrderPlace, type TokenOrder } from './token-order.js';
import {
  type ChainNames,
  createTokenRanks,
  groupRows,
  NOT_BRIDGEABLE,
  NOT_PRICED,
  type Ranks,
} from './token-ranks.js';

/** Which tokens to keep: those of which all that is given holds. */
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

/** A question to the token listing as a person puts it. */
export interface TokenSearchRequest {
  /** What was typed; blank finds all. */
  readonly query: string;
  readonly filter: TokenSearchFilter;
  readonly order: TokenOrder;
  /** How many at most. */
  readonly first: number;
  /** Only what comes behind this place, which is one of the same order. */
  readonly after?: OrderPlace | undefined;
  /** False where the listing's prices are too old to be believed: they are then as good as none. */
  readonly arePricesGood: boolean;
}

/** A part of what was found, in its order. */
export interface TokenPage {
  readonly tokens: readonly Token[];
  /** Where the token with this number on the page stands in the order. */
  placeOf(index: number): OrderPlace;
  /** How many were found in all. */
  readonly totalCount: number;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

/** What is known of the chains. */
export interface KnownChains extends ChainNames {
  byKey(chainKey: string): Chain | undefined;
}

/**
 * Searches one token listing. Names, types and native currencies of chains are those that are known; where
 * none are, no token has a chain type, and native is what has the placeholder as its address.
 */
export type TokenSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => TokenPage;

/**
 * Makes the search of these rows; its indexes are made when it is first asked.
 *
 * @param rowsOfChain the numbers of the rows on each chain
 */
export function createTokenSearch(
  rows: readonly Token[],
  rowsOfChain: ReadonlyMap<string, readonly number[]>,
): TokenSearch {
  let search: TokenSearch | undefined;
  return (request, chains) => {
    search ??= createIndexedSearch(rows, rowsOfChain);
    return search(request, chains);
  };
}

function createIndexedSearch(
  rows: readonly Token[],
  rowsOfChain: ReadonlyMap<string, readonly number[]>,
): TokenSearch {
  const addresses = rows.map(({ address }) => foldAddress(address));
  const orders = createTokenOrders(rows, addresses);
  const ranksOf = createTokenRanks(rows, addresses, rowsOfChain);
  const rowsOfSymbol = groupRows(rows.map(({ symbol }) => symbol.toLowerCase()));

  function rowsIn(order: TokenOrder, arePricesGood: boolean): Uint32Array {
    if (order === 'NAME') return orders.byName();
    const isByPrice = order === 'PRICE_ASC' || order === 'PRICE_DESC';
    return isByPrice && arePricesGood ? orders.byPrice(order) : orders.bySymbol();
  }

  return (request, chains) => {
    const { query, order, first, after, arePricesGood } = request;
    const ranks = ranksOf(query, chains);
    const isKept = filterOf(request, chains, rowsOfSymbol);
    const priceOf = ({ price }: Token) => (arePricesGood ? (price?.usd ?? null) : null);
    const rankOf = (row: number, token: Token) =>
      (ranks?.[row] ?? 0) +
      (token.isBridgeable ? 0 : NOT_BRIDGEABLE) +
      (priceOf(token) === null ? NOT_PRICED : 0);

    function placeOf(row: number): OrderPlace {
      const token = rows[row];
      const tie = orders.tieOf(row);
      if (!token || order === 'SYMBOL') return { order, value: null, tie };
      if (order === 'NAME') return { order, value: orders.nameOf(row), tie };
      return { order, value: order === 'RELEVANCE' ? rankOf(row, token) : priceOf(token), tie };
    }

    let found: number[] = [];
    for (const row of rowsIn(order, arePricesGood)) {
      const token = rows[row];
      if (token && isFound(ranks, row) && isKept(token, row)) found.push(row);
    }
    if (order === 'RELEVANCE') found = sortByRank(found, rows, rankOf);

    const start = after ? firstBehind(after, found, placeOf) : 0;
    const page = found.slice(start, start + first);
    return {
      tokens: page.flatMap((row) => rows[row] ?? []),
      placeOf: (index) => placeOf(page[index] ?? 0),
      totalCount: found.length,
      hasPrevious: start > 0,
      hasNext: start + page.length < found.length,
    };
  };
}

function isFound(ranks: Ranks | undefined, row: number): boolean {
  return ranks === undefined || (ranks[row] ?? 0) >= 0;
}

/** Whether a row is to be kept, whatever was typed. */
function filterOf(
  { filter, arePricesGood }: TokenSearchRequest,
  chains: KnownChains | undefined,
  rowsOfSymbol: ReadonlyMap<string, readonly number[]>,
): (token: Token, row: number) => boolean {
  const { isBridgeable, isNative, hasPrice, minPriceUsd, maxPriceUsd } = filter;
  const onChains = filter.chainKeys && new Set(filter.chainKeys);
  const types = filter.chainTypes && new Set(filter.chainTypes.map((type) => type.toLowerCase()));
  const ofSymbols =
    filter.symbols &&
    new Set(filter.symbols.flatMap((symbol) => rowsOfSymbol.get(symbol.toLowerCase()) ?? []));
  const needsPrice = minPriceUsd !== undefined || maxPriceUsd !== undefined;
  return (token, row) => {
    if (onChains && !onChains.has(token.chainKey)) return false;
    if (ofSymbols && !ofSymbols.has(row)) return false;
    if (isBridgeable !== undefined && token.isBridgeable !== isBridgeable) return false;
    const usd = arePricesGood ? token.price?.usd : undefined;
    if (hasPrice !== undefined && (usd !== undefined) !== hasPrice) return false;
    if (needsPrice && usd === undefined) return false;
    if (usd !== undefined && (usd < (minPriceUsd ?? usd) || usd > (maxPriceUsd ?? usd))) return false;
    if (!types && isNative === undefined) return true;
    const chain = chains?.byKey(token.chainKey);
    if (types && !(chain && types.has(chain.chainType))) return false;
    return isNative === undefined || isNativeOf(chain, token) === isNative;
  };
}

/** Rows of equal rank stay in their order; the ranks are few, so that nothing needs to be compared. */
function sortByRank(
  found: readonly number[],
  rows: readonly Token[],
  rankOf: (row: number, token: Token) => number,
): number[] {
  const groups = new Map<number, number[]>();
  for (const row of found) {
    const token = rows[row];
    if (!token) continue;
    const rank = rankOf(row, token);
    const group = groups.get(rank);
    if (group) group.push(row);
    else groups.set(rank, [row]);
  }
  return [...groups].sort(([a], [b]) => a - b).flatMap(([, group]) => group);
}

/** The first of what was found, which is in order, that comes behind this place. */
function firstBehind(
  after: OrderPlace,
  found: readonly number[],
  placeOf: (row: number) => OrderPlace,
): number {
  let low = 0;
  let high = found.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePlaces(placeOf(found[middle] ?? 0), after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
