import { buildSchema } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains } from '../fixtures/demo.js';
import { afterTests } from '../support/ends.js';
import { ask } from '../support/gateway-process.js';
import {
  areRoutersMissing,
  recipe,
  runScript,
  type Subgraphs,
  startRouter,
  startSubgraphRecipe,
  startSubgraphs,
} from './support/routers.js';
import { serveGraph } from './support/serve-graph.js';

const EXPLORER = 'https://etherscan.io';

/** Another team's schema for stitching, whose chains have only the key `caip2`. */
const SUBSCHEMA = `
  directive @merge(keyField: String) on FIELD_DEFINITION
  type Chain { caip2: String explorerUrl: String rpcUrls: [String!] }
  type Query { chainsWithFacts: [Chain!]! factsOf(caip2s: [String]!): [Chain]! @merge(keyField: "caip2") }
`;

interface Shown {
  readonly chainKey: string;
  readonly caip2: string | null;
  readonly explorerUrl: string | null;
}

describe.skipIf(areRoutersMissing)('a subgraph that knows chains by their CAIP-2 alone', () => {
  const atEnd = afterTests();
  const addresses = new Map<string, string>();
  let federated: Subgraphs;

  beforeAll(async () => {
    const subgraphs = await startSubgraphs(atEnd);
    federated = { ...subgraphs, stats: await startSubgraphRecipe('chain-facts.js', atEnd) };
    const chain = (caip2: string | null) => ({
      caip2,
      ...(caip2 === 'eip155:1' ? { explorerUrl: EXPLORER, rpcUrls: ['https://eth.test'] } : {}),
    });
    const rootValue = {
      _sdl: SUBSCHEMA,
      chainsWithFacts: [chain('eip155:1')],
      factsOf: ({ caip2s }: { caip2s: readonly (string | null)[] }) => caip2s.map(chain),
    };
    const schema = buildSchema(`${SUBSCHEMA} extend type Query { _sdl: String! }`);
    const stitched = { ...subgraphs, stats: await serveGraph(schema, rootValue, atEnd) };
    await Promise.all(
      (['apollo-gateway', 'hive-gateway', 'stitching'] as const).map(async (router) => {
        const graphs = router === 'stitching' ? stitched : federated;
        addresses.set(router, await startRouter(router, graphs, atEnd));
      }),
    );
  });

  it('is composed with our graph by each composer without errors', async () => {
    const recipes = ['apollo-router.yaml', 'cosmo.yaml'].map((name) => recipe(name, federated));
    const complaints = JSON.parse(await runScript('compose.js', ...recipes)) as Record<string, unknown>;
    expect(complaints['tokens,stats']).toEqual({
      '@apollo/composition': [],
      '@theguild/federation-composition': [],
      '@wundergraph/composition': [],
    });
  });

  describe.each(['apollo-gateway', 'hive-gateway', 'stitching'])('by %s', (router) => {
    const through = <Data>(query: string) => ask<Data>(addresses.get(router) ?? '', query);

    it('adds its fields to our chains that have an identifier', async () => {
      federated.gateway.passed();
      const answer = await through<{ chains: readonly Shown[] }>('{ chains { chainKey caip2 explorerUrl } }');
      expect(answer).not.toHaveProperty('errors');
      const { chains } = answer.data;
      expect(chains).toHaveLength(demoChains.length);
      expect(chains.filter(({ caip2 }) => caip2 === null)).toHaveLength(2);
      expect(chains.filter(({ explorerUrl }) => explorerUrl !== null)).toEqual([
        { chainKey: 'ethereum', caip2: 'eip155:1', explorerUrl: EXPLORER },
      ]);
      expect(federated.gateway.passed()).toHaveLength(1);
    });

    it('gets our fields for its chains by one look-up', async () => {
      federated.gateway.passed();
      const answer = await through('{ chainsWithFacts { explorerUrl rpcUrls chainKey name } }');
      expect(answer).toEqual({
        data: {
          chainsWithFacts: [
            {
              explorerUrl: EXPLORER,
              rpcUrls: ['https://eth.test'],
              chainKey: 'ethereum',
              name: 'Ethereum',
            },
          ],
        },
      });
      expect(federated.gateway.passed()).toHaveLength(1);
    });
  });
});
