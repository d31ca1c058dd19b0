import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { status } from '../../support/fake-upstream.js';
import { codesOf, createTestGateway, dataOf } from '../../support/test-gateway.js';

const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const ZERO = `0x${'0'.repeat(40)}`;
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';

const NODES = `query ($ids: [ID!]!) {
  nodes(ids: $ids) { __typename id ... on Chain { chainKey } ... on Token { chainKey address } }
}`;

const encoded = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');

describe('node and nodes', () => {
  it('find every chain and every token by its id, in the order of the ids', async () => {
    const { query, upstream } = await createTestGateway();
    const { chains, tokens } = await dataOf(
      query<Record<'chains' | 'tokens', { id: string }[]>>('{ chains { id } tokens { id } }'),
    );
    const ids = [...tokens, ...chains].map(({ id }) => id).reverse();
    const { nodes } = await dataOf(
      query<{ nodes: { id: string; chainKey: string; address?: string }[] }>(NODES, { ids }),
    );
    expect(nodes.map(({ id }) => id)).toEqual(ids);
    expect(nodes.map(({ chainKey, address }) => [chainKey, address]).reverse()).toEqual([
      ...demoTokens.map(({ chainKey, address }) => [chainKey, address]),
      ...demoChains.map(({ chainKey }) => [chainKey, undefined]),
    ]);
    expect(upstream.count()).toBe(2);
  });

  it.each([
    [USDC, USDC],
    [USDC.toLowerCase(), USDC],
    [`0x${USDC.slice(2).toUpperCase()}`, USDC],
    [USDC.toUpperCase(), USDC],
    [PLACEHOLDER, PLACEHOLDER],
    [PLACEHOLDER.toUpperCase(), PLACEHOLDER],
    [ZERO, PLACEHOLDER],
  ])('find a token by an id with the address %s, in either form of base64', async (written, address) => {
    const { query } = await createTestGateway();
    const json = Buffer.from(JSON.stringify(['Token', 'ethereum', written]));
    const id = encoded('Token', 'ethereum', address.toLowerCase());
    const found = {
      data: { node: { id }, nodes: [{ __typename: 'Token', id, chainKey: 'ethereum', address }] },
    };
    // Tools that encode an id again often add padding.
    for (const asked of [json.toString('base64url'), json.toString('base64')])
      expect(await query(NODES.replace('{', `{ node(id: "${asked}") { id }`), { ids: [asked] })).toEqual(
        found,
      );
  });

  it('are null for an unknown id and for other texts', async () => {
    const { query } = await createTestGateway();
    const unknown = [
      '',
      'ethereum',
      'Chain:ethereum',
      '💥',
      encoded('Chain'),
      encoded('Chain', 'nope'),
      encoded('Chain', 'ethereum', 'more'),
      encoded('Token', 'ethereum'),
      encoded('Token', 'ethereum', ''),
      encoded('Price', 'ethereum'),
      encoded('__proto__', 'ethereum'),
      `${encoded('Chain', 'ethereum')}==`,
      encoded('chain', 'ethereum'),
      `${encoded('Chain', 'ethereum')} `,
      encoded('Token', 'base', '0x1', 'more'),
      ...['null', '["Chain",{}]', '["Chain",5]', '["Chain",["base"]]', '["Chain","ba', '["Chain","a\\x"]']
        .concat('["Chain","\\u12"]', '["Chain","\n"]')
        .map((json) => Buffer.from(json).toString('base64url')),
      'A'.repeat(100_000),
    ];
    const answer = await query(NODES, { ids: unknown });
    expect(answer).toEqual({ data: { nodes: unknown.map(() => null) } });
    expect(await query('{ node(id: "nope") { id } }')).toEqual({ data: { node: null } });
  });
});

