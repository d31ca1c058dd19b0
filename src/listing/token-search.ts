import { LRUCache } from 'lru-cache';
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

/** What was found is kept until it comes to so many whole listings: at 10,000 tokens, about a megabyte. */
const KEPT_LISTINGS = 20;

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

  /** What was found lately, for the further pages of a search; good for one snapshot of the chains. */
  const kept = new LRUCache<string, Found>({
    maxSize: KEPT_LISTINGS * rows.length,
    sizeCalculation: ({ rows: found }, key) => found.length + key.length,
  });
  let keptFor: KnownChains | undefined;
  let nativeRows: Uint8Array | undefined;

  function find(request: TokenSearchRequest, chains: KnownChains | undefined): Found {
    const { query, filter, order, arePricesGood } = request;
    const key = JSON.stringify([query, filter, order, arePricesGood]);
    if (chains !== keptFor) {
      kept.clear();
      nativeRows = undefined;
      keptFor = chains;
    }
    const known = kept.get(key);
    if (known) return known;
    if (filter.isNative !== undefined) {
      nativeRows ??= Uint8Array.from(rows, (row) => Number(isNativeOf(chains?.byKey(row.chainKey), row)));
    }
    const ranks = ranksOf(query, chains);
    const isKept = filterOf(request, chains, rowsOfSymbol, nativeRows);
    const found = rowsIn(order, arePricesGood).filter((row) => {
      const token = rows[row];
      return token !== undefined && isFound(ranks, row) && isKept(token, row);
    });
    const made =
      order === 'RELEVANCE' ? sortByRank(found, (row) => rankOf(row, ranks, arePricesGood)) : { rows: found };
    kept.set(key, made);
    return made;
  }

  function rankOf(row: number, ranks: Ranks | undefined, arePricesGood: boolean): number {
    const token = rows[row];
    const isPriced = arePricesGood && token?.price;
    return (ranks?.[row] ?? 0) + (token?.isBridgeable ? 0 : NOT_BRIDGEABLE) + (isPriced ? 0 : NOT_PRICED);
  }

  return (request, chains) => {
    const { order, first, after, arePricesGood } = request;
    const found = find(request, chains);

    function placeOf(position: number): OrderPlace {
      const row = found.rows[position] ?? 0;
      const tie = orders.tieOf(row);
      if (order === 'SYMBOL') return { order, value: null, tie };
      if (order === 'NAME') return { order, value: orders.nameOf(row), tie };
      if (order === 'RELEVANCE') return { order, value: found.ranks?.[position] ?? 0, tie };
      return { order, value: arePricesGood ? (rows[row]?.price?.usd ?? null) : null, tie };
    }

    const start = after ? firstBehind(after, found.rows.length, placeOf) : 0;
    const page = found.rows.subarray(start, start + first);
    return {
      tokens: Array.from(page).flatMap((row) => rows[row] ?? []),
      placeOf: (index) => placeOf(start + index),
      totalCount: found.rows.length,
      hasPrevious: start > 0,
      hasNext: start + page.length < found.rows.length,
    };
  };
}

/** The numbers of the rows that were found, in their order, with their ranks where that is by them. */
interface Found {
  readonly rows: Uint32Array;
  readonly ranks?: Int32Array;
}

function isFound(ranks: Ranks | undefined, row: number): boolean {
  return ranks === undefined || (ranks[row] ?? 0) >= 0;
}

/** Whether a row is to be kept, whatever was typed. */
function filterOf(
  { filter, arePricesGood }: TokenSearchRequest,
  chains: KnownChains | undefined,
  rowsOfSymbol: ReadonlyMap<string, readonly number[]>,
  nativeRows: Uint8Array | undefined,
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
    if (isNative !== undefined && (nativeRows?.[row] === 1) !== isNative) return false;
    return !types || types.has(chains?.byKey(token.chainKey)?.chainType ?? '');
  };
}

/** Rows of equal rank stay in their order. The ranks are few, so that the rows need not be compared. */
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

/** The first position that comes behind this place, of so many which are in order. */
function firstBehind(after: OrderPlace, count: number, placeOf: (position: number) => OrderPlace): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePlaces(placeOf(middle), after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
