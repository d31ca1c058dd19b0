/** Names that every JavaScript object has, such as __proto__, are names like others. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, text } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const NAMES = 'constructor __proto__ prototype toString hasOwnProperty valueOf __defineGetter__'.split(' ');

/** Everything that a client sees of a chain and a token with this name, and that the log and the metrics say. */
async function seenOf(name: string) {
  const chain = {
    ...chainRow(name, { chainType: name, shortName: name, name }),
    nativeCurrency: { chainKey: name, name, symbol: name, decimals: 18, address: name },
  };
  const others = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] };
  const { query, upstream, listings, snapshots, metrics, logged } = await createTestGateway({
    listings: {
      chains: [chain, ...others.chains],
      tokens: [tokenRow(name, name, { symbol: name, name }), ...others.tokens],
    },
    config: { upstreamRetries: 0 },
  });
  const found = await query(
    `query ($name: String!, $names: [String!]) {
      chains { chainKey chainType tokenCount tokens { symbol } }
      tokens { chainKey isNative chain { name } }
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
    { name, names: [name] },
  );
  const listed = await query<Record<string, { id: string; caip2: null }[]>>(
    '{ chains { id caip2 } tokens { id } }',
  );
  const [first] = listed.data?.chains ?? [];
  const ids = [first?.id, listed.data?.tokens?.[0]?.id];
  const nodes = await query('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }', { ids });

  // A refresh compares rows with such names, and reports a difference.
  upstream.plan('chains', json({ chains: [{ ...chain, chainId: 8 }, ...others.chains] }));
  snapshots.refreshNow();
  await expect.poll(() => listings().chains.heldBackRows).toBe(1);
  const lines = logged.filter(({ fact }) => fact === 'chainId').map(({ time: _time, ...line }) => line);
  const [series] = (await metrics.expose()).text.match(/^gateway_held_back_rows\{.*chainId.*/m) ?? [];
  return { found, caip2: first?.caip2, nodes, lines, series };
}

it.each(NAMES)('a chain and a token that are called %s work like others', async (name) => {
  const usual = await seenOf('UsualName');
  expect(JSON.stringify([usual.found, usual.nodes, usual.lines, usual.series])).not.toMatch(
    /null|\[\]|errors/,
  );
  expect(usual.caip2).toBeNull();
  const renamed = JSON.stringify(usual)
    .replaceAll('UsualName', name)
    .replaceAll('usualname', name.toLowerCase());
  expect(await seenOf(name)).toEqual(JSON.parse(renamed));
});

it('odd names of fields in rows, of aliases and of operations do no harm', async () => {
  const { query, listings, upstream } = await createTestGateway();
  const row = JSON.stringify(tokenRow('a', '0x1')).replace('{', '{"__proto__":{"price":1},"constructor":{},');
  const bad = `{"__proto__":${JSON.stringify(tokenRow('a', '0x2'))}}`;
  upstream.plan('tokens', text(`{"__proto__":null,"tokens":[${row},${bad}]}`));
  const answer = await query('query constructor { constructor: tokens { toString: address } }');
  expect(answer.data).toEqual({ constructor: [{ toString: '0x1' }] });
  expect(listings().tokens.rejectedRows).toBe(1);
});
