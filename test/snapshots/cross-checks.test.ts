/** Facts and prices that contradict other facts or earlier prices are not served as if they were right. */
import { expect, it } from 'vitest';
import { demoChains } from '../fixtures/demo.js';
import { chainRow, PLACEHOLDER, tokenRow, USDC } from '../fixtures/rows.js';
import { DAY, MINUTE, until } from '../support/clock.js';
import { json, late } from '../support/fake-upstream.js';
import { type GuardedGateway, numbered, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

const ETHEREUM = demoChains.find(({ chainKey }) => chainKey === 'ethereum') ?? chainRow('ethereum');
const EVIL = chainRow('evil', { chainId: 1 });
const TOKENS = [tokenRow('ethereum', USDC), tokenRow('evil', USDC, { decimals: 18, symbol: 'EVIL' })];

const [one, two, three] = ['one', 'two', 'three'].map((key) => chainRow(key, { chainId: 5 }));

const numbersOf = async (gateway: GuardedGateway) =>
  Object.fromEntries((await gateway.chains()).map(({ chainKey, caip2 }) => [chainKey, caip2]));

it.each([
  ['in this order', [ETHEREUM, EVIL]],
  ['in the reverse order', [EVIL, ETHEREUM]],
])('of two EVM chains with one chainId, only that of the demo data has it: %s', async (_order, chains) => {
  const gateway = await startGuarded({ chains, tokens: TOKENS });
  expect(await numbersOf(gateway)).toEqual({ ethereum: 'eip155:1', evil: null });
  const caip19 = `eip155:1/erc20:${USDC}`;
  const { data } = await gateway.query(
    `{ tokens { chainKey caip19 }
        tokensByCaip19(caip19s: ["${caip19}"]) { chainKey decimals }
        chainsByCaip2(caip2s: ["eip155:1"]) { chainKey } }`,
  );
  expect(data).toEqual({
    tokens: TOKENS.map(({ chainKey }) => ({ chainKey, caip19: chainKey === 'evil' ? null : caip19 })),
    tokensByCaip19: [{ chainKey: 'ethereum', decimals: 6 }],
    chainsByCaip2: [{ chainKey: 'ethereum' }],
  });
  const list = (await (await gateway.fetch('/tokenlist.json')).json()) as { tokens: readonly object[] };
  expect(list.tokens).toEqual([expect.objectContaining({ chainId: 1, address: USDC, decimals: 6 })]);
});

it('two chains with one chainId leave caip2 to the one that had it, also after a restart; if neither had it, neither gets it', async () => {
  const gateway = await startGuarded({ chains: [one], tokens: TOKENS }, onDisk());
  expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5' });
  await gateway.bring({ chains: [two, one] });
  expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5', two: null });
  const { clock } = gateway;
  const after = await restart(gateway);
  expect(await numbersOf(after)).toEqual({ one: 'eip155:5', two: null });
  await after.bring({ chains: [three, two, one] });
  expect(await numbersOf(after)).toEqual({ one: 'eip155:5', two: null, three: null });
  const first = await startGuarded({ chains: [two, three], tokens: [tokenRow('two', USDC)] }, { clock });
  expect(await numbersOf(first)).toEqual({ two: null, three: null });
  const found = `{ chainsByCaip2(caip2s: ["eip155:5"]) { name }
      tokensByCaip19(caip19s: ["eip155:5/erc20:${USDC}"]) { name } }`;
  expect(await first.query(found)).toEqual({ data: { chainsByCaip2: [null], tokensByCaip19: [null] } });
});

it('a removed chain keeps its CAIP-2 identifier for HOLD_BACK_MS: no other chain gets it', async () => {
  const gateway = await startGuarded({ chains: [one, EVIL], tokens: TOKENS });
  await gateway.bring({ chains: [two, EVIL] });
  expect(await numbersOf(gateway)).toMatchObject({ two: null });
  await gateway.bring({}, DAY - 1);
  expect(await numbersOf(gateway)).toMatchObject({ two: null });
  await gateway.bring({}, 1);
  expect(await numbersOf(gateway)).toMatchObject({ two: 'eip155:5' });
});

it('a chain whose chainId has changed keeps its earlier CAIP-2 identifier from other chains for HOLD_BACK_MS', async () => {
  const gateway = await startGuarded({ chains: [one, EVIL], tokens: TOKENS });
  const renumbered = { ...one, chainId: 6 };
  await gateway.bring({ chains: [renumbered, EVIL] });
  await gateway.bring({ chains: [renumbered, two, EVIL] }, DAY - MINUTE);
  expect(await numbersOf(gateway)).toMatchObject({ one: 'eip155:5', two: null });
  await gateway.bring({}, MINUTE);
  expect(await numbersOf(gateway)).toMatchObject({ one: 'eip155:6', two: null });
  await gateway.bring({}, DAY - 1);
  expect(await numbersOf(gateway)).toMatchObject({ one: 'eip155:6', two: null });
  await gateway.bring({}, 1);
  expect(await numbersOf(gateway)).toMatchObject({ one: 'eip155:6', two: 'eip155:5' });
});

it('with HOLD_BACK_MS=never a removed chain keeps its CAIP-2 identifier until a rule hides the chain', async () => {
  const config = { holdBackMs: Number.POSITIVE_INFINITY };
  const gateway = await startGuarded({ chains: [one, EVIL], tokens: TOKENS }, { config });
  await gateway.bring({ chains: [two, EVIL] });
  await gateway.bring({}, 1000 * DAY);
  expect(await numbersOf(gateway)).toMatchObject({ two: null });
  await gateway.apply('hide one');
  expect(await numbersOf(gateway)).toMatchObject({ two: 'eip155:5' });
  await gateway.apply('');
  expect(await numbersOf(gateway)).toMatchObject({ two: 'eip155:5' });
});

it.each(['hide two', 'chains one'])(
  'after "%s", the only shown chain gets the number that no chain had, and keeps it',
  async (rule) => {
    const gateway = await startGuarded({ chains: [one, two], tokens: TOKENS });
    expect(await numbersOf(gateway)).toEqual({ one: null, two: null });
    await gateway.apply(rule);
    expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5' });
    await gateway.apply('');
    expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5', two: null });
    await gateway.apply('hide one\nhide two');
    await gateway.apply('');
    expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5', two: null });
    await gateway.apply('hide one');
    expect(await numbersOf(gateway)).toEqual({ two: null });
  },
);

it('the log says once which chains have no number because others claim it, and what to do', async () => {
  const gateway = await startGuarded({ chains: [ETHEREUM, EVIL, one], tokens: TOKENS });
  const lines = () => gateway.linesWith('caip2');
  expect(lines()).toMatchObject([
    { level: 'warn', listing: 'chains', count: 1, first: ['eip155:1: ethereum, evil'] },
  ]);
  expect(lines()[0]?.msg).toContain('LISTING_RULES');
  await gateway.bring({ chains: [ETHEREUM, EVIL, two] });
  await gateway.bring({});
  expect(lines()[1]).toMatchObject({ count: 1, first: ['eip155:5: two, one'] });
  expect(lines()).toHaveLength(2);
  await gateway.apply('hide one');
  await gateway.apply('hide evil');
  expect(lines()).toHaveLength(2);
});

it('a listed chain that a rule hides keeps its CAIP-2 identifier', async () => {
  const gateway = await startGuarded({ chains: [one], tokens: TOKENS });
  await gateway.bring({ chains: [one, two] });
  await gateway.apply('hide eip155:5');
  for (let times = 0; times < 3; times++) {
    expect(await numbersOf(gateway)).toEqual({ two: null });
    await gateway.bring({});
  }
});

const ether = (decimals: number) =>
  tokenRow('a', PLACEHOLDER, { symbol: 'ETH', decimals, price: { usd: 2 } });
const LISTINGS = { chains: [chainRow('a')], tokens: [ether(6), tokenRow('a', USDC)] };
const held = { fact: 'decimals', served: '6', upstream: '18' };

it('native assets with disputed decimals are served without a price, reported and counted while the listings disagree', async () => {
  const gateway = await startGuarded(LISTINGS);
  const since = new Date(Date.now()).toISOString();
  // The listings are compared once both are fetched.
  await until(async () => gateway.heldBackRows()[1] === 1);
  for (let days = 0; days < 3; days++) {
    expect(await gateway.first()).toMatchObject({
      decimals: 6,
      price: null,
      heldBack: [{ ...held, since }],
    });
    expect((await gateway.tokens())[1]).toMatchObject({ heldBack: [], price: { usd: 0.9998 } });
    expect(gateway.heldBackRows()).toEqual([0, 1]);
    expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="decimals"}')).toBe(1);
    await gateway.bring({}, DAY);
  }
  await gateway.bring({ tokens: [ether(18)] });
  // The listings now agree, but the change from 6 to 18 is held back, like any change of the token listing.
  expect(await gateway.first()).toMatchObject({ decimals: 6, heldBack: [held] });
  await gateway.bring({}, DAY);
  expect(await gateway.first()).toMatchObject({ decimals: 18, heldBack: [] });
});

