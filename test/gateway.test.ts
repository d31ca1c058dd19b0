import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { chainRow, tokenRow } from './fixtures/rows.js';
import { first, json, late, startFakeUpstream, status } from './support/fake-upstream.js';
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
  it('serves each field of every chain as the upstream sent it, in its order', async () => {
    const { query } = await createTestGateway();
    const { data, errors } = await query<Chains>(`{
      chains { chainKey chainType chainId shortName name nativeCurrency { chainKey name symbol decimals address } }
    }`);
    expect(errors).toBeUndefined();
    expect(data?.chains).toEqual(demoChains);
  });

  it('serves each field of every token as the upstream sent it, in its order', async () => {
    const { query } = await createTestGateway();
    const { data, errors } = await query<Tokens>(`{
      tokens { isBridgeable chainKey address decimals symbol name price { usd } }
    }`);
    expect(errors).toBeUndefined();
    expect(data?.tokens).toEqual(demoTokens);
  });

  it('joins each token with its chain', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<Tokens>(
      `{ tokens { chainKey chain { chainKey name nativeCurrency { symbol } } } }`,
    );
    const byKey = new Map(demoChains.map((chain) => [chain.chainKey, chain]));
    expect(data?.tokens).toEqual(
      demoTokens.map(({ chainKey }) => {
        const chain = byKey.get(chainKey);
        return {
          chainKey,
          chain: { chainKey, name: chain?.name, nativeCurrency: { symbol: chain?.nativeCurrency.symbol } },
        };
      }),
    );
  });

  it('joins each chain with its tokens', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<Chains>(`{ chains { chainKey tokenCount tokens { address chainKey } } }`);
    expect(data?.chains).toEqual(
      demoChains.map(({ chainKey }) => {
        const tokens = demoTokens.filter((token) => token.chainKey === chainKey);
        return {
          chainKey,
          tokenCount: tokens.length,
          tokens: tokens.map(({ address }) => ({ address, chainKey })),
        };
      }),
    );
  });

  it('returns null as the chain of a token on an unlisted chain, without an error', async () => {
    const { query } = await createTestGateway({
      listings: { chains: [chainRow('a')], tokens: [tokenRow('b', '0x01')] },
    });
    expect(await query(`{ tokens { symbol isNative chain { name } } }`)).toEqual({
      data: { tokens: [{ symbol: 'USDC', isNative: false, chain: null }] },
    });
  });

  it('accepts a chainId above 2^31, a negative one, and six chains with the chainId 1', async () => {
    const { query } = await createTestGateway({
      listings: {
        chains: [...demoChains, chainRow('palm', { chainId: 11297108109 })],
      },
    });
    const { data } = await query<Chains>(`{ chains { chainKey chainId caip2 } }`);
    expect(data?.chains?.at(-1)).toEqual({
      chainKey: 'palm',
      chainId: 11297108109,
      caip2: 'eip155:11297108109',
    });
    expect(data?.chains).toContainEqual({ chainKey: 'ton', chainId: -239, caip2: 'tvm:-239' });
    const ones = data?.chains?.filter(({ chainId }) => chainId === 1) ?? [];
    expect(ones.map(({ chainKey }) => chainKey).sort()).toEqual([
      'aptos',
      'ethereum',
      'iotamove',
      'solana',
      'starknet',
      'sui',
    ]);
    expect(new Set(ones.map(({ caip2 }) => caip2)).size).toBe(6);
  });
});

