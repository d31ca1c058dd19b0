/** The token list fits the schema of Uniswap, counts the omitted tokens, is made once for each change, and has its version. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTokenListHandler } from '../../src/token-list/handler.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, generatedListings, tokenRow } from '../fixtures/rows.js';
import { checkedListOf, nextVersionByPackage, type TokenList, type Version } from '../support/copies.js';
import { type FakeListings, json, stall, status } from '../support/fake-upstream.js';
import { createTestGateway, type Settings, sampleOf } from '../support/test-gateway.js';
import { refreshWith, UNGUARDED } from '../support/test-server.js';

const PATH = '/tokenlist.json';
const SOLANA = { chains: [chainRow('sol', { chainType: 'solana' })], tokens: [tokenRow('sol', 'x')] };
const address = (index: number) => `0x${index.toString(16).padStart(40, '0')}`;

const serve = (listings: FakeListings = {}, config: Settings = {}) =>
  createTestGateway({ hasListings: true, listings, config: { ...UNGUARDED, ...config } });

it('the token list is valid by the schema, and has the demo tokens of EVM chains but for natives', async () => {
  const gateway = await serve();
  const list = await checkedListOf(gateway);
  const evm = new Map(
    demoChains.flatMap((chain) => (chain.chainType === 'evm' ? [[chain.chainKey, chain.chainId]] : [])),
  );
  const expected = demoTokens
    .filter((token) => evm.has(token.chainKey) && !/^0xe{40}$/i.test(token.address))
    .map(({ isBridgeable, chainKey, price, ...token }) => ({ chainId: evm.get(chainKey), ...token }));
  expect(expected.length).toBeGreaterThan(400);
  expect(list.tokens).toHaveLength(expected.length);
  expect(list.tokens).toEqual(expect.arrayContaining(expected));
  expect(list.version).toEqual({ major: 1, minor: 0, patch: 0 });
  const [, tokens] = gateway.snapshots.status(Date.now());
  expect(Date.parse(list.timestamp)).toBe(tokens.takenAt);
});

it('the token list has only tokens of EVM chains with caip2, and says how many of them its schema does not allow', async () => {
  const odd = [
    { symbol: 'x'.repeat(21) },
    { symbol: 'A B' },
    { name: 'n'.repeat(61) },
    { name: 'Tab\tname' },
    { name: 'No-break\u00a0space' },
    // An address of Solana, which the schema would allow.
    { address: 'So11111111111111111111111111111111111111112' },
    { address: '0x12' },
    { address: address(6).replace('x', 'X') },
  ].map((changes, index) => tokenRow('a', address(index + 100), changes));
  const good = [
    tokenRow('a', address(1), { symbol: '\u{1f41f}'.repeat(20), name: '\u{1f41f}'.repeat(60) }),
    tokenRow('a', address(2), { symbol: '', name: '' }),
    tokenRow('a', address(3), { name: 'Ümlaut + "quotes" \u0001' }),
    { ...tokenRow('a', address(4)), logoUrl: 'https://example.org/ü.png?a=%20' },
    { ...tokenRow('a', address(5)), logoUrl: 'https://example.org/[1]#a' },
  ];
  const gateway = await serve({
    chains: [
      chainRow('a', { nativeCurrency: { ...demoChains[0]?.nativeCurrency, address: address(99) } }),
      // Two chains with one chainId: neither gets a `caip2`.
      chainRow('one', { chainId: 9 }),
      chainRow('two', { chainId: 9 }),
      chainRow('zero', { chainId: 0 }),
      chainRow('solana', { chainType: 'solana', chainId: 1 }),
    ],
    tokens: [
      ...[...good, ...odd, tokenRow('a', address(99)), tokenRow('a', address(0))],
      ...['one', 'two', 'zero', 'solana', 'unlisted'].map((key) => tokenRow(key, address(1))),
    ],
  });
  const list = await checkedListOf(gateway);
  expect(list.tokens.map((token) => [token.address, token.symbol, token.logoURI])).toEqual([
    [address(1), '\u{1f41f}'.repeat(20), undefined],
    [address(2), '', undefined],
    [address(3), 'USDC', undefined],
    [address(4), 'USDC', 'https://example.org/%C3%BC.png?a=%20'],
    [address(5), 'USDC', undefined],
  ]);
  // Tokens of chains without `caip2`, and of chains that are not EVM or not listed, do not count as omitted.
  expect((await gateway.fetch(PATH)).headers.get('x-omitted-rows')).toBe(String(odd.length));
  expect(await sampleOf(gateway, 'gateway_token_list_omitted_rows')).toBe(odd.length);
});

it('the token list has at most 10,000 tokens, as its schema says', async () => {
  const tokens = Array.from({ length: 10_002 }, (_, index) => tokenRow('a', address(index + 1)));
  const gateway = await serve({ chains: [chainRow('a')], tokens });
  expect((await checkedListOf(gateway)).tokens).toHaveLength(10_000);
  expect((await gateway.fetch(PATH)).headers.get('x-omitted-rows')).toBe('2');
});

it('the token list has the tokens of one chain, whatever the letter case of its key', async () => {
  const gateway = await serve();
  const base = await checkedListOf(gateway, `${PATH}?chainKey=base`);
  expect(new Set(base.tokens.map(({ chainId }) => chainId))).toEqual(new Set([8453]));
  const whole = await checkedListOf(gateway);
  expect(base.tokens).toEqual(whole.tokens.filter(({ chainId }) => chainId === 8453));
  expect(base.version).toEqual(whole.version);
  expect(await checkedListOf(gateway, `${PATH}?chainKey=BASE`)).toEqual(base);
});

it('the token list refuses other chains and parameters', async () => {
  const { fetch } = await serve();
  for (const [search, status, message] of [
    ['?chainKey=nope', 404, 'the chainKey of an EVM chain that has tokens for a token list, got "nope".'],
    ['?chainKey=solana', 404, 'got "solana".'],
    ['?chainKey=', 404, 'got "".'],
    ['?chainKey=__proto__', 404, 'got "__proto__".'],
    [`?chainKey=${'x'.repeat(1000)}`, 404, `got "${'x'.repeat(100)}…".`],
    ['?chainkey=base', 400, 'Expected no parameter but chainKey, got "chainkey".'],
    ['?chainKey=base&chainKey=bsc', 400, 'Expected one chainKey, got 2.'],
  ] as const) {
    const response = await fetch(PATH + search);
    expect([search, response.status]).toEqual([search, status]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({ error: expect.stringContaining(message) });
  }
});

it('the token list is not served before both listings are loaded, and is never empty', async () => {
  const gateway = await createTestGateway({ listings: { ...SOLANA, chains: stall }, config: UNGUARDED });
  await gateway.query('{ tokens { symbol } }');
  const early = await gateway.fetch(PATH);
  expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
  const later = await serve(SOLANA);
  expect((await later.fetch(PATH)).status).toBe(404);
});

it('the token list is made once for all chains and for each chain, however many ask, and again only if it changes; the order is no change', async () => {
  const { chains, tokens } = generatedListings(20, 400);
  const gateway = await serve({ chains, tokens });
  const refreshTo = (changes: object) => {
    const changed = tokens.map((row) => ({ ...row, ...changes }));
    return refreshWith(gateway, changed, chains);
  };
  let made = 0;
  const handle = createTokenListHandler(gateway.snapshots, () => void made++);
  const bodyOf = async (search = '') => {
    const url = new URL(`http://gateway${PATH}?${search}`);
    return (await handle(new Request(url), url)).body;
  };
  const [whole] = await Promise.all([1, 2, 3].map(() => bodyOf()));
  await refreshTo({ price: { usd: 3 } });
  expect(await bodyOf()).toBe(whole);
  const keys = chains.map(({ chainKey }) => String(chainKey));
  const ofChains = await Promise.all(keys.map((key) => bodyOf(`chainKey=${key}`)));
  expect(new Set(ofChains).size).toBe(20);
  for (const [nth, key] of keys.entries())
    expect(await bodyOf(`chainKey=${key.toUpperCase()}`)).toBe(ofChains[nth]);
  expect(made).toBe(1);
  for (const [nth, changes] of [{ name: 'Other' }, {}].entries()) {
    await refreshTo(changes);
    expect(await bodyOf()).not.toBe(whole);
    await bodyOf();
    expect(made).toBe(2 + nth);
  }
  const last = await bodyOf();
  await refreshWith(gateway, tokens.toReversed(), chains);
  expect(await bodyOf()).toEqual(last);
});

it('the token list says when it is made from a stale listing', async () => {
  const gateway = await serve({}, { tokensFreshMs: 1 });
  gateway.upstream.plan('tokens', stall);
  await expect
    .poll(async () => (await gateway.fetch(PATH)).headers.get('x-stale-listings'))
    .toMatch(/^tokens;age=\d+$/);
});

const mixedCase = (index: number) => `0x${'aB'.repeat(19)}0${index}`;
const ANCHOR = tokenRow('a', mixedCase(0));

/** One change for each part of the version: a token is added, changed, removed. */
const EXAMPLES: [{ tokens: (typeof ANCHOR)[] }][] = [
  [{ tokens: [ANCHOR, tokenRow('a', mixedCase(1))] }],
  [{ tokens: [ANCHOR, tokenRow('a', mixedCase(1), { name: 'Other' })] }],
  [{ tokens: [ANCHOR] }],
];

