/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    isLikely: (chance: number): boolean => next() < chance,
    pick: <Item>(items: readonly Item[]): Item => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('Expected an item to pick from');
      return item;
    },
  };
}

export type Random = ReturnType<typeof createRandom>;

/** A token as the gateway holds it. */
export interface LongTailToken {
  readonly isBridgeable: boolean;
  readonly chainKey: string;
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly price: { readonly usd: number; readonly asOf: number } | null;
  readonly logoUrl: null;
}

const COMMON = ['Token', 'Coin', 'USD', 'Wrapped', 'Staked', 'Bridged', 'Finance', 'Protocol', 'Inu'];

/** Mostly different symbols and names, as listings of many small tokens have them, in memory out of order. */
export function longTailTokens(
  count: number,
  chainKeys: readonly string[],
  random: Random,
): readonly LongTailToken[] {
  const { below, isLikely, pick } = random;
  const syllable = (): string =>
    pick([...'bcdfghjklmnprstvwxyz']) + pick([...'aeiou']) + (isLikely(0.4) ? pick([...'klmnrst']) : '');
  const words = Array.from({ length: 600 }, () => {
    const word = syllable() + syllable() + (isLikely(0.5) ? syllable() : '');
    return word.charAt(0).toUpperCase() + word.slice(1);
  });
  const tokenAt = (index: number): LongTailToken => ({
    isBridgeable: isLikely(0.6),
    chainKey: isLikely(0.3) ? pick(chainKeys.slice(0, 4)) : pick(chainKeys),
    address: `0x${(index + 1).toString(16)}${'0123456789abcdef'.repeat(3)}`.slice(0, 42),
    decimals: 18,
    symbol:
      `${syllable()}${syllable()}`.toUpperCase().slice(0, 3 + below(3)) + (isLikely(0.3) ? below(100) : ''),
    name: [pick(words), ...(isLikely(0.6) ? [pick(isLikely(0.4) ? COMMON : words)] : [])].join(' '),
    price: isLikely(0.7) ? { usd: below(100_000) / 1000, asOf: 1 } : null,
    logoUrl: null,
  });
  // Rows that lie in memory in the order of the listing are read many times faster than others.
  const tokens: LongTailToken[] = new Array(count);
  const order = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last >= 0; last--) {
    const other = below(last + 1);
    const index = order[other] ?? 0;
    order[other] = order[last] ?? 0;
    tokens[index] = tokenAt(index);
  }
  return tokens;
}