describe('chainsByKey and tokensByKey', () => {
  it('give one item per key in the order of the keys, null for the unknown, without a request to the upstream', async () => {
    const { query, upstream } = await createTestGateway();
    await query('{ chains { id } tokens { id } }');
    const chains: readonly (readonly [chainKey: string, found: string | null])[] = [
      ...([
        ['bsc', 'bsc'],
        ['nope', null],
        ['base', 'base'],
        ['bsc', 'bsc'],
        ['BSC', 'bsc'],
      ] as const),
    ];
    const tokens: readonly (readonly [chainKey: string, address: string, found: string | null])[] = [
      ['ethereum', USDC.toLowerCase(), USDC],
      ['base', USDC, null],
      ['bsc', ZERO, PLACEHOLDER],
      ['ethereum', USDC.toUpperCase().replace('X', 'x'), USDC],
      ['nope', '', null],
    ];
    const answer = await query(
      `query ($chainKeys: [String!]!, $keys: [TokenKey!]!) {
        chainsByKey(chainKeys: $chainKeys) { chainKey }
        tokensByKey(keys: $keys) { chainKey address }
      }`,
      {
        chainKeys: chains.map(([chainKey]) => chainKey),
        keys: tokens.map(([chainKey, address]) => ({ chainKey, address })),
      },
    );
    expect(answer).toEqual({
      data: {
        chainsByKey: chains.map(([, chainKey]) => chainKey && { chainKey }),
        tokensByKey: tokens.map(([chainKey, , address]) => address && { chainKey, address }),
      },
    });
    expect(upstream.count()).toBe(2);
  });

  it('are null only for the items whose listing fails', async () => {
    const { query, upstream } = await createTestGateway({
      listings: { chains: [chainRow('base')], tokens: [tokenRow('base', '0x1')] },
      config: { upstreamRetries: 0 },
    });
    upstream.plan('chains', status(500));
    const answer = await query(
      `{ chainsByKey(chainKeys: ["base", "nope"]) { name }
         tokensByKey(keys: [{ chainKey: "base", address: "0X1" }, { chainKey: "base", address: "0x10" }]) { address } }`,
    );
    expect(answer.data).toEqual({ chainsByKey: [null, null], tokensByKey: [{ address: '0x1' }, null] });
    expect(answer.errors?.map(({ path }) => path)).toEqual([
      ['chainsByKey', 0],
      ['chainsByKey', 1],
    ]);
    expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS', 'UPSTREAM_STATUS']);
  });
});

/** A query with every argument that is the key of a chain. */
const everywhere = (key: string) => `{
  chain(chainKey: "${key}") { chainKey tokens { address } }
  chainsByKey(chainKeys: ["${key}", "nope"]) { chainKey tokenCount }
  token(chainKey: "${key}", address: "${USDC}") { chainKey address chain { chainKey } }
  tokensByKey(keys: [{ chainKey: "${key}", address: "${USDC.toLowerCase()}" }]) { chainKey }
  tokens(srcChainKey: "${key}") { chainKey address }
  routes: tokens(srcChainKey: "${key}", srcToken: "${USDC}") { chainKey address }
  destinations(srcChainKey: "${key}", srcToken: "${USDC}") { chainKey }
  tokenSearch(filter: { chainKeys: ["${key}", "ethereum"] }) { totalCount nodes { chainKey } }
  nodes(ids: ["${encoded('Chain', key)}", "${encoded('Token', key, USDC)}"]) { id }
  _entities(representations: [
    { __typename: "Chain", chainKey: "${key}" }
    { __typename: "Token", chainKey: "${key}", address: "${USDC}" }
    { __typename: "Chain", id: "${encoded('Chain', key)}" }
  ]) { __typename ... on Chain { chainKey } ... on Token { chainKey address } }
}`;

it('the key of a chain is found in any letter case, and sent to the upstream once, in the upstream’s letter case', async () => {
  const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
  const exact = await query<{ tokens: object[]; nodes: object[] }>(everywhere('ethereum'));
  expect(exact.errors).toBeUndefined();
  expect(exact.data?.tokens.length).toBeGreaterThan(10);
  expect(exact.data?.nodes).not.toContain(null);
  for (const key of ['Ethereum', 'ETHEREUM', 'eTHEREUM']) expect(await query(everywhere(key))).toEqual(exact);
  const routes = upstream.routesAsked();
  expect(routes.map(({ url }) => new URL(url, 'http://x').searchParams.get('srcChainKey'))).toEqual([
    'ethereum',
  ]);
});
