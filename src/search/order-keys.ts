import type { Token } from '../domain/listing.js';
import type { Found, Position } from './page.js';
import { rankOf, STATE } from './ranks.js';
import type { PriceColumns } from './token-filter.js';
import { at, type TokenIndexes } from './token-indexes.js';
import {
  compareTieBreakers,
  firstIndex,
  type SortKey,
  type TokenOrder,
  textKey,
  tieBreakerOf,
} from './token-order.js';

/** How a search orders. */
interface Ordering {
  readonly order: TokenOrder;
  readonly pricesUsable: boolean;
}

/** The columns that ranks are made of. */
interface Ranked extends Found {
  readonly symbolMatches: Uint8Array;
  readonly sums: Uint16Array;
}

/** Orders tokens by number: makes the keys of what was found, and reads and makes cursors. */
export function createKeys(
  { rowAt, symbolCount, nameAt, nameRanks, placeOfNameRank }: TokenIndexes,
  { prices, states }: PriceColumns,
  tokenAt: (place: number) => Token,
) {
  /** A token without a price comes last in both directions. */
  function priceKey(price: number, order: TokenOrder): number {
    if (Number.isNaN(price)) return Number.POSITIVE_INFINITY;
    return order === 'PRICE_ASC' ? price : -price;
  }

  function write(
    { order, pricesUsable }: Ordering,
    { count, places, keys, symbolMatches, sums }: Ranked,
  ): void {
    const hidden = pricesUsable ? 0 : STATE.notPriced;
    for (let index = 0; index < count; index++) {
      const place = places[index] ?? 0;
      if (order === 'RELEVANCE') {
        const state = (states[place] ?? 0) | hidden;
        keys[index] = rankOf(symbolMatches[index] ?? 0, state, sums[index] ?? 0);
      } else if (order === 'NAME') {
        keys[index] = nameRanks[(nameAt[place] ?? 0) - symbolCount] ?? 0;
      } else if (order === 'SYMBOL') {
        keys[index] = 0;
      } else {
        keys[index] = priceKey(pricesUsable ? (prices[place] ?? 0) : Number.NaN, order);
      }
    }
  }

  /** The position after this cursor. */
  function positionOf({ order }: Ordering, { value, tieBreaker }: SortKey): Position {
    const place = firstIndex(
      rowAt.length,
      (index) => compareTieBreakers(tieBreakerOf(tokenAt(index)), tieBreaker) > 0,
    );
    if (order === 'SYMBOL') return { key: 0, place };
    if (order === 'RELEVANCE') return { key: Number(value ?? 0), place };
    if (order === 'NAME') {
      const name = String(value ?? '');
      const keyOf = (rank: number) => textKey(tokenAt(at(placeOfNameRank, rank)).name);
      const rank = firstIndex(placeOfNameRank.length, (index) => keyOf(index) >= name);
      const isKnown = rank < placeOfNameRank.length && keyOf(rank) === name;
      return { key: isKnown ? rank : rank - 0.5, place };
    }
    const key = priceKey(value === null ? Number.NaN : Number(value), order);
    // Beyond every price, tokens without a price follow, whatever their symbols.
    return { key, place: value !== null && key === Number.POSITIVE_INFINITY ? 0 : place };
  }

  function sortKeyOf({ order, pricesUsable }: Ordering, place: number, key: number): SortKey {
    const token = tokenAt(place);
    const tieBreaker = tieBreakerOf(token);
    if (order === 'SYMBOL') return { order, value: null, tieBreaker };
    if (order === 'NAME') return { order, value: textKey(token.name), tieBreaker };
    if (order === 'RELEVANCE') return { order, value: key, tieBreaker };
    return { order, value: pricesUsable ? (token.price?.usd ?? null) : null, tieBreaker };
  }

  return { write, positionOf, sortKeyOf };
}
