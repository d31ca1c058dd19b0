import { firstIndex } from './order/token-order.js';

/** A position in an order: tokens with a larger key come after it, and those with this key from this place on. */
export interface Position {
  readonly key: number;
  readonly place: number;
}

/** The tokens of one page, in order, and how many of those found come before it. */
export interface FoundPage {
  readonly picked: readonly Position[];
  readonly before: number;
}

const START: Position = { key: Number.NEGATIVE_INFINITY, place: 0 };

/**
 * Picks the first `size` tokens after a position, by key and then by place, in one pass and without sorting the others.
 *
 * @param places those of the tokens found, ascending
 */
export function pageOf(
  places: readonly number[],
  keyAt: (place: number) => number,
  size: number,
  after = START,
): FoundPage {
  const picked: Position[] = [];
  let before = 0;
  let lastKey = Number.POSITIVE_INFINITY;
  for (const place of places) {
    const key = keyAt(place);
    if (key < after.key || (key === after.key && place < after.place)) {
      before++;
      continue;
    }
    if (picked.length === size) {
      // Places ascend: of equal keys, the earlier one stays.
      if (key >= lastKey) continue;
      picked.pop();
    }
    const slot = firstIndex(picked.length, (index) => (picked[index]?.key ?? 0) > key);
    picked.splice(slot, 0, { key, place });
    if (picked.length === size) lastKey = picked[size - 1]?.key ?? 0;
  }
  return { picked, before };
}
