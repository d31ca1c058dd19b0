import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { chainRow, tokenRow } from './fixtures/rows.js';
import { first, json, late, startFakeUpstream, status } from './support/fake-upstream.js';
import { codesOf, createTestGateway } from './support/test-gateway.js';
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
    const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('b', '0x01')] });
    const { query } = await createTestGateway({ upstream });
    expect(await query(`{ tokens { symbol isNative chain { name } } }`)).toEqual({
      data: { tokens: [{ symbol: 'USDC', isNative: false, chain: null }] },
    });
  });

  it('accepts a chainId above 2^31, a negative one, and six chains with the chainId 1', async () => {
    const upstream = await startFakeUpstream({
      chains: [...demoChains, chainRow('palm', { chainId: 11297108109 })],
    });
    const { query } = await createTestGateway({ upstream });
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
    upstream.plan('tokens', (response, request, nth) =>
      json({ tokens: request.url?.includes('srcToken') ? routes : demoTokens })(response, request, nth),
    );
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
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    await query(`{
      lower: tokens(srcChainKey: "ethereum", srcToken: "${USDC.toLowerCase()}") { symbol }
      upper: tokens(srcChainKey: "ethereum", srcToken: "0x${USDC.slice(2).toUpperCase()}") { symbol }
      zero: tokens(srcChainKey: "ethereum", srcToken: "${ZERO}") { symbol }
    }`);
    const asked = upstream.seen.filter(({ url }) => url.includes('srcToken')).map(({ url }) => url);
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
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    await query(`{ tokens(srcToken: "0x2::sui::SUI&srcChainKey=x y") { symbol } }`);
    const asked = upstream.seen.find(({ url }) => url.includes('srcToken'))?.url ?? '';
    const { searchParams } = new URL(asked, 'http://fake');
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
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    await query('{ tokens { symbol } }');
    upstream.plan('tokens', first(upstream.count('tokens') + 1, status(422), json({ tokens: [] })));
    expect(
      await query(
        '{ a: tokens(srcChainKey: "x", srcToken: "0x1") { symbol } b: tokens(srcToken: "0x2") { symbol } }',
      ),
    ).toEqual({ data: { a: [], b: [] } });
  });

  it('refuses a key that is too long, and names the limit', async () => {
    const { query, upstream } = await createTestGateway();
    const answer = await query('query ($t: String) { tokens(srcToken: $t) { symbol } }', {
      t: 'x'.repeat(513),
    });
    expect(answer.data).toEqual({ tokens: null });
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toBe('Expected at most 512 characters as "srcToken", got 513.');
    expect(upstream.count()).toBe(0);
    const chain = 'x'.repeat(513);
    expect(await query('query ($c: String) { tokens(srcChainKey: $c) { symbol } }', { c: chain })).toEqual({
      data: { tokens: [] },
    });
  });
});

