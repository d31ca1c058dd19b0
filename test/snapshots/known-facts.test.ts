/** Guarded values are known from the demo data, and stay known after restarts and changes of upstream settings. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, PLACEHOLDER, successorChain, successorToken, tokenRow, USDC } from '../fixtures/rows.js';
import { DAY, HOUR, MINUTE, until } from '../support/clock.js';
import { json, startFakeSuccessor, startFakeUpstream, status } from '../support/fake-upstream.js';
import { numbered, numberedRows, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';
import { open, post } from '../support/open-gateway.js';

const CHAINS = [chainRow('ethereum', { chainId: 1 }), chainRow('a')];
const usdc = (decimals: number) => tokenRow('ethereum', USDC, { decimals, price: { usd: 1 } });
const REST = numberedRows(20);
const [ONE, ...OTHERS] = REST;
const LISTINGS = { chains: CHAINS, tokens: REST };
const isSnapshot = (file: string) => file.endsWith('.snapshot');
const HELD = { decimals: 6, price: null, heldBack: [{ fact: 'decimals', served: '6', upstream: '18' }] };

const COMPARED = 'The first tokens listing is compared with what earlier gateways have served';

async function configAfterDemo() {
  const { config } = onDisk();
  const demo = await open({ snapshotDir: config.snapshotDir });
  await (await demo.fetch(post('{ chains { chainKey } tokens { address } }'))).text();
  await until(async () => readdirSync(config.snapshotDir).filter(isSnapshot).length === 2);
  return config;
}

it('the first listing is compared with the demo data: 18 for USDC on ethereum is served as 6, and logged', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: [usdc(18), ...REST] });
  expect(await gateway.row(USDC)).toMatchObject(HELD);
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  expect(gateway.ruleInLog()).toBe(`accept ethereum:${USDC} decimals 6 18`);
  await gateway.bring({}, DAY - 1);
  expect(await gateway.row(USDC)).toMatchObject({ decimals: 6 });
  await gateway.bring({}, 1);
  expect(await gateway.row(USDC)).toMatchObject({ decimals: 18, heldBack: [], price: { usd: 1 } });
});

it('the first listing is compared with the demo data: 6 as decimals of the native currency of ethereum is served as 18, and logged', async () => {
  const [ethereum, ...others] = CHAINS;
  const nativeCurrency = { ...(ethereum?.nativeCurrency as object), decimals: 6 };
  const ether = tokenRow('ethereum', PLACEHOLDER, { decimals: 18, price: { usd: 3_000 } });
  const tokens = [ether, ...REST];
  const gateway = await startGuarded({ chains: [{ ...ethereum, nativeCurrency }, ...others], tokens });
  expect((await gateway.chains())[0]).toMatchObject({
    nativeCurrency: { decimals: 18 },
    heldBack: [{ fact: 'nativeCurrency', served: `ETH 18 ${PLACEHOLDER}`, upstream: `ETH 6 ${PLACEHOLDER}` }],
  });
  expect(await gateway.row(PLACEHOLDER)).toMatchObject({ price: { usd: 3_000 }, heldBack: [] });
  expect(gateway.ruleInLog()).toBe(
    `accept ethereum nativeCurrency "ETH 18 ${PLACEHOLDER}" "ETH 6 ${PLACEHOLDER}"`,
  );
  await gateway.bring({}, DAY);
  expect((await gateway.chains())[0]).toMatchObject({ nativeCurrency: { decimals: 6 }, heldBack: [] });
});

it('new rows of later listings are compared with the demo data, too; rows that it lacks are accepted', async () => {
  const gateway = await startGuarded(LISTINGS);
  await gateway.bring({ tokens: [usdc(18), numbered(99, { decimals: 3 }), ...REST] });
  expect(await gateway.row(USDC)).toMatchObject(HELD);
  expect(await gateway.row('0x63')).toMatchObject({ decimals: 3, heldBack: [] });
});

it('a restart with SNAPSHOT_DIR continues a hold-back period also if the upstream sends a key or type that is too long only in lower case', async () => {
  const long = 'İ'.repeat(200);
  const chains = [...CHAINS, chainRow('b', { chainType: 'İ'.repeat(60) })];
  const before = await startGuarded({ chains, tokens: [...REST, tokenRow(long, '0x1')] }, onDisk());
  const wrong = { ...ONE, decimals: 18 };
  const differs = [CHAINS[0], chainRow('a', { chainId: 8 }), ...chains.slice(2)];
  await before.bring({ chains: differs, tokens: [wrong, ...OTHERS, tokenRow(long, '0x1')] });
  const after = await restart(before);
  expect(await after.row('0x1')).toMatchObject(HELD);
  expect(await after.chains()).toContainEqual(expect.objectContaining({ chainKey: 'a', chainId: 7 }));
});

it('a restart with another upstream leaves out routes to tokens with other decimals or symbols than the stored ones, also while it has no token listing', async () => {
  const before = await startGuarded(LISTINGS, onDisk());
  const other = numbered(4, { symbol: 'S2' });
  const routes = json({ tokens: [{ ...ONE, decimals: 18 }, numbered(2), other, numbered(99)] });
  const upstream = await startFakeUpstream({ chains: CHAINS, tokens: status(404), routes });
  const after = await restart(before, { upstream });
  const { data } = await after.query(
    '{ tokens(srcChainKey: "a", srcToken: "0x3") { address decimals } listings { state } }',
  );
  expect(data).toEqual({
    tokens: ['0x2', '0x63'].map((address) => ({ address, decimals: 6 })),
    listings: [{ state: 'FRESH' }, { state: 'EMPTY' }],
  });
});

it('a price in a route to a token that only the earlier upstream has listed is compared with its last price there', async () => {
  const tokens = numberedRows(20, 1, { price: { usd: 1 } });
  const before = await startGuarded({ chains: CHAINS, tokens }, onDisk());
  const sent = [50_000, 2].map((usd, nth) => numbered(nth + 1, { price: { usd } }));
  const routes = json({ tokens: sent });
  const upstream = await startFakeUpstream({ chains: CHAINS, tokens: numberedRows(18, 3), routes });
  const after = await restart(before, { upstream });
  for (const afterMs of [1_000, 2_000]) {
    const { data } = await after.query<{ tokens: object[] }>(
      '{ tokens(srcChainKey: "a", srcToken: "0x3") { address price { usd } } }',
    );
    expect(data?.tokens).toEqual([
      { address: '0x1', price: null },
      { address: '0x2', price: { usd: 2 } },
    ]);
    await after.bring({}, afterMs);
  }
  expect(upstream.routesAsked()).toHaveLength(1);
});

/** The upstream has sent these tokens, then another upstream was asked for this time, and now the first one again. */
async function changeAndReturn(sent: readonly object[], awayMs: number) {
  const before = await startGuarded(LISTINGS, onDisk());
  await before.bring({ tokens: sent });
  const between = await restart(before, { upstream: await startFakeUpstream(LISTINGS) });
  await between.bring({ tokens: REST }, awayMs);
  return restart(between, { upstream: before.upstream });
}

