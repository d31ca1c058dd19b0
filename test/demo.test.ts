/** The demo listings have the form of the v1 service, and a gateway without an upstream serves them. */
import { expect, it } from 'vitest';
import { createDemoHttp } from '../src/demo/listings.js';
import { demoTokens, type RawToken } from './fixtures/demo.js';
import { ask, startGatewayProcess } from './support/gateway-process.js';

function openDemo() {
  const { getJson } = createDemoHttp();
  return async (path: string, query = {}) =>
    (await getJson({ path, query })).json as { tokens: RawToken[]; chains: unknown[] };
}

const withoutPrice = ({ price, ...token }: RawToken) => ({ ...token, hasPrice: price.usd > 0 });

it('the demo listings route a token to bridgeable tokens of its symbol on other chains', async () => {
  const get = openDemo();
  const source = demoTokens.find(({ chainKey, symbol }) => chainKey === 'ethereum' && symbol === 'USDC');
  const { tokens } = await get('tokens', { srcChainKey: 'ethereum', srcToken: source?.address });
  expect(tokens.length).toBeGreaterThan(5);
  for (const token of tokens) {
    expect(token).toMatchObject({ symbol: 'USDC', isBridgeable: true });
    expect(token.chainKey).not.toBe('ethereum');
  }
  const poolToken = demoTokens.find(({ isBridgeable }) => !isBridgeable);
  const none = await get('tokens', { srcChainKey: poolToken?.chainKey, srcToken: poolToken?.address });
  expect(none).toEqual({ tokens: [] });
});

it('later demo listings change only prices: a little, equally for all tokens of a symbol, and not of stablecoins', async () => {
  const get = openDemo();
  await get('tokens');
  const { tokens } = await get('tokens');
  expect(tokens.map(withoutPrice)).toEqual(demoTokens.map(withoutPrice));
  const bySymbol = new Map<string, Set<number>>();
  const moved = new Set<string>();
  for (const [index, { symbol, price }] of tokens.entries()) {
    const before = demoTokens[index]?.price.usd ?? 0;
    const share = price.usd / before;
    expect(Math.abs(share - 1)).toBeLessThan(0.01);
    if (price.usd !== before) moved.add(symbol);
    const shares = bySymbol.get(symbol) ?? new Set();
    bySymbol.set(symbol, shares.add(Number(share.toFixed(4))));
  }
  expect(moved.size).toBeGreaterThan(50);
  // If the price of a stablecoin drifted, it would look as if the coin had lost its fixed value.
  expect([...moved].filter((symbol) => /USD|EUR|DAI$|DOLA/i.test(symbol))).toEqual([]);
  for (const stable of ['USDC', 'USDT', 'DAI', 'EURC', 'USDe', 'frxUSD'])
    expect(bySymbol.has(stable)).toBe(true);
  // The native asset of Fraxtal is not a stablecoin any more.
  expect(moved.has('FRAX')).toBe(true);
  expect([...bySymbol.values()].filter(({ size }) => size > 1)).toEqual([]);
});

it('the gateway serves tokens with their chains from the demo listings, and says that they are demo data', async () => {
  const { address, output } = await startGatewayProcess();
  const { data } = await ask(
    address,
    '{ tokens { symbol price { usd } chain { chainKey } } listings { source rejectedRows } }',
  );
  const tokens = demoTokens.map(({ symbol, price, chainKey }) => ({ symbol, price, chain: { chainKey } }));
  const listing = { source: 'demo', rejectedRows: 0 };
  expect(data).toEqual({ tokens, listings: [listing, listing] });
  expect(output()).toContain('"isDemo":true');
  await expect.poll(output).toContain('New snapshot of the tokens listing from the demo data');
  expect(output()).toMatch(
    /"level":"warn",.*"msg":"Demo: prices, routes and some flags are made up.* DEMO=false/,
  );
  expect(await (await fetch(`${address}/ready`)).json()).toEqual({ ready: true, source: 'demo' });
  const metrics = await (await fetch(`${address}/metrics`)).text();
  expect(metrics.match(/^\w*listing_source\{.*source="demo".*\} 1$/gm)).toHaveLength(2);
});