it('a native asset agrees with a chain whose held-back decimals the upstream sends: it is served as accepted, without a mark', async () => {
  const [chain] = LISTINGS.chains;
  const gateway = await startGuarded({ chains: LISTINGS.chains, tokens: [ether(18), tokenRow('a', USDC)] });
  await gateway.apply(`accept a:${PLACEHOLDER} decimals 18 6`);
  const nativeCurrency = { ...(chain?.nativeCurrency as object), decimals: 6 };
  await gateway.bring({ chains: [{ ...chain, nativeCurrency }], tokens: LISTINGS.tokens });
  expect((await gateway.chains())[0]).toMatchObject({
    nativeCurrency: { decimals: 18 },
    heldBack: [{ fact: 'nativeCurrency' }],
  });
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: { usd: 2 }, heldBack: [] });
});

it('a native asset stays marked if the chain is sent twice, once with the decimals of the asset', async () => {
  const [chain] = LISTINGS.chains;
  const gateway = await startGuarded(LISTINGS);
  await until(async () => gateway.heldBackRows()[1] === 1);
  const sentTwice = [6, 7].map((decimals) => ({
    ...chain,
    nativeCurrency: { ...(chain?.nativeCurrency as object), decimals },
  }));
  await gateway.bring({ chains: [...sentTwice, chainRow('b')] });
  expect((await gateway.chains())[0]).toMatchObject({ heldBack: [{ fact: 'nativeCurrency' }] });
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: null, heldBack: [held] });
});