it('a change to another upstream and back begins a hold-back period anew, because nothing is known of the time between', async () => {
  const after = await changeAndReturn([{ ...ONE, decimals: 18 }, ...OTHERS], DAY - HOUR);
  await after.bring({}, HOUR);
  expect(await after.row('0x1')).toMatchObject(HELD);
  await after.bring({}, DAY - HOUR - 1);
  expect(await after.row('0x1')).toMatchObject(HELD);
  await after.bring({}, 1);
  expect(await after.row('0x1')).toMatchObject({ decimals: 18, heldBack: [] });
});

it('a change to another upstream and back begins the ten minutes of a doubted price anew', async () => {
  const after = await changeAndReturn([numbered(1, { price: { usd: 12 } }), ...OTHERS], 9 * MINUTE);
  await after.bring({}, MINUTE);
  expect(await after.row()).toMatchObject({ price: null });
  await after.bring({}, 10 * MINUTE);
  expect(await after.row()).toMatchObject({ price: { usd: 12 } });
});

it('a restart with another upstream hides prices ten times higher or lower than the stored ones for ten minutes', async () => {
  const before = await startGuarded(LISTINGS, onDisk());
  const high = { price: { usd: 12 } };
  // The last prices of these rows are remembered, though the stored rows have none.
  const [doubted, unpriced] = [numbered(3, high), numbered(4, { price: null })];
  await before.bring({ tokens: [...REST.slice(0, 2), doubted, unpriced, ...REST.slice(4)] });
  const tokens = [numbered(1, high), numbered(2, { price: { usd: 2 } }), doubted, numbered(4, high)];
  const after = await restart(before, { upstream: await startFakeUpstream({ chains: CHAINS, tokens }) });
  const hidden = ['0x1', '0x3', '0x4'];
  for (const address of hidden) expect(await after.row(address)).toMatchObject({ price: null, heldBack: [] });
  expect(await after.row('0x2')).toMatchObject({ price: { usd: 2 } });
  await after.bring({}, 600_000);
  for (const address of hidden) expect(await after.row(address)).toMatchObject(high);
});

