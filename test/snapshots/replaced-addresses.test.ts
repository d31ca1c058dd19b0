/** If a token's address is replaced, the old row stays without a price, and the new one waits. */
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { DAY, HOUR } from '../support/clock.js';
import { numbered, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

const CHAINS = [chainRow('a')];
const token = (number: number, symbol = 'USDC') => numbered(number, { symbol, price: { usd: 1 } });
const [ONE, TWO, THREE] = [token(1), token(2), token(3)];
const RENAMED = { ...ONE, symbol: 'USDC.e' };
const REST = Array.from({ length: 10 }, (_, index) => token(index + 10, `S${index}`));
type Rows = readonly unknown[];
const start = (rows: Rows) => startGuarded({ chains: CHAINS, tokens: [...rows, ...REST] });
type Gateway = Awaited<ReturnType<typeof start>>;

/** The listed addresses below 10, and those of them that are held back. Fails if a held-back row has a price. */
async function served({ tokens }: Gateway) {
  const listed = (await tokens()).filter(({ address }) => Number(address) < 10);
  const held = listed.filter(({ heldBack }) => heldBack.length > 0);
  expect(held.map(({ price }) => price)).toEqual(held.map(() => null));
  const numbers = (rows: typeof listed) => rows.map(({ address }) => Number(address)).sort();
  return { listed: numbers(listed), held: numbers(held) };
}

async function bring(gateway: Gateway, rows: Rows, afterMs?: number) {
  await gateway.bring({ tokens: [...rows, ...REST] }, afterMs);
  return served(gateway);
}

async function again(gateway: Gateway, afterMs: number) {
  await gateway.bring({}, afterMs);
  return served(gateway);
}

it.each<[string, Rows, Rows, readonly number[]]>([
  ['under the same symbol', [ONE], [THREE], [1]],
  ['under a Cyrillic look-alike of USDC', [ONE], [{ ...THREE, symbol: 'USD\u0421' }], [1]],
  ['where two addresses share the symbol', [ONE, TWO], [TWO, THREE], [1, 2]],
  ['where two addresses become one', [ONE, TWO], [THREE], [1, 2]],
  ['where one address becomes two', [ONE], [TWO, THREE], [1]],
])('the old row of a replaced address stays: %s', async (_what, before, after, listed) => {
  const gateway = await start(before);
  const held = listed.filter((number) => !(number === 2 && after.includes(TWO)));
  expect(await bring(gateway, after)).toEqual({ listed, held });
  const { data } = await gateway.query('{ token(chainKey: "a", address: "0x3") { symbol } }');
  expect(data).toEqual({ token: null });
  const count = await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}');
  expect(count).toBeGreaterThanOrEqual(held.length);
  expect((await again(gateway, DAY - 1)).listed).toEqual(listed);
  const accepted = (after as (typeof ONE)[]).map(({ address }) => Number(address)).sort();
  expect(await again(gateway, 1)).toEqual({ listed: accepted, held: [] });
});

it.each<[string, Rows, Rows, number]>([
  ['a second address is listed beside the first', [ONE], [ONE, TWO], 2],
  ['one of two addresses is removed', [ONE, TWO], [TWO], 1],
  ['the new address is on another chain', [ONE, TWO], [TWO, { ...ONE, chainKey: 'b' }], 2],
  ['the new address has another symbol', [ONE], [{ ...TWO, symbol: 'DAI' }], 1],
  ['there is no symbol', [{ ...ONE, symbol: '' }], [{ ...TWO, symbol: '' }], 1],
])('nothing is held back if %s', async (_what, before, after, count) => {
  const gateway = await start(before);
  expect((await bring(gateway, after)).listed).toHaveLength(count);
  expect(gateway.heldBackRows()).toEqual([0, 0]);
});

it('a new token that waits alone is counted, even if an old token of another chain waits for the same address', async () => {
  const onB = (row: object) => ({ ...row, chainKey: 'b' });
  const gateway = await start([ONE, onB(ONE)]);
  await bring(gateway, [ONE]);
  await bring(gateway, [TWO, onB(TWO)]);
  expect((await gateway.tokens()).filter(({ heldBack }) => heldBack.length > 0)).toMatchObject([
    { chainKey: 'a' },
  ]);
  expect(gateway.heldBackRows()).toEqual([0, 2]);
  expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}')).toBe(2);
});

it('a new address that is listed first waits, too: its hold-back period begins when the old one is removed', async () => {
  const gateway = await start([ONE]);
  await bring(gateway, [ONE, TWO]);
  expect(gateway.heldBackRows()).toEqual([0, 0]);
  expect(await bring(gateway, [TWO], 23 * HOUR)).toEqual({ listed: [1, 2], held: [1] });
  expect((await again(gateway, DAY - 1)).listed).toEqual([1, 2]);
  expect(await again(gateway, 1)).toEqual({ listed: [2], held: [] });
});