describe('look-ups', () => {
  it.each([
    ['as it is listed', USDC],
    ['in lower case', USDC.toLowerCase()],
    ['in upper case', `0x${USDC.slice(2).toUpperCase()}`],
    ['with a capital X', `0X${USDC.slice(2)}`],
  ])('finds a hex address %s', async (_name, address) => {
    const { query } = await createTestGateway();
    expect(
      await query('query ($address: String!) { token(chainKey: "ethereum", address: $address) { symbol } }', {
        address,
      }),
    ).toEqual({ data: { token: { symbol: 'USDC' } } });
  });

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
    const upstream = await startFakeUpstream({
      chains: [chainRow('a'), chainRow('b')],
      tokens: [tokenRow('a', ZERO, { symbol: 'A' }), tokenRow('b', PLACEHOLDER, { symbol: 'B' })],
    });
    const { query } = await createTestGateway({ upstream });
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
  it('are unique over all chains and tokens', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<{ chains: { id: string }[]; tokens: { id: string }[] }>(
      '{ chains { id } tokens { id } }',
    );
    const ids = [...(data?.chains ?? []), ...(data?.tokens ?? [])].map(({ id }) => id);
    expect(ids).toHaveLength(demoChains.length + demoTokens.length);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('stay the same when the upstream writes an address in another letter case', async () => {
    const idsOf = async (address: string) => {
      const upstream = await startFakeUpstream({ tokens: [tokenRow('ethereum', address)] });
      const { query } = await createTestGateway({ upstream });
      return (await query<{ tokens: { id: string }[] }>('{ tokens { id } }')).data?.tokens;
    };
    expect(await idsOf(USDC)).toEqual(await idsOf(USDC.toLowerCase()));
    expect(await idsOf('EPjFWdd5')).not.toEqual(await idsOf('epjfwdd5'));
  });

  it('can contain lone surrogates', async () => {
    const upstream = await startFakeUpstream({ chains: [chainRow('\ud800'), chainRow('\ud801')] });
    const { query } = await createTestGateway({ upstream });
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
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', late(30, json({ tokens: demoTokens })));
    upstream.plan('chains', late(60, json({ chains: demoChains })));
    const { query } = await createTestGateway({ upstream, config: { maxWaitMs: 60_000 } });
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
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
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

  it('for routes are limited in one operation; cached routes do not count', async () => {
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream, config: { maxRoutesPerOperation: 2 } });
    const ask = (...tokens: string[]) =>
      query(
        `{ ${tokens.map((token) => `${token}: tokens(srcChainKey: "x", srcToken: "${token}") { symbol }`)} }`,
      );
    upstream.plan('tokens', json({ tokens: ['a', 'b', 'c', 'd'].map((token) => tokenRow('x', token)) }));
    const tooMany = await ask('a', 'b', 'c');
    expect(codesOf(tooMany)).toEqual(['ROUTE_BUDGET_EXCEEDED']);
    expect(tooMany.errors?.[0]?.path).toEqual(['c']);
    expect(tooMany.data).toMatchObject({ c: null });
    expect(upstream.seen.filter(({ url }) => url.includes('srcToken'))).toHaveLength(2);
    expect(codesOf(await ask('a', 'b', 'c', 'd'))).toEqual([]);
    expect(upstream.seen.filter(({ url }) => url.includes('srcToken'))).toHaveLength(4);
  });
});

describe('when something fails', () => {
  it.each([
    ['chains', { tokens: [{ symbol: 'USDC', chain: null }], chains: null, ok: { decimals: 6 } }, 3],
    ['tokens', { tokens: null, chains: [{ chainKey: 'a', tokens: null }], ok: null }, 3],
  ] as const)('returns all other data while the %s listing fails', async (path, data, errors) => {
    const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('a', '0x01')] });
    upstream.plan(path, status(404));
    const { query } = await createTestGateway({ upstream });
    const answer = await query(`{
      tokens { symbol chain { name } }
      chains { chainKey tokens { symbol } }
      ok: token(chainKey: "a", address: "0x01") { decimals ${path === 'chains' ? 'chain { name }' : ''} }
    }`);
    expect(answer.data).toMatchObject(data);
    expect(codesOf(answer)).toEqual(Array(errors).fill('UPSTREAM_STATUS'));
  });

  it('hides the upstream from clients, and logs everything', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('chains', status(500, { 'x-secret': 'secret-header' }, 'secret-body'));
    const { query, logged, fetch } = await createTestGateway({
      upstream,
      config: { upstreamRetries: 0, upstreamHeaders: { 'x-api-key': 'secret-key' } },
    });
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
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', late(50, json({ tokens: demoTokens })));
    const { ask } = await startServer({ upstream, config: { maxRows: 5 } });
    const { body } = await ask({ query: '{ tokens { name } }' });
    expect(codesOf(JSON.parse(body.toString()))).toEqual(['LIMIT_EXCEEDED']);
    expect(await unhandled()).toEqual([]);
  });

  it('masks an internal error, and logs it with the id of the request', async () => {
    const { fetch, logged } = await createTestGateway({
      decorate: (listing) => ({
        ...listing,
        routes: () =>
          Promise.resolve({
            rejected: { count: 0, first: [] },
            rows: [
              {
                get address(): string {
                  throw new Error('secret-bug');
                },
              },
            ],
          } as never),
      }),
    });
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'find-me' },
      body: JSON.stringify({ query: '{ tokens(srcToken: "0x1") { address } }' }),
    });
    const body = await response.text();
    expect(body).not.toContain('secret-bug');
    expect(body).toContain('INTERNAL_SERVER_ERROR');
    const line = logged.find(({ msg }) => msg.includes('Internal error'));
    expect(line).toMatchObject({ requestId: 'find-me', err: { message: 'secret-bug' } });
  });

  it('stops an operation with too many rows, and returns no data', async () => {
    const { query } = await createTestGateway({ config: { maxRows: 1000 } });
    const answer = await query('{ tokens { chain { tokens { symbol } } } }');
    expect(answer).not.toHaveProperty('data');
    expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
    expect(answer.errors?.[0]?.message).toMatch(/at most 1000 rows in all; these have \d{4,5}\./);
    expect(codesOf(await query('{ chains { tokens { symbol } } }'))).toEqual([]);
    expect(codesOf(await query('{ a: tokens { symbol } b: tokens { symbol } }'))).toEqual(['LIMIT_EXCEEDED']);
  });
});
