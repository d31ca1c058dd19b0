import type { Token } from '../domain/listing.js';
import { blankRankOf, rankOf, STATE } from './order/ranks.js';
import {
  compareTieBreakers,
  firstIndex,
  type SortKey,
  type TokenOrder,
  textKey,
  tieBreakerOf,
} from './order/token-order.js';
import type { Position } from './page.js';
import { at, type PriceColumns, type TokenIndexes } from './token-indexes.js';
import type { Candidates } from './word-scores.js';

/** Exceeds every price. */
const NO_PRICE = Number.POSITIVE_INFINITY;

/** How a search orders. */
interface Ordering {
  readonly order: TokenOrder;
  readonly pricesUsable: boolean;
}

/** Orders tokens by numbers: gives the keys of tokens found, and reads and makes cursors. */
export function createOrders(
  { rowAt, symbolCount, nameAt, nameRanks, placeOfNameRank, rarities }: TokenIndexes,
  { prices, states }: PriceColumns,
  tokenAt: (place: number) => Token,
) {
  /** A token without a price comes last in both directions. */
  function priceKey(price: number, order: TokenOrder): number {
    if (Number.isNaN(price)) return NO_PRICE;
    return order === 'PRICE_ASC' ? price : -price;
  }

  /** Writes the key of each token found: what its order sorts by, ascending. The place decides between equal keys. */
  function writeKeys({ order, pricesUsable }: Ordering, found: Candidates, keys: Float64Array): void {
    const { isBlank, count, places, symbolMatches, sums } = found;
    const hidden = pricesUsable ? 0 : STATE.notPriced;
    if (order === 'RELEVANCE') {
      for (let index = 0; index < count; index++) {
        const place = places[index] ?? 0;
        const state = (states[place] ?? 0) | hidden;
        const rarity = rarities[place] ?? 0;
        keys[index] = isBlank
          ? blankRankOf(state, rarity)
          : rankOf(symbolMatches[index] ?? 0, state, sums[index] ?? 0, rarity);
      }
    } else if (order === 'NAME') {
      for (let index = 0; index < count; index++) {
        keys[index] = nameRanks[(nameAt[places[index] ?? 0] ?? 0) - symbolCount] ?? 0;
      }
    } else if (order === 'SYMBOL' || !pricesUsable) keys.fill(0, 0, count);
    else
      for (let index = 0; index < count; index++)
        keys[index] = priceKey(prices[places[index] ?? 0] ?? 0, order);
  }

  /** The position after this cursor. */
  function positionOf({ order, pricesUsable }: Ordering, { value, tieBreaker }: SortKey): Position {
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
    // Tokens without a price follow all prices, whatever their symbols.
    const key = value === null ? NO_PRICE : priceKey(Number(value), order);
    if (!pricesUsable) return { key: value === null ? 0 : -1, place };
    return { key, place: value !== null && key === NO_PRICE ? 0 : place };
  }

  function sortKeyOf({ order, pricesUsable }: Ordering, place: number, key: number): SortKey {
    const token = tokenAt(place);
    const tieBreaker = tieBreakerOf(token);
    if (order === 'SYMBOL') return { order, value: null, tieBreaker };
    if (order === 'NAME') return { order, value: textKey(token.name), tieBreaker };
    if (order === 'RELEVANCE') return { order, value: key, tieBreaker };
    return { order, value: pricesUsable ? (token.price?.usd ?? null) : null, tieBreaker };
  }

  return { writeKeys, positionOf, sortKeyOf };
}