it('the log does not warn that a removed address is not listed if a rule that it has proposed names the address', async () => {
  const gateway = await start([ONE]);
  await bring(gateway, []);
  await bring(gateway, [TWO]);
  await gateway.apply(`${gateway.ruleInLog()}\nhide a:0x2`);
  expect(gateway.linesWith('LISTING_RULES names')).toEqual([]);
  await gateway.apply('hide a:0x1\nhide "o & c"');
  expect(gateway.linesWith('LISTING_RULES names')).toMatchObject([{ count: 1, first: ['o & c'] }]);
});

it('a new address waits alone if the old one is removed first, and is counted and logged', async () => {
  const gateway = await start([ONE]);
  await bring(gateway, []);
  expect(await bring(gateway, [TWO], HOUR)).toEqual({ listed: [], held: [] });
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}')).toBe(1);
  expect(gateway.ruleInLog()).toBe('accept a:0x1 address 0x1 0x2');
  await gateway.apply('hide other');
  expect(gateway.heldBackLines()).toEqual([
    expect.stringContaining(': 0x1 was the last address of its symbol, and'),
  ]);
  expect(await again(gateway, DAY - 1)).toEqual({ listed: [], held: [] });
  expect(await again(gateway, 1)).toEqual({ listed: [2], held: [] });
  expect(gateway.heldBackRows()).toEqual([0, 0]);
});

it('a new address with the symbol of a token that is being renamed waits for a day of its own, is counted and logged', async () => {
  const gateway = await start([ONE]);
  await bring(gateway, [RENAMED]);
  expect(await bring(gateway, [RENAMED, TWO], DAY - HOUR)).toEqual({ listed: [1], held: [1] });
  expect(gateway.heldBackRows()).toEqual([0, 2]);
  expect(gateway.ruleInLog()).toBe('accept a:0x1 address 0x1 0x2');
  // Now the new symbol of the first token is accepted.
  expect(await again(gateway, HOUR)).toEqual({ listed: [1], held: [] });
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  expect(await again(gateway, DAY - HOUR - 1)).toEqual({ listed: [1], held: [] });
  expect(await again(gateway, 1)).toEqual({ listed: [1, 2], held: [] });
});

it('a new address with the former symbol of a renamed token waits for a day, also after a restart, or until a rule accepts it', async () => {
  const rename = 'accept a:0x1 symbol USDC USDC.e';
  const first = await startGuarded({ chains: CHAINS, tokens: [ONE, ...REST] }, onDisk());
  await first.apply(rename);
  expect(await bring(first, [RENAMED])).toEqual({ listed: [1], held: [] });
  const gateway = await restart(first);
  expect(await bring(gateway, [RENAMED, TWO], HOUR)).toEqual({ listed: [1], held: [] });
  expect(gateway.heldBackLines()).toEqual([
    expect.stringContaining(': 0x1 was the last address of its symbol, and'),
  ]);
  expect(await again(gateway, DAY - 1)).toEqual({ listed: [1], held: [] });
  await gateway.apply(`${rename}\naccept a:0x1 address 0x1 0x2`);
  expect(await served(gateway)).toEqual({ listed: [1, 2], held: [] });
});

it('the old row of a replaced address stays also while rows of the new address contradict each other', async () => {
  const gateway = await start([ONE]);
  expect(await bring(gateway, [TWO, { ...TWO, decimals: 18 }])).toEqual({ listed: [1], held: [1] });
  expect(await again(gateway, 2 * DAY)).toEqual({ listed: [1], held: [1] });
  await gateway.apply('hide other');
  expect(await served(gateway)).toEqual({ listed: [1], held: [1] });
  expect(await bring(gateway, [TWO])).toEqual({ listed: [1], held: [1] });
  expect((await again(gateway, DAY - 1)).listed).toEqual([1]);
  expect(await again(gateway, 1)).toEqual({ listed: [2], held: [] });
});

it('a keep rule on an address refuses new addresses of its symbol also while the token gets one new symbol after the other', async () => {
  const gateway = await start([ONE]);
  await gateway.apply('keep a:0x1 address 0x1');
  await bring(gateway, [RENAMED, TWO]);
  await bring(gateway, [{ ...ONE, symbol: 'OTHER' }, TWO], DAY / 2);
  expect(await again(gateway, DAY / 2)).toEqual({ listed: [1], held: [1] });
  expect(await again(gateway, 2 * DAY)).toEqual({ listed: [1], held: [] });
  expect(gateway.heldBackRows()).toEqual([0, 1]);
});

it('a dozen new addresses in one refresh all wait', async () => {
  const dozen = Array.from({ length: 12 }, (_, index) => token(index + 100));
  const gateway = await start([ONE]);
  const others = async () =>
    (await gateway.tokens()).filter(({ address }) => Number(address) < 10 || Number(address) >= 100);
  await bring(gateway, dozen);
  expect(await others()).toMatchObject([{ address: ONE.address, price: null }]);
  await gateway.bring({}, DAY - 1);
  expect(await others()).toHaveLength(1);
  await gateway.bring({}, 1);
  expect((await others()).map(({ address }) => address)).not.toContain(ONE.address);
  await gateway.bring({}, DAY);
  expect(await others()).toHaveLength(12);
});

