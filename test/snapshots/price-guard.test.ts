import { describe, expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import {
  type GuardedGateway,
  MINUTE,
  numbered,
  onDisk,
  restart,
  startGuarded,
} from '../support/guarded-gateway.js';

const CHAINS = [chainRow('a')];
const token = (number: number, usd: number | null, symbol = `S${number}`) =>
  numbered(number, { symbol, price: usd === null ? null : { usd } });
const tokens = (price: (number: number) => number | null) =>
  Array.from({ length: 10 }, (_, index) => token(index + 1, price(index + 1)));
const GOOD = tokens((number) => number);
const sentIn = (rows: typeof GOOD) => rows.map(({ price }) => (price as { usd: number }).usd);
const pricesOf = async (gateway: GuardedGateway) =>
  (await gateway.tokens()).map(({ price }) => price?.usd ?? null);
const NONE = GOOD.map(() => null);

describe('prices that are a thousand times as high in one refresh', () => {
  it('are null until the upstream has sent them for ten minutes', async () => {
    const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
    const high = tokens((number) => number * 1000);
    await gateway.bring({ tokens: high });
    expect(await pricesOf(gateway)).toEqual(NONE);
    await gateway.bring({}, 5 * MINUTE);
    await gateway.bring({}, 5 * MINUTE - 1);
    expect(await pricesOf(gateway)).toEqual(NONE);
    await gateway.bring({}, 1);
    expect(await pricesOf(gateway)).toEqual(sentIn(high));
    // Decimals and the rest were never in doubt.
    expect(gateway.heldBackRows()).toEqual([0, 0]);
  });

  it('are null until then also if they change a little, and wait again after other prices', async () => {
    const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
    await gateway.bring({ tokens: tokens((number) => number * 1000) });
    await gateway.bring({ tokens: tokens((number) => number * 1100) }, 6 * MINUTE);
    await gateway.bring({ tokens: tokens((number) => number * 900) }, 4 * MINUTE);
    expect(await pricesOf(gateway)).toEqual(sentIn(tokens((number) => number * 900)));
    await gateway.bring({ tokens: GOOD });
    await gateway.bring({ tokens: tokens((number) => number * 900) });
    expect(await pricesOf(gateway)).toEqual(sentIn(tokens((number) => number * 900)));
    await gateway.bring({ tokens: GOOD });
    await gateway.bring({ tokens: tokens((number) => number / 100) }, 6 * MINUTE);
    await gateway.bring({ tokens: GOOD }, 6 * MINUTE);
    expect(await pricesOf(gateway)).toEqual(NONE);
  });

  it('are compared with the last ones also after refreshes without prices, and after a restart', async () => {
    const before = await startGuarded({ chains: CHAINS, tokens: GOOD }, onDisk());
    await before.bring({ tokens: tokens(() => null) });
    await before.bring({ tokens: tokens((number) => number * 1000) });
    expect(await pricesOf(before)).toEqual(NONE);
    const after = await restart(before);
    expect(await pricesOf(after)).toEqual(NONE);
    // The ten minutes continue.
    await after.bring({}, 10 * MINUTE - 1);
    expect(await pricesOf(after)).toEqual(NONE);
    await after.bring({}, 1);
    expect((await pricesOf(after))[0]).toBe(1000);
  });
});

describe('a price', () => {
  it('of a row that is listed again is compared with its last one, also after a restart', async () => {
    const before = await startGuarded({ chains: CHAINS, tokens: GOOD }, onDisk());
    await before.bring({ tokens: GOOD.slice(1) });
    await before.bring({}, 20 * MINUTE);
    const after = await restart(before);
    await after.bring({ tokens: [token(1, 1000), ...GOOD.slice(1)] });
    expect((await pricesOf(after))[0]).toBeNull();
    await after.bring({ tokens: GOOD });
    expect(await pricesOf(after)).toEqual(sentIn(GOOD));
  });

  it.each([
    ['of nothing', 0],
    ['of 1e308', 1e308],
    ['of more than a billion', 1_000_000_001],
    ['below nothing', -1],
  ])('%s is always null, also in the first listing', async (_what, usd) => {
    const gateway = await startGuarded({ chains: CHAINS, tokens: [token(1, usd), token(2, 1)] });
    for (let times = 0; times < 3; times++) {
      expect(await pricesOf(gateway)).toEqual([null, 1]);
      await gateway.bring({}, 11 * MINUTE);
    }
  });

  it('that is higher or lower by a factor of nine is served', async () => {
    const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
    for (const factor of [9, 1]) {
      const moved = tokens((number) => number * factor);
      await gateway.bring({ tokens: moved });
      expect(await pricesOf(gateway)).toEqual(sentIn(moved));
    }
  });

  it('of one USDC at 2,500 beside others at 1 is null in the first listing, and the others are served', async () => {
    const usdc = [1, 0.999, 2500, 1.001, 1].map((usd, index) => token(index + 1, usd, 'USDC'));
    const gateway = await startGuarded({ chains: CHAINS, tokens: [...usdc, token(9, 2500, 'ETH')] });
    expect(await pricesOf(gateway)).toEqual([1, 0.999, null, 1.001, 1, 2500]);
    await gateway.bring({}, 10 * MINUTE - 1);
    expect((await pricesOf(gateway))[2]).toBeNull();
    await gateway.bring({}, 1);
    expect((await pricesOf(gateway))[2]).toBe(2500);
  });

  it.each([
    [
      'of a symbol in another letter case',
      [token(1, 1), token(2, 1, 's1'), token(3, 2500, 'S1')],
      [1, 1, null],
    ],
    ['of two tokens with one symbol that disagree', [token(1, 1), token(2, 2500, 'S1')], [null, null]],
  ])('%s is compared with the others in the first listing', async (_what, tokens, prices) => {
    expect(await pricesOf(await startGuarded({ chains: CHAINS, tokens }))).toEqual(prices);
  });
});
