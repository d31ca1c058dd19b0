import { LRUCache } from 'lru-cache';
import { isNativeOf } from '../domain/addresses.js';
import type { Chain, Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { interpretationsOf } from './text.js';
import type { TokenIndexes } from './token-indexes.js';
import { compareSortKeys, type SortKey, sortByPrice, type TokenOrder } from './token-order.js';
import { NOT_FOUND, type Ranks, rankWith } from './token-ranks.js';

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
  readonly after?: SortKey | undefined;
  /** False where the listing's prices are too old to be believed: they are then as good as none. */
  readonly arePricesGood: boolean;
}

/** A part of what was found, in its order. */
export interface TokenPage {
  readonly tokens: readonly Token[];
  /** Where the token with this number on the page stands in the order. */
  sortKeyOf(index: number): SortKey;
  /** How many were found in all. */
  readonly totalCount: number;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

/** What is known of the chains. */
export interface KnownChains extends ChainNames {
  byKey(chainKey: string): Chain | undefined;
}

/** Whether the answer to this request depends on what is known of the chains. */
export function needsChains({ query, filter }: Pick<TokenSearchRequest, 'query' | 'filter'>): boolean {
  return query.trim() !== '' || filter.chainTypes !== undefined || filter.isNative !== undefined;
}

/**
 * Searches one token listing. The chains are to be given where they are needed and known. Where none are, no
 * token has a chain type, and native is what has the placeholder as its address.
 *
 * @throws GatewayError BAD_USER_INPUT where too many words were typed
 */
export type TokenSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => TokenPage;

/** The numbers of the rows that were found, in their order, with their ranks where that is by them. */
interface Found {
  readonly rows: Uint32Array;
  readonly ranks?: Int32Array;
}

/** Bounds what is kept for the further pages of searches. */
const KEPT_BYTES = 4 * 2 ** 20;
const ENTRY_BYTES = 500;

/** Makes the search of these rows. */
export function createTokenSearch(
  rows: readonly Token[],
  { orders, ranksOf, symbols }: TokenIndexes,
): TokenSearch {
  /** Good for one snapshot of the chains. */
  let kept = createKept();
  let keptFor: KnownChains | undefined;

  const pricesInOrder = new Map<TokenOrder, Uint32Array>();

  function byPrice(direction: 'PRICE_ASC' | 'PRICE_DESC'): Uint32Array {
    const prices = () => rows.map(({ price }) => price?.usd ?? null);
    const made = pricesInOrder.get(direction) ?? sortByPrice(prices(), orders.bySymbol, direction);
    pricesInOrder.set(direction, made);
    return made;
  }

  function createKept() {
    return {
      found: new LRUCache<string, Found>({
        maxSize: KEPT_BYTES,
        sizeCalculation: (found, key) => ENTRY_BYTES + 2 * key.length + 8 * found.rows.length,
      }),
      /** The interpretations of what was typed last, which often comes with one filter after the other. */
      typed: undefined as undefined | { readonly query: string; readonly ranks: (Ranks | undefined)[] },
      nativeRows: undefined as undefined | Uint8Array,
    };
  }

  function find(request: TokenSearchRequest, chains: KnownChains | undefined): Found {
    if (chains && chains !== keptFor) {
      kept = createKept();
      keptFor = chains;
    }
    const { query, filter, order, arePricesGood } = request;
    const key = JSON.stringify([query, filter, order, arePricesGood]);
    const known = kept.found.get(key);
    if (known) return known;
    const found = findAnew(request, chains);
    kept.found.set(key, found);
    return found;
  }

  function findAnew(request: TokenSearchRequest, chains: KnownChains | undefined): Found {
    const { query, filter, order } = request;
    if (filter.isNative !== undefined) {
      kept.nativeRows ??= Uint8Array.from(rows, (row) =>
        Number(isNativeOf(chains?.byKey(row.chainKey), row)),
      );
    }
    const isKept = filterOf(request, chains, symbols, kept.nativeRows);
    const candidates = rowsIn(request).filter((row) => isKept(at(rows, row), row));
    const interpretations = interpretationsOf(query);
    if (interpretations.length === 0) return inOrder(candidates, undefined, request);
    if (kept.typed?.query !== query) kept.typed = { query, ranks: [] };
    const { ranks: known } = kept.typed;
    for (const [nth, interpretation] of interpretations.entries()) {
      if (known.length <= nth) known.push(ranksOf(interpretation, chains));
      const ranks = known[nth];
      const found = ranks && candidates.filter((row) => ranks[row] !== NOT_FOUND);
      if (found && found.length > 0) return inOrder(found, ranks, request);
    }
    return { rows: new Uint32Array(), ...(order === 'RELEVANCE' ? { ranks: new Int32Array() } : {}) };
  }

  function rowsIn({ order, arePricesGood }: TokenSearchRequest): Uint32Array {
    if (order === 'NAME') return orders.byName;
    const isByPrice = order === 'PRICE_ASC' || order === 'PRICE_DESC';
    return isByPrice && arePricesGood ? byPrice(order) : orders.bySymbol;
  }

  /** What was found, and is in all other orders already, also in the order of relevance. */
  function inOrder(
    found: Uint32Array,
    ranks: Ranks | undefined,
    { order, arePricesGood }: TokenSearchRequest,
  ): Found {
    if (order !== 'RELEVANCE') return { rows: found };
    return sortByRank(found, (row) => {
      const { isBridgeable, price } = at(rows, row);
      return rankWith(ranks ? at(ranks, row) : 0, isBridgeable, arePricesGood && price !== null);
    });
  }

  return (request, chains) => {
    const { order, first, after, arePricesGood } = request;
    const found = find(request, chains);

    function sortKeyOf(position: number): SortKey {
      const row = at(found.rows, position);
      const tieBreaker = orders.tieBreakerOf(row);
      if (order === 'SYMBOL') return { order, value: null, tieBreaker };
      if (order === 'NAME') return { order, value: orders.nameOf(row), tieBreaker };
      if (found.ranks) return { order, value: at(found.ranks, position), tieBreaker };
      return { order, value: arePricesGood ? (at(rows, row).price?.usd ?? null) : null, tieBreaker };
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

/** Whether a row is to be kept, whatever was typed. */
function filterOf(
  { filter, arePricesGood }: TokenSearchRequest,
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
    const usd = arePricesGood ? token.price?.usd : undefined;
    if (hasPrice !== undefined && (usd !== undefined) !== hasPrice) return false;
    if (needsPrice && usd === undefined) return false;
    if (usd !== undefined && (usd < (minPriceUsd ?? usd) || usd > (maxPriceUsd ?? usd))) return false;
    if (isNative !== undefined && (nativeRows?.[row] === 1) !== isNative) return false;
    if (!types) return true;
    const chainType = chains?.byKey(token.chainKey)?.chainType;
    return chainType !== undefined && types.has(chainType);
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
