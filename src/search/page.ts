/* Picks one page of the tokens found. */
import { firstIndex } from './order/token-order.js';

/** A position in an order. After it follow the tokens with its key from its place on, and those with larger keys. */
export interface Position {
  readonly key: number;
  readonly place: number;
}

/** One page: its tokens in order, and how many of the tokens found are on earlier pages. */
export interface FoundPage {
  readonly picked: readonly Position[];
  readonly before: number;
}

const START: Position = { key: Number.NEGATIVE_INFINITY, place: 0 };
const END: Position = { key: Number.POSITIVE_INFINITY, place: Number.POSITIVE_INFINITY };

/**
 * Picks the first `size` tokens after a position, by key and then by place, in one pass and without sorting the others.
 *
 * @param places the places of all tokens found, in any order
 */
export function pageOf(
  places: readonly number[],
  keyAt: (place: number) => number,
  size: number,
  after = START,
): FoundPage {
  const picked: Position[] = [];
  let before = 0;
  let last: Position = END;
  for (const place of places) {
    const key = keyAt(place);
    if (key < after.key || (key === after.key && place < after.place)) {
      before++;
      continue;
    }
    if (key > last.key || (key === last.key && place > last.place)) continue;
    const isBehind = (other: Position) => other.key > key || (other.key === key && other.place > place);
    const index = firstIndex(picked.length, (at) => isBehind(picked[at] ?? END));
    picked.splice(index, 0, { key, place });
    if (picked.length > size) picked.pop();
    if (picked.length === size) last = picked.at(-1) ?? END;
  }
  return { picked, before };
}