it('disputed decimals are reported for the placeholder, too, if the chain names another address', async () => {
  const nativeCurrency = { ...(chainRow('a').nativeCurrency as object), address: USDC };
  const own = tokenRow('a', USDC, { decimals: 18 });
  const chains = [chainRow('a', { nativeCurrency })];
  const gateway = await startGuarded({ chains, tokens: [ether(6), own] });
  await until(async () => gateway.heldBackRows()[1] === 1);
  expect(await gateway.tokens()).toMatchObject([{ decimals: 6, heldBack: [held] }, { heldBack: [] }]);
});

it('disputed decimals are reported if the chains are fetched last, and settled by the rule that the log gives', async () => {
  const { chains, tokens } = LISTINGS;
  const gateway = await startGuarded({ chains: late(200, json({ chains })), tokens });
  await expect.poll(async () => await gateway.first()).toMatchObject({ heldBack: [held] });
  await expect.poll(gateway.ruleInLog).toBe(`keep a:${PLACEHOLDER} decimals 6`);
  await gateway.apply(gateway.ruleInLog() ?? '');
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: { usd: 2 }, heldBack: [] });
  expect(gateway.heldBackRows()).toEqual([0, 0]);
});

const CHAINS = [chainRow('a')];
const token = (number: number, usd: number | null, symbol = `S${number}`) =>
  numbered(number, { symbol, price: usd === null ? null : { usd } });
const tokens = (price: (number: number) => number | null) =>
  Array.from({ length: 10 }, (_, index) => token(index + 1, price(index + 1)));
const times = (factor: number) => tokens((number) => number * factor);
const [GOOD, HIGH] = [times(1), times(1000)];
const sentIn = (rows: typeof GOOD) => rows.map(({ price }) => (price as { usd: number }).usd);
const pricesOf = async (gateway: GuardedGateway) =>
  (await gateway.tokens()).map(({ price }) => price?.usd ?? null);
const NONE = GOOD.map(() => null);

async function bring(gateway: GuardedGateway, rows: typeof GOOD | undefined, afterMs?: number) {
  await gateway.bring(rows ? { tokens: rows } : {}, afterMs);
  return pricesOf(gateway);
}
const again = (gateway: GuardedGateway, afterMs?: number) => bring(gateway, undefined, afterMs);

it('prices a thousand times as high are null until the upstream has sent them for ten minutes', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  expect(await bring(gateway, HIGH)).toEqual(NONE);
  await gateway.bring({}, 5 * MINUTE);
  expect(await again(gateway, 5 * MINUTE - 1)).toEqual(NONE);
  expect(await again(gateway, 1)).toEqual(sentIn(HIGH));
  // Only prices were in doubt: no row is held back.
  expect(gateway.heldBackRows()).toEqual([0, 0]);
});

it('far higher prices are null for ten minutes if the clock is set back during this time', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  await gateway.bring({ tokens: HIGH });
  gateway.clock.setBack(2 * DAY);
  expect(await again(gateway)).toEqual(NONE);
  expect(await again(gateway, 10 * MINUTE)).toEqual(sentIn(HIGH));
});

it('far higher prices are null for ten minutes after their request, even if a cache had the first answer for an hour', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  await gateway.bring({ tokens: HIGH }, 61 * MINUTE, { age: '3600' });
  expect(await bring(gateway, HIGH)).toEqual(NONE);
  expect(await again(gateway, 9.5 * MINUTE)).toEqual(sentIn(HIGH));
});