describe('filters of tokens', () => {
  it('answers a chain without a token from the full listing', async () => {
    const { query, upstream } = await createTestGateway();
    const { data } = await query<Tokens>(`{ tokens(srcChainKey: "ethereum") { address } }`);
    const expected = demoTokens.filter(({ chainKey }) => chainKey === 'ethereum');
    expect(data?.tokens).toEqual(expected.map(({ address }) => ({ address })));
    expect(upstream.seen.map(({ url }) => url).sort()).toEqual(['/v1/tokens']);
  });

  it('passes on the tokens of a pair without filtering them by chain', async () => {
    const upstream = await startFakeUpstream();
    const routes = [
      tokenRow('base', '0x02', { symbol: 'B' }),
      tokenRow('ethereum', '0x03', { symbol: 'E' }),
      tokenRow('nowhere', '0x04', { symbol: 'N' }),
    ];
    upstream.plan('routes', json({ tokens: routes }));
    const { query } = await createTestGateway({ upstream });
    const { data } = await query<Tokens>(
      `query ($srcToken: String) { tokens(srcChainKey: "ethereum", srcToken: $srcToken) { symbol chainKey chain { name } } }`,
      { srcToken: USDC },
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
    expect(asked.sort()).toEqual(
      [
        `/v1/tokens?srcChainKey=ethereum&srcToken=${listed?.address}`,
        `/v1/tokens?srcChainKey=ethereum&srcToken=${PLACEHOLDER}`,
      ].sort(),
    );
  });

  it('sends one request for all letter cases of an unlisted address, in the first one', async () => {
    const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
    expect(
      codesOf(
        await query('{ a: tokens(srcToken: "0xAbCd") { symbol } b: tokens(srcToken: "0xabcd") { symbol } }'),
      ),
    ).toEqual([]);
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
    expect(
      await query(
        '{ a: tokens(srcChainKey: "x", srcToken: "0x1") { symbol } b: tokens(srcToken: "0x2") { symbol } }',
      ),
    ).toEqual({ data: { a: [], b: [] } });
  });
});

describe('look-ups', () => {
  it('respects letter case in base58 addresses and Move types', async () => {
    const { query } = await createTestGateway();
    const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    expect(
      await query(`{
        exact: token(chainKey: "solana", address: "${usdc}") { address }
        folded: token(chainKey: "solana", address: "${usdc.toLowerCase()}") { address }
        move: token(chainKey: "sui", address: "0x2::sui::SUI") { address }
        foldedMove: token(chainKey: "sui", address: "0x2::sui::sui") { address }
      }`),
    ).toEqual({
      data: { exact: { address: usdc }, folded: null, move: { address: '0x2::sui::SUI' }, foldedMove: null },
    });
  });

  it('treats the zero address and the placeholder as equal, and returns the listed one', async () => {
    const { query } = await createTestGateway({
      listings: {
        chains: [chainRow('a'), chainRow('b')],
        tokens: [tokenRow('a', ZERO, { symbol: 'A' }), tokenRow('b', PLACEHOLDER, { symbol: 'B' })],
      },
    });
    expect(
      await query(`{
        a: token(chainKey: "a", address: "${PLACEHOLDER}") { address isNative }
        b: token(chainKey: "b", address: "${ZERO}") { address isNative }
      }`),
    ).toEqual({
      data: { a: { address: ZERO, isNative: true }, b: { address: PLACEHOLDER, isNative: true } },
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
    expect(
      await query(`{
        chain(chainKey: "Etherium") { name }
        proto: chain(chainKey: "__proto__") { name }
        token(chainKey: "base", address: "nope") { name }
      }`),
    ).toEqual({ data: { chain: null, proto: null, token: null } });
  });
});

describe('ids', () => {
  it('can contain lone surrogates', async () => {
    const { query } = await createTestGateway({
      listings: { chains: [chainRow('\ud800'), chainRow('\ud801')] },
    });
    const { data } = await query<{ chains: { id: string }[] }>('{ chains { id } }');
    expect(new Set(data?.chains.map(({ id }) => id)).size).toBe(2);
  });
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
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        query<Record<string, { chain: unknown }[]>>(`{
          a: tokens { chain { name } }
          b: tokens(srcChainKey: "base") { chain { name } }
          c: tokens(srcChainKey: "ethereum") { chain { name } }
        }`),
      ),
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
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        query(`{ tokens(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey } }`),
      ),
    );
    expect(upstream.count()).toBe(3);
    for (const answer of answers) expect(answer).toEqual({ data: { tokens: [{ chainKey: 'base' }] } });
  });
});

describe('when something fails', () => {
  it.each([
    ['chains', { tokens: [{ symbol: 'USDC', chain: null }], chains: null, ok: { decimals: 6 } }, 3],
    ['tokens', { tokens: null, chains: [{ chainKey: 'a', tokens: null }], ok: null }, 3],
  ] as const)('returns all other data while the %s listing fails', async (path, data, errors) => {
    const { query, upstream } = await createTestGateway({
      listings: { chains: [chainRow('a')], tokens: [tokenRow('a', '0x01')] },
    });
    upstream.plan(path, status(404));
    const answer = await query(`{
      tokens { symbol chain { name } }
      chains { chainKey tokens { symbol } }
      ok: token(chainKey: "a", address: "0x01") { decimals ${path === 'chains' ? 'chain { name }' : ''} }
    }`);
    expect(answer.data).toMatchObject(data);
    expect(codesOf(answer)).toEqual(Array(errors).fill('UPSTREAM_STATUS'));
  });

  it('hides the upstream from clients, and logs everything', async () => {
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
    const { post, logged } = await createTestGateway({
      decorate: withBrokenRoutes,
    });
    const query = '{ tokens(srcToken: "0x1") { address } }';
    const response = await post({ query }, { 'x-request-id': 'find-me' });
    const body = await response.text();
    expect(body).not.toContain('secret-bug');
    expect(body).toContain('INTERNAL_SERVER_ERROR');
    const line = logged.find(({ msg }) => msg.includes('Internal error'));
    expect(line).toMatchObject({ requestId: 'find-me', err: { message: 'secret-bug' } });
  });
});