it('a restart with SNAPSHOT_DIR continues the hold-back period of a listing in which every row waits', async () => {
  const [first, second] = [numbered(1), numbered(2)];
  const replacing = numbered(99, { symbol: first.symbol });
  const before = await startGuarded({ chains: CHAINS, tokens: [first, second] }, onDisk());
  await before.bring({ tokens: [second] });
  for (let times = 0; times < 3; times++) await before.bring({ tokens: [replacing] });
  expect(await before.tokens()).toEqual([]);
  const after = await restart(before);
  expect(await after.tokens()).toEqual([]);
  await after.bring({});
  expect(await after.tokens()).toEqual([]);
  expect(after.heldBackRows()).toEqual([0, 1]);
});

it('a restart with SNAPSHOT_DIR keeps the old row of a replaced address listed, also if the files of another upstream have this row', async () => {
  const first = await startGuarded(LISTINGS, onDisk());
  const before = await restart(first, { upstream: await startFakeUpstream(LISTINGS) });
  await before.bring({ tokens: [numbered(99, { symbol: ONE?.symbol }), ...OTHERS] });
  const held = { price: null, heldBack: [{ fact: 'address', served: '0x1', upstream: '0x63' }] };
  expect(await before.row('0x1')).toMatchObject(held);
  const after = await restart(before);
  expect(await after.tokens()).toEqual(await before.tokens());
  await after.bring({});
  expect(await after.row('0x1')).toMatchObject(held);
});

it('a restart with SNAPSHOT_DIR keeps the facts, and not the rows, of a listing with a time in the future', async () => {
  const before = await startGuarded(LISTINGS, onDisk());
  await before.bring({ tokens: OTHERS });
  await before.stop();
  before.clock.setBack(2 * DAY);
  const { upstream, clock, config } = before;
  upstream.plan('chains', json({ chains: [CHAINS[0], chainRow('a', { chainId: 8 })] }));
  upstream.plan('tokens', json({ tokens: [{ ...OTHERS[0], decimals: 18 }, ...OTHERS.slice(1)] }));
  const after = await startGuarded({}, { upstream, clock, config });
  expect(await after.row('0x2')).toMatchObject(HELD);
  expect(await after.chains()).toContainEqual(expect.objectContaining({ chainKey: 'a', chainId: 7 }));
  await after.bring({ tokens: [{ ...ONE, decimals: 18 }, ...OTHERS] });
  expect(await after.row('0x1')).toMatchObject(HELD);
});

