import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { chainRow, tokenRow } from './fixtures/rows.js';
import { first, json, late, status } from './support/fake-upstream.js';
import { codesOf, createTestGateway, withBrokenRoutes } from './support/test-gateway.js';
import { startServer } from './support/test-server.js';
import { collectUnhandledRejections } from './support/unhandled-rejections.js';

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const ZERO = '0x0000000000000000000000000000000000000000';

interface Chains {
  readonly chains: readonly Record<string, unknown>[] | null;
}
interface Tokens {
  readonly tokens: readonly (Record<string, unknown> & { chain?: { name: string } | null })[] | null;
}

describe('the two listings', () => {
  it('serves each field of every row as the upstream sent it, in its order', async () => {
    const { query } = await createTestGateway();
    const { data, errors } = await query<Chains & Tokens>(`{
      chains { chainKey chainType chainId shortName name nativeCurrency { chainKey name symbol decimals address } }
      tokens { isBridgeable chainKey address decimals symbol name price { usd } }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({ chains: demoChains, tokens: demoTokens });
  });

  it('joins each token with its chain, and each chain with its tokens', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<Chains & Tokens>(`{
      tokens { chainKey chain { chainKey name nativeCurrency { symbol } } }
      chains { chainKey tokenCount tokens { address chainKey } }
    }`);
    const byKey = new Map(demoChains.map((chain) => [chain.chainKey, chain]));
    const joined = demoTokens.map(({ chainKey }) => {
      const { name, nativeCurrency } = byKey.get(chainKey) ?? {};
      return { chainKey, chain: { chainKey, name, nativeCurrency: { symbol: nativeCurrency?.symbol } } };
    });
    expect(data?.tokens).toEqual(joined);
    const tokensOf = (key: string) =>
      demoTokens.flatMap(({ address, chainKey }) => (chainKey === key ? [{ address, chainKey }] : []));
    expect(data?.chains).toEqual(
      demoChains.map(({ chainKey }) => {
        const tokens = tokensOf(chainKey);
        return { chainKey, tokenCount: tokens.length, tokens };
      }),
    );
  });

  it('returns null as the chain of a token on an unlisted chain, without an error', async () => {
    const listings = { chains: [chainRow('a')], tokens: [tokenRow('b', '0x01')] };
    const { query } = await createTestGateway({ listings });
    const tokens = [{ symbol: 'USDC', isNative: false, chain: null }];
    expect(await query(`{ tokens { symbol isNative chain { name } } }`)).toEqual({ data: { tokens } });
  });

  it('accepts a chainId above 2^31, a negative one, and six chains with the chainId 1', async () => {
    const chains = [...demoChains, chainRow('palm', { chainId: 11297108109 })];
    const { query } = await createTestGateway({ listings: { chains } });
    const { data } = await query<Chains>(`{ chains { chainKey chainId caip2 } }`);
    const palm = { chainKey: 'palm', chainId: 11297108109, caip2: 'eip155:11297108109' };
    expect(data?.chains).toContainEqual(palm);
    expect(data?.chains).toContainEqual({ chainKey: 'ton', chainId: -239, caip2: 'tvm:-239' });
    const ones = data?.chains?.filter(({ chainId }) => chainId === 1) ?? [];
    expect(
      ones
        .map(({ chainKey }) => chainKey)
        .sort()
        .join(),
    ).toBe('aptos,ethereum,iotamove,solana,starknet,sui');
    expect(new Set(ones.map(({ caip2 }) => caip2)).size).toBe(6);
  });
});

describe('filters of tokens', () => {
  it('answers srcChainKey without srcToken from the full listing', async () => {
    const { query, upstream } = await createTestGateway();
    const { data } = await query<Tokens>(`{ tokens(srcChainKey: "ethereum") { address } }`);
    const expected = demoTokens.filter(({ chainKey }) => chainKey === 'ethereum');
    expect(data?.tokens).toEqual(expected.map(({ address }) => ({ address })));
    expect(upstream.seen.map(({ url }) => url).sort()).toEqual(['/v1/tokens']);
  });

  it('passes on the tokens of a pair without filtering them by chain', async () => {
    const { query, upstream } = await createTestGateway();
    const routes = [
      ['base', 'B'],
      ['ethereum', 'E'],
      ['nowhere', 'N'],
    ] as const;
    const tokens = routes.map(([chainKey, symbol], nth) => tokenRow(chainKey, `0x${nth + 2}`, { symbol }));
    upstream.plan('routes', json({ tokens }));
    const { data } = await query<Tokens>(
      `{ tokens(srcChainKey: "ethereum", srcToken: "${USDC}") { symbol chainKey chain { name } } }`,
    );
    expect(data?.tokens).toEqual([
      { symbol: 'B', chainKey: 'base', chain: { name: 'Base' } },
      { symbol: 'E', chainKey: 'ethereum', chain: { name: 'Ethereum' } },
      { symbol: 'N', chainKey: 'nowhere', chain: null },
    ]);
    expect(upstream.seen.map(({ url }) => url)).toContain(`/v1/tokens?srcChainKey=ethereum&srcToken=${USDC}`);
  });

  it("requests a pair with the upstream's spelling of the address, once for all spellings", async () => {
    const { query, upstream } = await createTestGateway();
    await query(`{
      lower: tokens(srcChainKey: "ethereum", srcToken: "${USDC.toLowerCase()}") { symbol }
      upper: tokens(srcChainKey: "ethereum", srcToken: "0x${USDC.slice(2).toUpperCase()}") { symbol }
      zero: tokens(srcChainKey: "ethereum", srcToken: "${ZERO}") { symbol }
    }`);
    const asked = upstream.routesAsked().map(({ url }) => url);
    const listed = demoTokens.find(({ address }) => address.toLowerCase() === USDC.toLowerCase());
    const expected = [listed?.address, PLACEHOLDER].map(
      (each) => `/v1/tokens?srcChainKey=ethereum&srcToken=${each}`,
    );
    expect(asked.sort()).toEqual(expected.sort());
  });

  it('sends one request for all letter cases of an unlisted address, as it was first written', async () => {
    const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
    const both = '{ a: tokens(srcToken: "0xAbCd") { symbol } b: tokens(srcToken: "0xabcd") { symbol } }';
    expect(codesOf(await query(both))).toEqual([]);
    await query('{ tokens(srcToken: "0xABCD") { symbol } }');
    expect(upstream.seen.map(({ url }) => url)).toEqual(['/v1/tokens?srcToken=0xAbCd']);
  });

  it('requests an unlisted native asset by the placeholder', async () => {
    const { query, upstream } = await createTestGateway();
    await query(
      `{ a: tokens(srcToken: "${ZERO}") { symbol } b: tokens(srcToken: "${PLACEHOLDER}") { symbol } }`,
    );
    expect(upstream.seen.map(({ url }) => url)).toEqual([`/v1/tokens?srcToken=${PLACEHOLDER}`]);
  });

  it('passes on srcToken without srcChainKey, URL-encoded', async () => {
    const { query, upstream } = await createTestGateway();
    await query(`{ tokens(srcToken: "0x2::sui::SUI&srcChainKey=x y") { symbol } }`);
    const { searchParams } = new URL(upstream.routesAsked()[0]?.url ?? '', 'http://fake');
    expect([...searchParams]).toEqual([['srcToken', '0x2::sui::SUI&srcChainKey=x y']]);
  });

  it.each([
    ['an unknown chain', '{ tokens(srcChainKey: "nope") { symbol } }', 1],
    ['an empty chain', '{ tokens(srcChainKey: "") { symbol } }', 1],
    ['an empty token, without asking', '{ tokens(srcChainKey: "ethereum", srcToken: "") { symbol } }', 0],
  ])('returns an empty list for %s', async (_name, text, requests) => {
    const { query, upstream } = await createTestGateway();
    expect(await query(text)).toEqual({ data: { tokens: [] } });
    expect(upstream.count()).toBe(requests);
  });

  it('returns an empty list if the upstream responds to a pair with 422 or without rows', async () => {
    const { query, upstream } = await createTestGateway();
    await query('{ tokens { symbol } }');
    upstream.plan('tokens', first(upstream.count('tokens') + 1, status(422), json({ tokens: [] })));
    const both =
      '{ a: tokens(srcChainKey: "x", srcToken: "0x1") { symbol } b: tokens(srcToken: "0x2") { symbol } }';
    expect(await query(both)).toEqual({ data: { a: [], b: [] } });
  });
});

describe('look-ups', () => {
  it('respects letter case in base58 addresses and Move types', async () => {
    const { query } = await createTestGateway();
    const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    const { data } = await query<object>(`{
      exact: token(chainKey: "solana", address: "${usdc}") { address }
      folded: token(chainKey: "solana", address: "${usdc.toLowerCase()}") { address }
      move: token(chainKey: "sui", address: "0x2::sui::SUI") { address }
      foldedMove: token(chainKey: "sui", address: "0x2::sui::sui") { address }
    }`);
    const move = { address: '0x2::sui::SUI' };
    expect(data).toEqual({ exact: { address: usdc }, folded: null, move, foldedMove: null });
  });

  it('treats the zero address and the placeholder as equal, and returns the listed one', async () => {
    const chains = [chainRow('a'), chainRow('b')];
    const tokens = [tokenRow('a', ZERO, { symbol: 'A' }), tokenRow('b', PLACEHOLDER, { symbol: 'B' })];
    const { query } = await createTestGateway({ listings: { chains, tokens } });
    const { data } = await query<object>(`{
      a: token(chainKey: "a", address: "${PLACEHOLDER}") { address isNative }
      b: token(chainKey: "b", address: "${ZERO}") { address isNative }
    }`);
    expect(data).toEqual({
      a: { address: ZERO, isNative: true },
      b: { address: PLACEHOLDER, isNative: true },
    });
  });

  it('also recognises a native token by the address of its chain’s native currency', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<Tokens>('{ tokens(srcChainKey: "aptos") { address isNative } }');
    expect(data?.tokens?.filter(({ isNative }) => isNative)).toEqual([
      { address: '0x1::aptos_coin::AptosCoin', isNative: true },
    ]);
  });

  it('returns null without an error for unknown keys', async () => {
    const { query } = await createTestGateway();
    const unknown = `{ chain(chainKey: "Etherium") { name } proto: chain(chainKey: "__proto__") { name }
      token(chainKey: "base", address: "nope") { name } }`;
    expect(await query(unknown)).toEqual({ data: { chain: null, proto: null, token: null } });
  });
});

it('chains whose keys are different lone surrogates have different ids', async () => {
  const chains = [chainRow('\ud800'), chainRow('\ud801')];
  const { query } = await createTestGateway({ listings: { chains } });
  const { data } = await query<{ chains: { id: string }[] }>('{ chains { id } }');
  expect(new Set(data?.chains.map(({ id }) => id)).size).toBe(2);
});

describe('the upstream requests of a query', () => {
  const EVERYTHING = `{
    chains { chainKey tokenCount tokens { symbol } }
    evm: chains(chainTypes: ["evm"]) { name }
    tokens { symbol chain { name } }
    ethereum: tokens(srcChainKey: "ethereum") { symbol chain { name tokens { symbol } } }
    base: tokens(srcChainKey: "base") { symbol isNative chain { name } }
    chain(chainKey: "base") { tokens { symbol } }
    token(chainKey: "ethereum", address: "${USDC}") { chain { tokenCount } }
    listings { state }
  }`;

  it('are two at a cold start and none with snapshots', async () => {
    const { query, upstream } = await createTestGateway();
    expect((await query(EVERYTHING)).errors).toBeUndefined();
    expect(upstream.seen.map(({ path }) => path).sort()).toEqual(['chains', 'tokens']);
    await query(EVERYTHING);
    expect(upstream.count()).toBe(2);
  });

  it('are two for 50 concurrent cold operations with three aliases each', async () => {
    const { query, upstream } = await createTestGateway({ config: { maxWaitMs: 60_000 } });
    upstream.plan('tokens', late(30, json({ tokens: demoTokens })));
    upstream.plan('chains', late(60, json({ chains: demoChains })));
    const asked = `{ a: tokens { chain { name } } b: tokens(srcChainKey: "base") { chain { name } }
      c: tokens(srcChainKey: "ethereum") { chain { name } } }`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => query<Record<string, { chain: unknown }[]>>(asked)),
    );
    expect(upstream.count()).toBe(2);
    for (const { data, errors } of answers) {
      expect(errors).toBeUndefined();
      expect(data?.a).toHaveLength(demoTokens.length);
      expect(data?.c?.[0]).toEqual({ chain: { name: 'Ethereum' } });
    }
  });

  it('are one for 100 concurrent equal route requests', async () => {
    const { query, upstream } = await createTestGateway();
    await query('{ tokens { symbol } chains { name } }');
    upstream.plan('tokens', late(30, json({ tokens: [tokenRow('base', '0x02')] })));
    const asked = `{ tokens(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey } }`;
    const answers = await Promise.all(Array.from({ length: 100 }, () => query(asked)));
    expect(upstream.count()).toBe(3);
    for (const answer of answers) expect(answer).toEqual({ data: { tokens: [{ chainKey: 'base' }] } });
  });
});

describe('when something fails', () => {
  it.each([
    ['chains', { tokens: [{ symbol: 'USDC', chain: null }], chains: null, ok: { decimals: 6 } }, 3],
    ['tokens', { tokens: null, chains: [{ chainKey: 'a', tokens: null }], ok: null }, 3],
  ] as const)('returns all other data while the %s listing fails', async (path, data, errors) => {
    const listings = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x01')] };
    const { query, upstream } = await createTestGateway({ listings });
    upstream.plan(path, status(404));
    const answer = await query(`{
      tokens { symbol chain { name } }
      chains { chainKey tokens { symbol } }
      ok: token(chainKey: "a", address: "0x01") { decimals ${path === 'chains' ? 'chain { name }' : ''} }
    }`);
    expect(answer.data).toMatchObject(data);
    expect(codesOf(answer)).toEqual(Array(errors).fill('UPSTREAM_STATUS'));
  });

  it('hides the upstream from clients, and logs its address and response', async () => {
    const { query, logged, fetch, upstream } = await createTestGateway({
      config: { upstreamRetries: 0, upstreamHeaders: { 'x-api-key': 'secret-key' } },
    });
    upstream.plan('chains', status(500, { 'x-secret': 'secret-header' }, 'secret-body'));
    const answer = await query('{ chains { name } listings { source lastFailure { code message } } }');
    expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS']);
    const ready = await (await fetch('/ready')).text();
    for (const shown of [JSON.stringify(answer), ready]) {
      expect(shown).not.toMatch(/secret|127\.0\.0\.1|localhost/);
    }
    expect(JSON.stringify(logged)).toContain(`${upstream.url}/chains: HTTP 500 secret-body`);
    expect(JSON.stringify(logged)).not.toContain('secret-key');
  });

  it('refuses an operation that proves too large when the first listing arrives, and the process survives', async () => {
    const unhandled = collectUnhandledRejections();
    const { ask, upstream } = await startServer({ config: { maxRows: 5 } });
    upstream.plan('tokens', late(50, json({ tokens: demoTokens })));
    const { body } = await ask({ query: '{ tokens { name } }' });
    expect(codesOf(JSON.parse(body.toString()))).toEqual(['LIMIT_EXCEEDED']);
    expect(await unhandled()).toEqual([]);
  });

  it('masks an internal error, and logs it with the id of the request', async () => {
    const { post, logged } = await createTestGateway({ decorate: withBrokenRoutes });
    const query = '{ tokens(srcToken: "0x1") { address } }';
    const response = await post({ query }, { 'x-request-id': 'find-me' });
    const body = await response.text();
    expect(body).not.toContain('secret-bug');
    expect(body).toContain('INTERNAL_SERVER_ERROR');
    const line = logged.find(({ msg }) => msg.includes('Internal error'));
    expect(line).toMatchObject({ requestId: 'find-me', err: { message: 'secret-bug' } });
  });
});
