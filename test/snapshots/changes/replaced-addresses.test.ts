import { describe, expect, it } from 'vitest';
import { chainRow } from '../../fixtures/rows.js';
import { DAY, HOUR, numbered, startGuarded } from '../../support/guarded-gateway.js';

const CHAINS = [chainRow('a')];
const token = (number: number, symbol = 'USDC') => numbered(number, { symbol, price: { usd: 1 } });
const [ONE, TWO, THREE] = [token(1), token(2), token(3)];
const REST = Array.from({ length: 10 }, (_, index) => token(index + 10, `S${index}`));
type Rows = readonly unknown[];
const start = (tokens: Rows, config = {}) => startGuarded({ chains: CHAINS, tokens }, { config });
type Gateway = Awaited<ReturnType<typeof start>>;

/** The addresses that are served beside the ten others, and those of them that are held back. */
async function served({ tokens }: Gateway) {
  const listed = (await tokens()).filter(({ address }) => Number(address) < 10);
  const held = listed.filter(({ heldBack }) => heldBack.length > 0);
  return {
    listed: listed.map(({ address }) => Number(address)).sort(),
    held: held.map(({ address, price }) => [Number(address), price]),
  };
}

describe('an address that is replaced: the old row stays, without a price, and the new one waits', () => {
  it.each<[string, Rows, Rows, readonly number[]]>([
    ['under the same symbol', [ONE], [THREE], [1]],
    ['under a Cyrillic look-alike of USDC', [ONE], [{ ...THREE, symbol: 'USD\u0421' }], [1]],
    ['under another letter case', [ONE], [{ ...THREE, symbol: 'usdc' }], [1]],
    ['under a symbol with an invisible character', [ONE], [{ ...THREE, symbol: 'USDC\u200b' }], [1]],
    ['where two addresses share it', [ONE, TWO], [TWO, THREE], [1, 2]],
    ['where two addresses become one', [ONE, TWO], [THREE], [1, 2]],
    ['where one address becomes two', [ONE], [TWO, THREE], [1]],
  ])('%s', async (_what, before, after, listed) => {
    const gateway = await start([...before, ...REST]);
    await gateway.bring({ tokens: [...after, ...REST] });
    const held = listed.filter((number) => !(number === 2 && after.includes(TWO)));
    expect(await served(gateway)).toEqual({ listed, held: held.map((number) => [number, null]) });
    // It waits: neither by its key nor as a destination is it known.
    const { data } = await gateway.query('{ token(chainKey: "a", address: "0x3") { symbol } }');
    expect(data).toEqual({ token: null });
    const count = await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}');
    expect(count).toBeGreaterThanOrEqual(held.length);
    await gateway.bring({}, DAY - 1);
    expect((await served(gateway)).listed).toEqual(listed);
    await gateway.bring({}, 1);
    const accepted = (after as (typeof ONE)[]).map(({ address }) => Number(address)).sort();
    expect(await served(gateway)).toEqual({ listed: accepted, held: [] });
  });

  it.each<[string, Rows, Rows, number]>([
    ['a second one beside it', [ONE], [ONE, TWO], 2],
    ['one of two that leaves', [ONE, TWO], [TWO], 1],
    ['one on another chain', [ONE, TWO], [TWO, { ...ONE, chainKey: 'b' }], 2],
    ['one of another symbol', [ONE], [{ ...TWO, symbol: 'DAI' }], 1],
    ['one without a symbol', [{ ...ONE, symbol: '' }], [{ ...TWO, symbol: '' }], 1],
  ])('not %s', async (_what, before, after, count) => {
    const gateway = await start([...before, ...REST]);
    await gateway.bring({ tokens: [...after, ...REST] });
    expect(gateway.heldBackRows()).toEqual([0, 0]);
    expect((await served(gateway)).listed).toHaveLength(count);
  });

  it('also if the new one comes first, and its clock begins when the old one leaves', async () => {
    const gateway = await start([ONE, ...REST]);
    await gateway.bring({ tokens: [ONE, TWO, ...REST] });
    expect(gateway.heldBackRows()).toEqual([0, 0]);
    await gateway.bring({ tokens: [TWO, ...REST] }, 23 * HOUR);
    expect(await served(gateway)).toEqual({ listed: [1, 2], held: [[1, null]] });
    await gateway.bring({}, DAY - 1);
    expect((await served(gateway)).listed).toEqual([1, 2]);
    await gateway.bring({}, 1);
    expect(await served(gateway)).toEqual({ listed: [2], held: [] });
  });

  it('also if the old one leaves first: the new one waits alone, and is counted and logged', async () => {
    const gateway = await start([ONE, ...REST]);
    await gateway.bring({ tokens: REST });
    await gateway.bring({ tokens: [TWO, ...REST] }, HOUR);
    expect(await served(gateway)).toEqual({ listed: [], held: [] });
    expect(gateway.heldBackRows()).toEqual([0, 1]);
    expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}')).toBe(1);
    expect(gateway.ruleInLog()).toBe('accept a:0x1 address 0x1 0x2');
    await gateway.bring({}, DAY);
    expect(await served(gateway)).toEqual({ listed: [2], held: [] });
    expect(gateway.heldBackRows()).toEqual([0, 0]);
  });

  it('is settled once it is accepted, and going back is another', async () => {
    const gateway = await start([ONE, ...REST]);
    await gateway.bring({ tokens: [TWO, ...REST] });
    await gateway.bring({}, DAY);
    await gateway.bring({ tokens: [TWO, THREE, ...REST] });
    expect(await served(gateway)).toEqual({ listed: [2, 3], held: [] });
    await gateway.bring({ tokens: [ONE, THREE, ...REST] });
    expect(await served(gateway)).toEqual({ listed: [2, 3], held: [[2, null]] });
  });

  it('keeps its clock while others come and go, and is over if the old one is back', async () => {
    // So many that those that go are no shrinking.
    const rest = Array.from({ length: 60 }, (_, index) => token(index + 10, `R${index}`));
    const gateway = await start([ONE, ...rest]);
    for (let hours = 0; hours < 24; hours++)
      await gateway.bring({ tokens: [TWO, ...rest, token(100 + hours, `N${hours}`)] }, HOUR);
    expect((await served(gateway)).listed).toEqual([1]);
    await gateway.bring({ tokens: [ONE, ...rest] });
    expect(await served(gateway)).toEqual({ listed: [1], held: [] });
    await gateway.bring({ tokens: [TWO, ...rest] }, HOUR);
    expect((await served(gateway)).held).toEqual([[1, null]]);
  });

  it('of thousands of rows with one symbol costs no more than of as many with their own', async () => {
    const many = (from: number) => Array.from({ length: 8_000 }, (_, index) => token(from + index, 'SAME'));
    const gateway = await start([...many(1_000), ...many(100_000), ...REST]);
    const begun = process.cpuUsage();
    await gateway.bring({ tokens: [...many(1_000), ...many(200_000), ...REST] });
    const { user, system } = process.cpuUsage(begun);
    expect(gateway.heldBackRows()[1]).toBeGreaterThanOrEqual(8_000);
    // Each with each would be 64 million comparisons.
    expect((user + system) / 1000).toBeLessThan(10_000);
  });
});