it.each([
  ['UPSTREAM_PROFILE, at another address', true],
  ['UPSTREAM_PROFILE, at the same address', false],
])('a change of %s still guards accepted values', async (_what, isOther) => {
  const before = await startGuarded(LISTINGS, onDisk());
  const upstream = isOther ? await startFakeSuccessor() : before.upstream;
  const chains = [CHAINS[0], { ...CHAINS[1], chainId: 8 }].map((row) => successorChain(row as never));
  upstream.plan('chains', json({ chains }));
  const tokens = [{ ...numbered(1), decimals: 18 }, ...OTHERS].map(successorToken);
  upstream.plan('tokens', json({ tokens }));
  const after = await restart(before, { upstream, config: { upstreamProfile: 'value-transfer' } });
  expect(await after.row('0x1')).toMatchObject(HELD);
  expect(await after.chains()).toContainEqual(
    expect.objectContaining({
      chainKey: 'a',
      chainId: 7,
      caip2: 'eip155:7',
      heldBack: [expect.objectContaining({ fact: 'chainId', upstream: '8' })],
    }),
  );
  expect(after.listings().tokens.source).toBe('value-transfer');
  expect(after.logged.map(({ msg }) => msg)).toContain(COMPARED);
});

it('a change from demo data to an upstream guards no stored values of the demo data, some of which are made up', async () => {
  const config = await configAfterDemo();
  const chains = demoChains.map((row) => (row.chainKey === 'solana' ? { ...row, chainId: 101 } : row));
  const [first, ...others] = demoTokens.filter(({ chainKey }) => chainKey === 'solana');
  const moved = { ...first, address: 'So11111111111111111111111111111111111111112', price: { usd: 9_000 } };
  const gateway = await startGuarded({ chains, tokens: [moved, ...others] }, { config });
  expect(gateway.heldBackRows()).toEqual([0, 0]);
  expect(await gateway.row(moved.address)).toMatchObject({ price: moved.price });
  expect(gateway.logged.map(({ msg }) => msg)).not.toContain(COMPARED);
});

it('after a change from demo data to an upstream, one of two tokens with the same symbol can be removed at once', async () => {
  const config = await configAfterDemo();
  const twin = { ...ONE, address: '0xfe' };
  const gateway = await startGuarded({ chains: CHAINS, tokens: [twin, ...REST] }, { config });
  await gateway.bring({ tokens: REST });
  expect(await gateway.row(twin.address)).toBeUndefined();
});

it('after a change of UPSTREAM_URL, one of two tokens with the same symbol can be removed at once', async () => {
  const twin = { ...ONE, address: '0xfe' };
  const before = await startGuarded({ chains: CHAINS, tokens: [twin, ONE, ...OTHERS] }, onDisk());
  const after = await restart(before, { upstream: await startFakeUpstream(LISTINGS) });
  await after.bring({ tokens: [twin, ONE, ...OTHERS] });
  await after.bring({ tokens: [ONE, ...OTHERS] });
  expect(await after.row(twin.address)).toBeUndefined();
});

it('a change of UPSTREAM_URL, and back, guards the values of both upstreams', async () => {
  const first = await startGuarded({ chains: CHAINS, tokens: OTHERS }, onDisk());
  first.clock.advance(HOUR);
  const second = await restart(first, { upstream: await startFakeUpstream(LISTINGS) });
  expect(await second.row('0x1')).toMatchObject({ decimals: 6, heldBack: [] });
  const third = await restart(second, { upstream: first.upstream });
  await third.bring({ tokens: [{ ...ONE, decimals: 18 }, ...OTHERS] });
  expect(await third.row('0x1')).toMatchObject(HELD);
});

it('a change to an upstream with far fewer rows does not hold its listing back', async () => {
  const before = await startGuarded(LISTINGS, onDisk());
  const upstream = await startFakeUpstream({ chains: CHAINS, tokens: REST.slice(0, 4) });
  const after = await restart(before, { upstream });
  for (let usd = 1; usd < 4; usd++) {
    await after.bring({ tokens: numberedRows(4, 1, { price: { usd } }) });
    expect(after.listings().tokens).toMatchObject({ rows: 4, isHeldBack: false });
    expect((await after.row('0x1'))?.price).toEqual({ usd });
  }
});