it('far higher prices are served after ten minutes even if they change a little, but not if much', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  await gateway.bring({ tokens: HIGH });
  await gateway.bring({ tokens: times(1100) }, 6 * MINUTE);
  expect(await bring(gateway, times(900), 4 * MINUTE)).toEqual(sentIn(times(900)));
  await gateway.bring({ tokens: GOOD });
  expect(await bring(gateway, times(900))).toEqual(sentIn(times(900)));
  await gateway.bring({ tokens: GOOD });
  await gateway.bring({ tokens: times(0.01) }, 6 * MINUTE);
  expect(await bring(gateway, GOOD, 6 * MINUTE)).toEqual(NONE);
});

it('a price that rises on and on is null until it has stayed near one price for ten minutes', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  let factor = 10;
  for (let minutes = 0; minutes < 20; minutes++, factor *= 2.3)
    expect(await bring(gateway, times(factor), MINUTE)).toEqual(NONE);
  expect(await again(gateway, 10 * MINUTE)).toEqual(sentIn(times(factor / 2.3)));
});

it('the ten minutes of far higher prices begin anew if a listing that is held back as a whole has others or none', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  await gateway.bring({ tokens: HIGH });
  const [one = token(1, 1000), two = token(2, 2)] = [HIGH[0], GOOD[1]];
  await gateway.bring({ tokens: [one, two, token(3, null)] }, 6 * MINUTE);
  expect(gateway.refreshes.at(-1)).toEqual({ listing: 'tokens', outcome: 'held_back' });
  expect(await bring(gateway, HIGH, 4 * MINUTE)).toEqual([1000, ...NONE.slice(1)]);
  expect(await again(gateway, 6 * MINUTE - 1)).toEqual([1000, ...NONE.slice(1)]);
  expect(await again(gateway, 1)).toEqual(sentIn(HIGH));
});

it('prices are compared with the last ones also after refreshes without prices, and after a restart', async () => {
  const before = await startGuarded({ chains: CHAINS, tokens: GOOD }, onDisk());
  await before.bring({ tokens: tokens(() => null) });
  expect(await bring(before, HIGH)).toEqual(NONE);
  const after = await restart(before);
  expect(await pricesOf(after)).toEqual(NONE);
  expect(await again(after, 10 * MINUTE - 1)).toEqual(NONE);
  expect((await again(after, 1))[0]).toBe(1000);
});

it('the price of a row that is listed again is compared with its last one, also after a restart', async () => {
  const before = await startGuarded({ chains: CHAINS, tokens: GOOD }, onDisk());
  await before.bring({ tokens: GOOD.slice(1) });
  await before.bring({}, 20 * MINUTE);
  const after = await restart(before);
  expect((await bring(after, [token(1, 1000), ...GOOD.slice(1)]))[0]).toBeNull();
  expect(await bring(after, GOOD)).toEqual(sentIn(GOOD));
});

it('a price that is higher or lower by a factor of nine is served', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: GOOD });
  for (const factor of [9, 1]) expect(await bring(gateway, times(factor))).toEqual(sentIn(times(factor)));
});

it('the price of one USDC at 2,500 beside others at 1 is null in the first listing, and the others are served', async () => {
  const usdc = [1, 0.999, 2500, 1.001, 1].map((usd, index) => token(index + 1, usd, 'USDC'));
  const gateway = await startGuarded({ chains: CHAINS, tokens: [...usdc, token(9, 2500, 'ETH')] });
  expect(await pricesOf(gateway)).toEqual([1, 0.999, null, 1.001, 1, 2500]);
  expect((await again(gateway, 10 * MINUTE - 1))[2]).toBeNull();
  expect((await again(gateway, 1))[2]).toBe(2500);
});

it('prices of tokens without a symbol are not compared with each other', async () => {
  const tokens = ['', '', ' ', ' '].map((symbol, index) => token(index + 1, 1000 ** index, symbol));
  expect(await pricesOf(await startGuarded({ chains: CHAINS, tokens }))).toEqual(sentIn(tokens));
});

it.each([
  [
    'unlike two others of its symbol in another letter case',
    [token(1, 1), token(2, 1, 's1'), token(3, 2500, 'S1')],
    [1, 1, null],
  ],
  ['unlike the only other price of its symbol', [token(1, 1), token(2, 2500, 'S1')], [null, null]],
])('a price %s is null in the first listing', async (_what, tokens, prices) => {
  expect(await pricesOf(await startGuarded({ chains: CHAINS, tokens }))).toEqual(prices);
});
