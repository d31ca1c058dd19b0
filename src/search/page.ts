/** A position in an order: tokens with a larger key come after it, and those with this key from this place on. */
export interface Position {
  readonly key: number;
  readonly place: number;
}

/** The tokens of one page, in order, and how many of those found come before it. */
export interface FoundPage {
  readonly places: readonly number[];
  readonly keys: readonly number[];
  readonly before: number;
}

/**
 * Picks the first `size` tokens after a position, by key and then by place, in one pass and without sorting the others.
 *
 * @param keys the keys of the tokens found, by index
 */
export function pageOf(
  { count, places }: { readonly count: number; readonly places: Uint32Array },
  keys: Float64Array,
  size: number,
  after: Position | undefined,
): FoundPage {
  const pagePlaces: number[] = [];
  const pageKeys: number[] = [];
  const afterKey = after?.key ?? Number.NEGATIVE_INFINITY;
  const afterPlace = after?.place ?? 0;
  let before = 0;
  let length = 0;
  let lastKey = Number.POSITIVE_INFINITY;
  let lastPlace = Number.POSITIVE_INFINITY;
  for (let index = 0; index < count; index++) {
    const key = keys[index] ?? 0;
    const place = places[index] ?? 0;
    if (key < afterKey || (key === afterKey && place < afterPlace)) {
      before++;
      continue;
    }
    if (length === size && (key > lastKey || (key === lastKey && place > lastPlace))) continue;
    let slot = length < size ? length++ : size - 1;
    for (; slot > 0; slot--) {
      const otherKey = pageKeys[slot - 1] ?? 0;
      const otherPlace = pagePlaces[slot - 1] ?? 0;
      if (otherKey < key || (otherKey === key && otherPlace < place)) break;
      pageKeys[slot] = otherKey;
      pagePlaces[slot] = otherPlace;
    }
    pageKeys[slot] = key;
    pagePlaces[slot] = place;
    if (length === size) {
      lastKey = pageKeys[size - 1] ?? 0;
      lastPlace = pagePlaces[size - 1] ?? 0;
    }
  }
  return { places: pagePlaces, keys: pageKeys, before };
}
