/** Turns an order into numbers to sort by and into cursors, and picks one page by these numbers. */
import type { Token } from '../domain/listing.js';
import { chainShift } from './ranks.js';
import type { TokenIndexes } from './token-indexes.js';
import {
  compareTieBreakers,
  firstIndex,
  type SortKey,
  type TokenOrder,
  tieBreakerOf,
} from './token-order.js';

/** The tokens that a search orders, and the values to order them by, all indexed by place (see `Places`). */
interface Ordered {
  readonly tokens: readonly Token[];
  readonly indexes: TokenIndexes;
  /** NaN for a token without a price. */
  readonly prices: Float64Array;
  rankAt(place: number): number;
}

/** The numbers that an order sorts by, ascending, and their conversion to and from the values of cursors. */
interface Scale {
  keyAt(place: number): number;
  cursorValue(key: number): SortKey['value'];
  keyOf(value: SortKey['value']): number;
}

function scaleOf(order: TokenOrder, { indexes, prices, rankAt }: Ordered): Scale {
  const { nameAt, nameKeys } = indexes;
  if (order === 'RELEVANCE') return { keyAt: rankAt, cursorValue: (key) => key, keyOf: Number };
  if (order === 'SYMBOL') return { keyAt: () => 0, cursorValue: () => null, keyOf: () => 0 };
  if (order === 'NAME') {
    return {
      keyAt: (place) => nameAt[place] ?? 0,
      cursorValue: (key) => nameKeys[key] ?? '',
      keyOf(value) {
        const index = firstIndex(nameKeys.length, (at) => (nameKeys[at] ?? '') >= String(value));
        // A name that is no longer listed gets a number between those of its neighbours.
        return nameKeys[index] === value ? index : index - 0.5;
      },
    };
  }
  const sign = order === 'PRICE_ASC' ? 1 : -1;
  // A token without a price comes last in both directions.
  const keyOf = (price: number) => (Number.isNaN(price) ? Number.POSITIVE_INFINITY : sign * price);
  return {
    keyAt: (place) => keyOf(prices[place] ?? Number.NaN),
    cursorValue: (key) => (key === Number.POSITIVE_INFINITY ? null : sign * key),
    keyOf: (value) => keyOf(Number(value ?? Number.NaN)),
  };
}

/** Orders tokens by numbers, then by place, and converts positions to and from cursors. */
export function orderOf(order: TokenOrder, ordered: Ordered) {
  const { keyAt, cursorValue, keyOf } = scaleOf(order, ordered);
  const { tokens, indexes } = ordered;
  const tieBreakerAt = (place: number) => tieBreakerOf(tokens[place] as Token);
  return {
    keyAt,
    sortKeyOf({ key, place }: Position): SortKey {
      return { order, value: cursorValue(key), tieBreaker: tieBreakerAt(place) };
    },
    /** Makes the function that says whether a token is on the page of this cursor, or on an earlier page. */
    isSeenBy({ value, tieBreaker }: SortKey): (key: number, place: number) => boolean {
      const isAfter = (place: number) => compareTieBreakers(tieBreakerAt(place), tieBreaker) > 0;
      const end = { key: keyOf(value), place: firstIndex(tokens.length, isAfter) };
      const [, chainKey] = tieBreaker;
      const bridgeable = indexes.chains.get(chainKey)?.bridgeable ?? 0;
      // If the number of bridgeable tokens on the cursor's chain has changed, all tokens of this chain have moved together.
      const shift = order === 'RELEVANCE' ? chainShift(end.key, bridgeable) : 0;
      const hasMoved = (place: number) => shift !== 0 && tokens[place]?.chainKey === chainKey;
      return (key, place) => isBefore(end, hasMoved(place) ? key - shift : key, place);
    },
  };
}

/** A position in an order. After it come the tokens with an equal key from `place` on, then those with larger keys. */
export interface Position {
  readonly key: number;
  readonly place: number;
}

const END: Position = { key: Number.POSITIVE_INFINITY, place: Number.POSITIVE_INFINITY };

/**
 * Picks the first `size` tokens that are not seen yet, by key and then by place, in one pass and without sorting the
 * others.
 *
 * @returns the tokens of the page in order, and how many of the tokens found are on earlier pages
 */
export function pageOf(
  places: readonly number[],
  keyAt: (place: number) => number,
  size: number,
  isSeen: (key: number, place: number) => boolean = () => false,
): { readonly picked: readonly Position[]; readonly before: number } {
  const picked: Position[] = [];
  let before = 0;
  let last = END;
  for (const place of places) {
    const key = keyAt(place);
    if (isSeen(key, place)) before++;
    else if (isBefore(last, key, place)) {
      const index = firstIndex(picked.length, (at) => isBefore(picked[at] ?? END, key, place));
      picked.splice(index, 0, { key, place });
      if (picked.length > size) picked.pop();
      if (picked.length === size) last = picked.at(-1) ?? END;
    }
  }
  return { picked, before };
}

function isBefore(position: Position, key: number, place: number): boolean {
  return key < position.key || (key === position.key && place < position.place);
}
