import { randomFrom } from '../../support/random.js';

export type Random = ReturnType<typeof randomOf>;

/**
 * Makes the choices for one item of a series, so that each item can be made again without those before it.
 *
 * @param seed the seed of the series
 * @param nth the position of the item in the series
 */
export function randomOf(seed: number, nth: number) {
  const next = randomFrom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(nth + 1, 0x85ebca6b));
  // Skip the first numbers: those of neighbouring seeds are similar.
  next();
  next();
  const int = (below: number) => Math.floor(next() * below);
  return {
    /** A whole number from 0 to `below` - 1. */
    int,
    /** True once in this many times, on average. */
    oneIn: (times: number) => int(times) === 0,
    pick: <Item>(items: readonly Item[]) => items[int(items.length)] as Item,
    /** One of the items. The probability of an item is in proportion to its weight. */
    weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item {
      let place = next() * items.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, item] of items) {
        place -= weight;
        if (place < 0) return item;
      }
      throw new Error('Expected items with weights');
    },
    /** A whole number from 1 to `max`. All magnitudes are equally likely. */
    size: (max: number) => Math.max(1, Math.round(Math.exp(next() * Math.log(max)))),
  };
}

/** This many items, made one after the other. */
export function times<Item>(count: number, make: (nth: number) => Item): Item[] {
  return Array.from({ length: count }, (_, nth) => make(nth));
}