it('a new address waits until the operator accepts it in place of one of two old ones', async () => {
  const gateway = await start([ONE, TWO]);
  await bring(gateway, [THREE]);
  await gateway.apply('accept a:0x1 address 0x1 0x3');
  expect(await served(gateway)).toEqual({ listed: [2, 3], held: [2] });
});

it.each<[string, string, readonly Rows[], number]>([
  ['a listed token', 'keep a:0x1 address 0x1', [[TWO, THREE]], 2],
  ['a removed token', 'keep a:0x1 address 0x1', [[], [TWO]], 1],
  ['a token whose symbol is held back', 'keep a:0x1 symbol USDC', [[RENAMED, TWO]], 2],
])('a new address waits for ever, uncounted, if a keep rule names %s', async (_what, rule, sent, rows) => {
  const gateway = await start([ONE]);
  const inMetrics = () =>
    Promise.all([
      gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}'),
      gateway.sample('gateway_held_back_rows{listing="tokens",fact="symbol"}'),
    ]);
  for (const tokens of sent) await bring(gateway, tokens);
  expect(gateway.heldBackRows()).toEqual([0, rows]);
  const [address = 0, symbol = 0] = await inMetrics();
  expect(address + symbol).toBe(rows);
  await gateway.apply('keep a:0x2 address 0x2\nkeep a:0x2 symbol USDC');
  expect(await inMetrics()).toEqual([address, symbol]);
  await gateway.apply(rule);
  await gateway.bring({}, 10 * DAY);
  expect(gateway.heldBackRows()).toEqual([0, rows]);
  expect(await inMetrics()).toEqual([0, 0]);
  expect(await gateway.sample('gateway_held_back_oldest_seconds{listing="tokens"}')).toBe(0);
});

it('a new address waits as long as a keep rule refuses it, also after days in which neither token was sent', async () => {
  const gateway = await start([ONE]);
  await gateway.apply('keep a:0x1 address 0x1');
  expect(await bring(gateway, [TWO])).toEqual({ listed: [1], held: [1] });
  await bring(gateway, []);
  await again(gateway, 2 * DAY);
  expect(await bring(gateway, [TWO])).toEqual({ listed: [], held: [] });
  expect(await again(gateway, 2 * DAY)).toEqual({ listed: [], held: [] });
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  // Then the hold-back period begins anew, also for an address that replaces a listed row.
  await gateway.apply('');
  expect(await again(gateway, DAY - 1)).toEqual({ listed: [], held: [] });
  expect(await again(gateway, 1)).toEqual({ listed: [2], held: [] });
  const later = await start([TWO]);
  await later.apply('keep a:0x2 address 0x2');
  await bring(later, [THREE]);
  await again(later, 2 * DAY);
  await later.apply('');
  expect(await again(later, DAY - 1)).toEqual({ listed: [2], held: [2] });
  expect(await again(later, 1)).toEqual({ listed: [3], held: [] });
});

it('a new address waits while a rule keeps one of two removed ones with its symbol, until a rule accepts it in place of the other', async () => {
  const gateway = await start([ONE, TWO]);
  await bring(gateway, []);
  const keep = 'keep a:0x1 address 0x1';
  await gateway.apply(keep);
  await bring(gateway, [THREE]);
  expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="address"}')).toBe(0);
  expect(await again(gateway, DAY)).toEqual({ listed: [], held: [] });
  await gateway.apply(`${keep}\naccept a:0x2 address 0x2 0x3`);
  expect(await served(gateway)).toEqual({ listed: [3], held: [] });
});

it('a new address waits until it is accepted; a move back to the old address is held back, too', async () => {
  const gateway = await start([ONE]);
  await bring(gateway, [TWO]);
  await gateway.bring({}, DAY);
  expect(await bring(gateway, [TWO, THREE])).toEqual({ listed: [2, 3], held: [] });
  expect(await bring(gateway, [ONE, THREE])).toEqual({ listed: [2, 3], held: [2] });
});

it('a new address has the same hold-back period while other rows change, until the old one is listed again', async () => {
  // There are so many rows that the removed ones do not count as a loss.
  const rest = Array.from({ length: 60 }, (_, index) => token(index + 10, `R${index}`));
  const gateway = await start([ONE, ...rest]);
  for (let hours = 0; hours < 24; hours++)
    await gateway.bring({ tokens: [TWO, ...rest, token(100 + hours, `N${hours}`)] }, HOUR);
  expect((await served(gateway)).listed).toEqual([1]);
  await gateway.bring({ tokens: [ONE, ...rest] });
  expect(await served(gateway)).toEqual({ listed: [1], held: [] });
  await gateway.bring({ tokens: [TWO, ...rest] }, HOUR);
  expect((await served(gateway)).held).toEqual([1]);
});
