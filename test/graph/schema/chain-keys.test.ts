import { describe, expect, it } from 'vitest';
import { createTestGateway } from '../../support/test-gateway.js';

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const encoded = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');

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

describe('the key of a chain', () => {
  it('is found in any letter case, and sent to the upstream once, in the upstream’s letter case', async () => {
    const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
    const exact = await query<{ tokens: object[]; nodes: object[] }>(everywhere('ethereum'));
    expect(exact.errors).toBeUndefined();
    expect(exact.data?.tokens.length).toBeGreaterThan(10);
    expect(exact.data?.nodes).not.toContain(null);
    for (const key of ['Ethereum', 'ETHEREUM', 'eTHEREUM'])
      expect(await query(everywhere(key))).toEqual(exact);
    const routes = upstream.routesAsked();
    expect(routes.map(({ url }) => new URL(url, 'http://x').searchParams.get('srcChainKey'))).toEqual([
      'ethereum',
    ]);
  });
});
