/** Names that every JavaScript object has, such as __proto__, are names like others. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, text } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const NAMES = 'constructor __proto__ prototype toString hasOwnProperty valueOf __defineGetter__'.split(' ');

type Nodes = { readonly nodes: readonly { readonly chainKey: string; readonly address: string }[] };

it.each(NAMES)('a chain and a token that are called %s work like others', async (name) => {
  const chainKey = name.toLowerCase();
  const chain = {
    ...chainRow(name, { chainType: name, shortName: name, name }),
    nativeCurrency: { chainKey: name, name, symbol: name, decimals: 18, address: name },
  };
  const { query, upstream, snapshots, metrics, logged } = await createTestGateway({
    listings: {
      chains: [chain, chainRow('a')],
      tokens: [tokenRow(name, name, { symbol: name, name }), tokenRow('a', '0x1')],
    },
    config: { upstreamRetries: 0 },
  });
  const variables = { name, names: [name] };
  const { data, errors } = await query<
    { chains: { id: string }[]; tokens: { id: string }[] } & Record<string, Nodes>
  >(
    `query ($name: String!, $names: [String!]) {
      chains { id chainKey chainType caip2 tokenCount tokens { symbol } }
      tokens { id chainKey isNative chain { name } }
      chain(chainKey: $name) { name }
      token(chainKey: $name, address: $name) { symbol }
      meant: chains(search: $name, chainTypes: $names) { chainKey }
      on: tokens(srcChainKey: $name) { address }
      chainsByKey(chainKeys: [$name]) { chainKey }
      tokensByKey(keys: [{ chainKey: $name, address: $name }]) { address }
      found: tokenSearch(query: $name) { nodes { chainKey address } }
      filtered: tokenSearch(filter: { chainKeys: $names, chainTypes: $names, symbols: $names }) {
        nodes { chainKey address }
      }
      native: tokenSearch(filter: { isNative: true }, orderBy: NAME) { nodes { chainKey address } }
      destinations(srcChainKey: $name, srcToken: $name) { chainKey }
      _entities(representations: [{ __typename: "Chain", chainKey: "${name}" }]) { ... on Chain { name } }
    }`,
    variables,
  );
  expect(errors).toBeUndefined();
  const own = { nodes: [{ chainKey, address: name }] };
  expect(data).toMatchObject({
    chains: [
      { chainKey, chainType: chainKey, caip2: null, tokenCount: 1, tokens: [{ symbol: name }] },
      { chainKey: 'a' },
    ],
    tokens: [{ chainKey, isNative: true, chain: { name } }, { chainKey: 'a' }],
    chain: { name },
    token: { symbol: name },
    meant: [{ chainKey }],
    on: [{ address: name }],
    chainsByKey: [{ chainKey }],
    tokensByKey: [{ address: name }],
    found: own,
    filtered: own,
    native: own,
    destinations: [{ chainKey: 'a' }],
    _entities: [{ name }],
  });
  const ids = [data?.chains[0]?.id, data?.tokens[0]?.id];
  const nodes = await query('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }', { ids });
  expect(nodes.data).toEqual({ nodes: [{ __typename: 'Chain' }, { __typename: 'Token' }] });

  // A refresh compares rows with such names, and reports a difference.
  upstream.plan('chains', json({ chains: [{ ...chain, chainId: 8 }, chainRow('a')] }));
  snapshots.refreshNow();
  await expect.poll(() => snapshots.status(Date.now())[0].heldBackRows).toBe(1);
  expect(logged).toContainEqual(
    expect.objectContaining({ chainKey, fact: 'chainId', served: '7', upstream: '8' }),
  );
  const series = 'gateway_held_back_rows{listing="chains",fact="chainId"} 1';
  expect((await metrics.expose()).text).toContain(series);

  const other = await createTestGateway({
    listings: { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] },
  });
  const missing = await other.query(
    `query ($name: String!, $names: [String!]) {
      chain(chainKey: $name) { name }
      token(chainKey: $name, address: $name) { symbol }
      tokens(srcChainKey: $name) { address }
      chains(search: $name) { chainKey }
      tokenSearch(query: $name, filter: { chainKeys: $names, chainTypes: $names, symbols: $names }) { totalCount }
    }`,
    variables,
  );
  const none = { chain: null, token: null, tokens: [], chains: [], tokenSearch: { totalCount: 0 } };
  expect(missing).toEqual({ data: none });
});

it('odd names of fields in rows, of aliases and of operations do no harm', async () => {
  const { query, snapshots, upstream } = await createTestGateway();
  const row = JSON.stringify(tokenRow('a', '0x1')).replace('{', '{"__proto__":{"price":1},"constructor":{},');
  const bad = `{"__proto__":${JSON.stringify(tokenRow('a', '0x2'))}}`;
  upstream.plan('tokens', text(`{"__proto__":null,"tokens":[${row},${bad}]}`));
  const answer = await query('query constructor { constructor: tokens { toString: address } }');
  expect(answer.data).toEqual({ constructor: [{ toString: '0x1' }] });
  expect(snapshots.status(Date.now())[1].rejectedRows).toBe(1);
});
