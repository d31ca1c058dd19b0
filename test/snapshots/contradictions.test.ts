/** If an answer has several rows with one key but different facts, none of them decides which facts are served. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { changesSince } from '../support/copies.js';
import { json } from '../support/fake-upstream.js';
import { onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

const USDC = '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85';
/** A token of the demo data, with 6 decimals there. */
const EMBEDDED = '0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
const CHAINS = [chainRow('a'), chainRow('ethereum', { chainId: 1 })];
const GOOD = [tokenRow('a', '0x2', { symbol: 'GOOD' }), tokenRow('a', '0x3', { symbol: 'FINE' })];
const right = tokenRow('a', USDC, { price: { usd: 1 } });
const wrong = { ...right, decimals: 18 };
const METRIC = 'gateway_contradictory_rows_total{listing="tokens"}';

it.each([
  ['in this order', [right, wrong]],
  ['in the reverse order', [wrong, right]],
  ['neither of them right', [wrong, { ...right, decimals: 7 }]],
  ['under another letter case of the chain', [right, { ...wrong, chainKey: 'A' }]],
])('contradictory rows of one key become the known row: %s', async (_what, both) => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: [right, ...GOOD] });
  expect(await gateway.sample(METRIC)).toBe(0);
  for (const counted of [1, 2]) {
    await gateway.bring({ tokens: [...both, ...GOOD] });
    const sent = both.map(({ decimals }) => String(decimals)).sort();
    const heldBack = [{ fact: 'decimals', served: '6', upstream: sent.join(' and ') }];
    expect(await gateway.row(USDC)).toMatchObject({ decimals: 6, price: null, heldBack });
    const others = (await gateway.tokens()).filter(({ address }) => address !== USDC);
    expect(others.map(({ price }) => price?.usd)).toEqual([0.9998, 0.9998]);
    expect(gateway.listings().tokens).toMatchObject({ rejectedRows: 2, heldBackRows: 1 });
    expect(await gateway.sample(METRIC)).toBe(counted);
  }
  expect(gateway.linesWith('Left out bad rows')).not.toEqual([]);
  // A rule cannot accept two values at once.
  expect(gateway.ruleInLog()).toBeUndefined();
  expect(gateway.heldBackLines()).toHaveLength(1);
});

it('contradictory rows in another order are the same: their hold-back period goes on, nothing is logged again, and no change is listed', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: [right, ...GOOD] });
  await gateway.bring({ tokens: [right, wrong, ...GOOD] });
  const held = await gateway.row(USDC);
  const { cursor } = await changesSince(gateway, null);
  await gateway.bring({ tokens: [wrong, right, ...GOOD] });
  expect(await gateway.row(USDC)).toEqual(held);
  expect(gateway.heldBackLines()).toHaveLength(1);
  expect(await changesSince(gateway, cursor)).toMatchObject({ cursor, changed: [] });
});

it.each([
  ['in this order', [right, wrong]],
  ['in the reverse order', [wrong, right]],
])('contradictory rows of an unknown key are never served: %s', async (_what, both) => {
  const config = { holdBackMs: 0 };
  const gateway = await startGuarded({ chains: CHAINS, tokens: [...both, ...GOOD] }, { config });
  for (let times = 0; times < 2; times++) {
    expect((await gateway.tokens()).map(({ address }) => address)).toEqual(['0x2', '0x3']);
    expect(gateway.listings().tokens).toMatchObject({ rejectedRows: 2, heldBackRows: 0 });
    await gateway.bring({});
  }
  expect(await gateway.sample(METRIC)).toBe(3);
  const values = both.map(({ decimals }) => decimals).join(' and ');
  const rejected = [
    `tokens[0]: contradicts tokens[1]: decimals ${values}`,
    `tokens[1]: contradicts tokens[0]: decimals ${values}`,
  ];
  expect(gateway.logged).toContainEqual(expect.objectContaining({ rejected }));
});

it('contradictory rows are left out of routes, too, if no row is known, also after a change of rules and a restart', async () => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: [right, wrong, ...GOOD] }, onDisk());
  gateway.upstream.plan('routes', json({ tokens: [wrong, ...GOOD] }));
  const route =
    '{ destinations(srcChainKey: "a", srcToken: "0x2", includeSourceChain: true) { tokens { address } } }';
  const shown = { data: { destinations: [{ tokens: [{ address: '0x2' }, { address: '0x3' }] }] } };
  expect(await gateway.query(route)).toEqual(shown);
  await gateway.apply('hide b');
  expect(await gateway.query(route)).toEqual(shown);
  const restarted = await restart(gateway);
  expect(await restarted.query(route)).toEqual(shown);
});

it('a row whose key has contradictory rows keeps its place and its mark, also after a change of rules and a restart', async () => {
  const [good, fine] = GOOD;
  const [a, ethereum] = CHAINS;
  const gateway = await startGuarded({ chains: CHAINS, tokens: [good, right, fine] }, onDisk());
  await gateway.bring({ chains: [a, { ...a, chainId: 1 }, ethereum], tokens: [good, wrong, fine, right] });
  const heldBack = [{ fact: 'decimals', served: '6', upstream: '18 and 6' }];
  async function expectSame({ chains, tokens, row }: typeof gateway) {
    expect((await chains()).map(({ chainKey }) => chainKey)).toEqual(CHAINS.map(({ chainKey }) => chainKey));
    expect((await tokens()).map(({ address }) => address)).toEqual(['0x2', USDC, '0x3']);
    expect(await row(USDC)).toMatchObject({ decimals: 6, price: null, heldBack });
  }
  await expectSame(gateway);
  await gateway.apply('hide b');
  await expectSame(gateway);
  const restarted = await restart(gateway);
  await expectSame(restarted);
  await restarted.apply('hide c');
  await expectSame(restarted);
});

it('contradictory rows in the first answer become the row with the decimals of the demo data', async () => {
  const both = [18, 6].map((decimals) => tokenRow('ethereum', EMBEDDED, { decimals }));
  const gateway = await startGuarded({ chains: CHAINS, tokens: [...both, ...GOOD] });
  const heldBack = [{ fact: 'decimals', served: '6', upstream: '18 and 6' }];
  expect(await gateway.row(EMBEDDED)).toMatchObject({ decimals: 6, price: null, heldBack });
  // The symbol is not known from the demo data: only the order could decide, so neither row is served.
  const symbols = ['USDC', 'EVIL'].map((symbol) => tokenRow('ethereum', EMBEDDED, { symbol }));
  const listings = { chains: CHAINS, tokens: [...symbols, ...GOOD] };
  const other = await startGuarded(listings, { clock: gateway.clock });
  expect(await other.tokens()).toHaveLength(2);
});