const token = fc
  .record({
    chainKey: fc.constantFrom('a', 'b', 'solana'),
    address: fc
      .nat(4)
      .chain((index) => fc.constantFrom(mixedCase(index + 1), mixedCase(index + 1).toLowerCase())),
    // The schema refuses some of these: the symbol that is too long, and the one with a space.
    symbol: fc.constantFrom('USDC', 'USDT', '', 'A B', 'x'.repeat(21)),
    name: fc.constantFrom('USD Coin', 'Ümlaut', '', 'a\u00a0b'),
    decimals: fc.constantFrom(6, 18),
    price: fc.constantFrom(null, { usd: 1 }),
    isBridgeable: fc.boolean(),
    logoUrl: fc.constantFrom(undefined, 'https://example.org/a.png', 'https://example.org/b c'),
  })
  .map(({ logoUrl, ...row }) => (logoUrl === undefined ? row : { ...row, logoUrl }));
const tokens = fc
  .uniqueArray(token, { maxLength: 6, selector: (row) => `${row.chainKey} ${row.address.toLowerCase()}` })
  .map((rows) => [ANCHOR, ...rows]);
const chains = fc
  .record({ chainId: fc.constantFrom(8, 9), type: fc.constantFrom('evm', 'tron') })
  .map(({ chainId, type }) => [
    chainRow('a'),
    chainRow('b', { chainId, chainType: type }),
    chainRow('solana', { chainType: 'solana', chainId: 1 }),
  ]);

