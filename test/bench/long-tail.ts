import { oneOf, randomFrom } from '../support/random.js';

/** Choices that look random, and are the same for the same seed. */
export function createRandom(seed: number) {
  const next = randomFrom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    isLikely: (chance: number): boolean => next() < chance,
    pick: <Item>(items: readonly Item[]): Item => oneOf(items, next),
  };
}

export type Random = ReturnType<typeof createRandom>;

export type LongTailToken = ReturnType<typeof longTailTokens>[number];

const COMMON = ['Token', 'Coin', 'USD', 'Wrapped', 'Staked', 'Bridged', 'Finance', 'Protocol', 'Inu'];

/** Tokens as the gateway holds them, with mostly different symbols and names, as listings of many small tokens have them, in memory out of order. */
export function longTailTokens(count: number, chainKeys: readonly string[], random: Random) {
  const { below, isLikely, pick } = random;
  const syllable = (): string =>
    pick([...'bcdfghjklmnprstvwxyz']) + pick([...'aeiou']) + (isLikely(0.4) ? pick([...'klmnrst']) : '');
  const words = Array.from({ length: 600 }, () => {
    const word = syllable() + syllable() + (isLikely(0.5) ? syllable() : '');
    return word.charAt(0).toUpperCase() + word.slice(1);
  });
  const tokenAt = (index: number) => ({
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
  const tokens: ReturnType<typeof tokenAt>[] = new Array(count);
  const order = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last >= 0; last--) {
    const other = below(last + 1);
    const index = order[other] ?? 0;
    order[other] = order[last] ?? 0;
    tokens[index] = tokenAt(index);
  }
  return tokens;
}
