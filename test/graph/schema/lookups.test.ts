import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { status } from '../../support/fake-upstream.js';
import { codesOf, createTestGateway } from '../../support/test-gateway.js';

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
    const { data } = await query<{ chains: { id: string }[]; tokens: { id: string }[] }>(
      '{ chains { id } tokens { id } }',
    );
    const ids = [...(data?.tokens ?? []), ...(data?.chains ?? [])].map(({ id }) => id).reverse();
    expect(new Set(ids).size).toBe(demoChains.length + demoTokens.length);
    const answer = await query<{ nodes: { id: string; chainKey: string; address?: string }[] }>(NODES, {
      ids,
    });
    expect(answer.errors).toBeUndefined();
    expect(answer.data?.nodes.map(({ id }) => id)).toEqual(ids);
    expect(answer.data?.nodes.map(({ chainKey, address }) => [chainKey, address]).reverse()).toEqual([
      ...demoTokens.map(({ chainKey, address }) => [chainKey, address]),
      ...demoChains.map(({ chainKey }) => [chainKey, undefined]),
    ]);
    expect(upstream.count()).toBe(2);
  });

  it.each<[writing: string, found: string, address: string]>([
    ['a checksummed address', USDC, USDC],
    ['a lower-case address', USDC, USDC.toLowerCase()],
    ['an address with upper-case digits', USDC, `0x${USDC.slice(2).toUpperCase()}`],
    ['an upper-case address', USDC, USDC.toUpperCase()],
    ['the placeholder', PLACEHOLDER, PLACEHOLDER],
    ['an upper-case placeholder', PLACEHOLDER, PLACEHOLDER.toUpperCase()],
    ['the zero address', PLACEHOLDER, ZERO],
  ])('find a token by an id with %s, in either form of base64', async (_writing, found, address) => {
    const { query } = await createTestGateway();
    const json = Buffer.from(JSON.stringify(['Token', 'ethereum', address]));
    // Tools that encode an id again often add padding.
    for (const id of [json.toString('base64url'), json.toString('base64')]) {
      const { data } = await query<{ node: { address: string }; nodes: [{ address: string; id: string }] }>(
        `query ($id: ID!) {
          node(id: $id) { ... on Token { address } }
          nodes(ids: [$id]) { id ... on Token { address } }
        }`,
        { id },
      );
      const canonical = encoded('Token', 'ethereum', found.toLowerCase());
      expect(data).toEqual({ node: { address: found }, nodes: [{ id: canonical, address: found }] });
    }
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
    const answer = await query(
      `query ($keys: [TokenKey!]!) {
        chainsByKey(chainKeys: ["bsc", "nope", "base", "bsc", "BSC"]) { chainKey }
        tokensByKey(keys: $keys) { chainKey address }
      }`,
      {
        keys: [
          { chainKey: 'ethereum', address: USDC.toLowerCase() },
          { chainKey: 'base', address: USDC },
          { chainKey: 'bsc', address: ZERO },
          { chainKey: 'ethereum', address: USDC.toUpperCase().replace('X', 'x') },
          { chainKey: 'nope', address: '' },
        ],
      },
    );
    expect(answer).toEqual({
      data: {
        chainsByKey: [
          { chainKey: 'bsc' },
          null,
          { chainKey: 'base' },
          { chainKey: 'bsc' },
          { chainKey: 'bsc' },
        ],
        tokensByKey: [
          { chainKey: 'ethereum', address: USDC },
          null,
          { chainKey: 'bsc', address: PLACEHOLDER },
          { chainKey: 'ethereum', address: USDC },
          null,
        ],
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