/** The package does not notice removed pictures, for which its schema asks for a new patch. */
async function expectedVersion(before: TokenList, after: TokenList): Promise<Version> {
  const version = await nextVersionByPackage(before, after.tokens);
  const isSame = JSON.stringify(before.tokens) === JSON.stringify(after.tokens);
  const isUnseen = JSON.stringify(version) === JSON.stringify(before.version) && !isSame;
  return isUnseen ? { ...version, patch: version.patch + 1 } : version;
}

it('the version of the token list is the one that the package of the schema gives, for any listings in turn', async () => {
  const gateway = await createTestGateway({
    listings: { chains: [chainRow('a')], tokens: [ANCHOR] },
    config: UNGUARDED,
    hasListings: true,
  });
  let served = { tokens: [ANCHOR] as readonly object[], chains: [chainRow('a')] as readonly object[] };
  let before = await checkedListOf(gateway);
  const parts = new Set<string>();
  const change = fc.oneof(
    { weight: 3, arbitrary: fc.record({ tokens }) },
    { weight: 1, arbitrary: fc.record({ chains }) },
  );
  await fc.assert(
    fc.asyncProperty(change, async (changed) => {
      served = { ...served, ...changed };
      await refreshWith(gateway, served.tokens, served.chains);
      // The tokens of a refresh may be indexed before its changed chains, so refresh once more.
      if ('chains' in changed) await refreshWith(gateway, served.tokens, served.chains);
      const after = await checkedListOf(gateway);
      expect(after.version).toEqual(await expectedVersion(before, after));
      if ('tokens' in changed) {
        const isNew = JSON.stringify(after.version) !== JSON.stringify(before.version);
        const { takenAt } = gateway.listings().tokens;
        expect(Date.parse(after.timestamp)).toBe(isNew ? takenAt : Date.parse(before.timestamp));
      }
      for (const part of ['major', 'minor', 'patch'] as const) {
        if (after.version[part] > before.version[part]) parts.add(part);
      }
      before = after;
    }),
    { numRuns: 30, endOnFailure: true, examples: EXAMPLES },
  );
  expect([...parts].sort()).toEqual(['major', 'minor', 'patch']);
});

it('the token list has the chainId of the chain listing, also while the token listing cannot be refreshed', async () => {
  const listings = { chains: [chainRow('a')], tokens: [ANCHOR] };
  const config = { ...UNGUARDED, upstreamRetries: 0 };
  const gateway = await createTestGateway({ hasListings: true, listings, config });
  expect((await checkedListOf(gateway)).tokens).toMatchObject([{ chainId: 7 }]);
  gateway.upstream.plan('tokens', status(404));
  gateway.upstream.plan('chains', json({ chains: [chainRow('a', { chainId: 8 })] }));
  await gateway.refresh();
  await expect.poll(async () => (await checkedListOf(gateway)).tokens).toMatchObject([{ chainId: 8 }]);
  expect((await checkedListOf(gateway)).version).toEqual({ major: 2, minor: 0, patch: 0 });
});
