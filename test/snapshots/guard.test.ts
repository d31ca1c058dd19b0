/** A changed guarded value is held back in its row, until all listings have had it for HOLD_BACK_MS. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { DAY, HOUR, MINUTE, until } from '../support/clock.js';
import type { FakeListings } from '../support/fake-upstream.js';
import { numbered, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

const NATIVE = { chainKey: 'a', name: 'Ether', symbol: 'ETH', decimals: 18, address: '0xEe' };
const CHAIN = chainRow('a', { nativeCurrency: NATIVE });
const CHAINS = [CHAIN, chainRow('b', { chainId: 9 })];
const token = (number: number, changes: object = {}) =>
  numbered(number, { price: { usd: number }, ...changes });
const TOKENS = Array.from({ length: 10 }, (_, index) => token(index + 1));
const [ONE, TWO, ...REST] = TOKENS;
const LISTINGS = { chains: CHAINS, tokens: TOKENS };
const wrong = (decimals = 18) => ({ ...ONE, decimals });
const asFact = (fact: string, served: string, upstream: string) =>
  expect.objectContaining({ fact, served, upstream });

it('steady wrong decimals are held back: the row stays as it was, without a price, until every listing of HOLD_BACK_MS had them', async () => {
  const gateway = await startGuarded(LISTINGS);
  const since = new Date(Date.now() + MINUTE / 2).toISOString();
  const accepted = 'gateway_accepted_changes_total{listing="tokens",fact="decimals",by="time"}';
  const held = 'gateway_held_back_rows{listing="tokens",fact="decimals"}';
  const oldest = 'gateway_held_back_oldest_seconds{listing="tokens"}';
  const samples = () => Promise.all([accepted, held, oldest].map(gateway.sample));
  const withNewRow = [...TOKENS, token(11)];
  for (let minutes = 0; minutes < 30; minutes++) {
    const prices = withNewRow.map((row, index) => ({ ...row, price: { usd: index + 1 + minutes / 100 } }));
    await gateway.bring({ tokens: [{ ...prices[0], decimals: 18, name: 'Wrong' }, ...prices.slice(1)] });
    const [first, ...others] = await gateway.tokens();
    expect(first).toMatchObject({
      decimals: 6,
      price: null,
      heldBack: [{ fact: 'decimals', served: '6', upstream: '18', since }],
    });
    expect(others.map(({ price, heldBack }) => [price?.usd, heldBack])).toEqual(
      prices.slice(1).map(({ price }) => [price.usd, []]),
    );
  }
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  expect(gateway.listings().tokens).toMatchObject({ isHeldBack: false, lastFailure: null });
  expect(await samples()).toEqual([0, 1, 29 * 30]);
  expect(gateway.heldBackLines()).toEqual([
    'Held back in the tokens listing: 6 is served as decimals, and the upstream now sends 18. If the upstream is right, add this line to LISTING_RULES: accept a:0x1 decimals 6 18',
  ]);
  await gateway.bring({}, DAY - (29 * MINUTE) / 2 - 1);
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: null });
  await gateway.bring({}, 1);
  expect(await gateway.first()).toMatchObject({ decimals: 18, price: { usd: 1.29 }, heldBack: [] });
  expect(await samples()).toEqual([1, 0, 0]);
  expect(gateway.heldBackRows()).toEqual([0, 0]);
  expect(gateway.logged.map(({ msg }) => msg)).toContain(
    'Accepted in the tokens listing: 18 in place of 6 as decimals, because every listing of the hold-back period had it',
  );
  // The accepted value is guarded from then on.
  await gateway.bring({ tokens: TOKENS });
  expect(await gateway.first()).toMatchObject({ decimals: 18, heldBack: [asFact('decimals', '18', '6')] });
});

it.each<[string, readonly unknown[]]>([
  ['a row that cannot be read', [{ ...ONE, decimals: '18' }]],
  ['two that contradict each other', [wrong(18), wrong(6)]],
])('the hold-back period of a row starts again after %s', async (_what, between) => {
  const gateway = await startGuarded(LISTINGS);
  const both = [wrong(), { ...TWO, decimals: 18 }, ...REST];
  await gateway.bring({ tokens: both });
  await gateway.bring({ tokens: [...between, ...both.slice(1)] }, HOUR);
  await gateway.bring({ tokens: both }, HOUR);
  await gateway.bring({}, DAY - 2 * HOUR);
  const decimals = async () =>
    Object.fromEntries((await gateway.tokens()).map((row) => [row.address, row.decimals]));
  expect(await decimals()).toMatchObject({ '0x1': 6, '0x2': 18 });
  await gateway.bring({}, 2 * HOUR - 1);
  expect(await decimals()).toMatchObject({ '0x1': 6 });
  await gateway.bring({}, 1);
  expect(await decimals()).toMatchObject({ '0x1': 18 });
});

it('the hold-back period starts again, for this row only and also after a restart, if a listing that is held back as a whole has another value', async () => {
  const gateway = await startGuarded(LISTINGS, onDisk());
  const { snapshotDir = '' } = gateway.config;
  const both = [wrong(), { ...TWO, decimals: 18 }, ...REST];
  await gateway.bring({ tokens: both });
  await gateway.bring({ tokens: [ONE, both[1]] }, HOUR);
  expect(gateway.refreshes.at(-1)).toEqual({ listing: 'tokens', outcome: 'held_back' });
  const stored = () => readdirSync(snapshotDir).map((file) => readFileSync(join(snapshotDir, file), 'utf8'));
  const since = new Date(Date.now()).toISOString();
  await until(async () => (await gateway.first())?.heldBack[0]?.since === since);
  await until(async () => stored().join().includes(`"since":${Date.now()}}`));
  const cursor = '{ tokenChanges { cursor } }';
  const { data } = await gateway.query<{ tokenChanges: { cursor: string } }>(cursor);
  const after = await restart(gateway);
  const changes = `{ tokenChanges(since: "${data?.tokenChanges.cursor}") { isReset changed { symbol } } }`;
  expect((await after.query(changes)).data).toEqual({ tokenChanges: { isReset: false, changed: [] } });
  await after.bring({ tokens: both }, DAY - HOUR);
  expect((await after.tokens()).map(({ decimals }) => decimals).slice(0, 2)).toEqual([6, 18]);
  await after.bring({}, HOUR - 1);
  expect(await after.first()).toMatchObject({ decimals: 6 });
  await after.bring({}, 1);
  expect(await after.first()).toMatchObject({ decimals: 18 });
});

it('changed decimals are never accepted if HOLD_BACK_MS is never, and at once if it is 0', async () => {
  const never = await startGuarded(LISTINGS, { config: { holdBackMs: Number.POSITIVE_INFINITY } });
  await never.bring({ tokens: [wrong(), TWO, ...REST] });
  await never.bring({}, 1000 * DAY);
  expect((await never.first())?.decimals).toBe(6);
  const atOnce = await startGuarded(LISTINGS, { clock: never.clock, config: { holdBackMs: 0 } });
  await atOnce.bring({ tokens: [wrong(), TWO, ...REST] }, HOUR, { age: '600' });
  expect((await atOnce.first())?.decimals).toBe(18);
});

it('the hold-back period begins with the request, even if the answer was in a cache before, as its Age says', async () => {
  const gateway = await startGuarded(LISTINGS);
  await gateway.bring({ tokens: [wrong(), TWO, ...REST] }, 2 * DAY, { age: String(1.5 * 86_400) });
  const since = new Date(Date.now()).toISOString();
  expect(await gateway.first()).toMatchObject({ decimals: 6, heldBack: [{ since }] });
  await gateway.bring({ tokens: [wrong(), TWO, ...REST] });
  expect((await gateway.first())?.decimals).toBe(6);
});

it('the hold-back period does not become longer if the clock is set back during it', async () => {
  const gateway = await startGuarded(LISTINGS);
  await gateway.bring({ tokens: [wrong(), TWO, ...REST] });
  gateway.clock.setBack(10 * DAY);
  await gateway.bring({});
  await gateway.bring({}, DAY - 1);
  expect((await gateway.first())?.decimals).toBe(6);
  await gateway.bring({}, 1);
  expect((await gateway.first())?.decimals).toBe(18);
});

const changed = (changes: object) => ({ tokens: [{ ...ONE, ...changes }, TWO, ...REST] });
const chain = (changes: object) => ({ chains: [{ ...CHAIN, ...changes }, CHAINS[1]] });
const native = (changes: object) => chain({ nativeCurrency: { ...NATIVE, ...changes } });
const ETHER = 'ETH 18 0xEe';
it.each<[what: string, FakeListings, fact: string, served: string, upstream: string]>([
  ['decimals', changed({ decimals: 18 }), 'decimals', '6', '18'],
  ['symbol', changed({ symbol: 'OTHER' }), 'symbol', 'S1', 'OTHER'],
  ['symbol, with a space', changed({ symbol: 'U "S' }), 'symbol', 'S1', 'U "S'],
  ['symbol, now empty', changed({ symbol: '' }), 'symbol', 'S1', ''],
  ['address behind a symbol', changed({ address: '0x63' }), 'address', '0x1', '0x63'],
  ['chainId', chain({ chainId: 8 }), 'chainId', '7', '8'],
  ['chainType', chain({ chainType: 'solana' }), 'chainType', 'evm', 'solana'],
  ['address of the native currency', native({ address: '0xEf' }), 'nativeCurrency', ETHER, 'ETH 18 0xEf'],
  ['decimals of the native currency', native({ decimals: 6 }), 'nativeCurrency', ETHER, 'ETH 6 0xEe'],
])(
  'a guarded value that changes is held back, logged, and accepted by the rule in the log: %s',
  async (_what, listings, fact, served, upstream) => {
    const gateway = await startGuarded(LISTINGS);
    const [listing, name] = listings.chains ? [0, 'chains'] : [1, 'tokens'];
    const all = async () => (listing === 0 ? gateway.chains() : gateway.tokens());
    const before = await all();
    await gateway.bring(listings);
    const after = await all();
    const held = after.find(({ heldBack }) => (heldBack as readonly unknown[]).length > 0);
    expect(held).toMatchObject({
      ...before[0],
      ...(listing === 1 ? { price: null } : {}),
      heldBack: [{ fact, served, upstream }],
    });
    expect(after).toHaveLength(before.length);
    expect(gateway.heldBackRows()[listing]).toBe(1);
    expect(await gateway.sample(`gateway_held_back_rows{listing="${name}",fact="${fact}"}`)).toBe(1);
    await gateway.apply('hide other');
    expect(gateway.heldBackLines()).toHaveLength(1);
    await gateway.apply(gateway.ruleInLog() ?? '');
    expect((await all()).flatMap(({ heldBack }) => heldBack)).toEqual([]);
    expect(await all()).not.toEqual(before);
    const accepted = `gateway_accepted_changes_total{listing="${name}",fact="${fact}",by="operator"}`;
    expect(await gateway.sample(accepted)).toBe(1);
    expect(gateway.heldBackRows()[listing]).toBe(0);
  },
);

const all = (change: (row: (typeof TOKENS)[number]) => object) => ({
  tokens: TOKENS.map((row) => ({ ...row, ...change(row) })),
});
const respelled = all((row) => ({ address: String(row?.address).toUpperCase().replace('X', 'x') }));
it.each<[string, FakeListings]>([
  ['prices, names and bridgeability', all(() => ({ price: { usd: 1 }, name: 'N', isBridgeable: false }))],
  ['the order', { tokens: TOKENS.toReversed() }],
  ['another spelling of an address', respelled],
  ['names of a chain, and another letter case of its type', chain({ name: 'N', chainType: 'EVM' })],
  ['another spelling of a native address', native({ address: '0xEE', name: 'n' })],
  ['new rows', { tokens: [...TOKENS, token(77)], chains: [...CHAINS, chainRow('c', { chainId: 11 })] }],
])('nothing is held back because of %s', async (_what, listings) => {
  const gateway = await startGuarded(LISTINGS);
  await gateway.bring(listings);
  expect(gateway.heldBackRows()).toEqual([0, 0]);
  expect(gateway.heldBackLines()).toEqual([]);
});
