/** Each supported composer and router joins the graph with another team's graph, with few look-ups. */
import fc from 'fast-check';
import { buildSchema, Kind, parse } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { schema } from '../../src/graph/schema/index.js';
import { demoChains } from '../fixtures/demo.js';
import { type AtEnd, afterTests } from '../support/ends.js';
import { ask, post } from '../support/gateway-process.js';
import { operationsOf } from '../support/generated-operations.js';
import { fixedLimits } from '../support/processes.js';
import * as routers from './support/routers.js';
import { holdersOf, serveGraph, tvlUsdOf } from './support/stats-subgraph.js';

const ROUTERS = ['apollo-gateway', 'hive-gateway', 'stitching'] as const;
type Router = (typeof ROUTERS)[number];

/** A larger graph has no `node`, because an id does not say which subgraph it belongs to. Ages change during the test. */
const EXCLUDED_FIELDS = ['Query.node', 'Query.nodes', 'ListingStatus.ageSeconds'];
const FOR_ROUTERS = ['Query._entities', 'Query._service', 'Query._sdl'];

/** Operations that use each kind of field and give the same answer each time. */
const GENERATED = fc
  .sample(operationsOf({ without: [...EXCLUDED_FIELDS, ...FOR_ROUTERS] }), { numRuns: 200, seed: 7 })
  // Operations that routers change are left out. Routers make names longer, and some names here have the maximum length.
  // One router ignores operationName. Two routers lose a field that is selected twice, once with a directive. Composed
  // graphs have no Node.
  .filter(({ query }) => !/xxx|query B|@|on Node\b/.test(query));

const EXPLORER = 'https://etherscan.io';
const WITH_FACTS = { explorerUrl: EXPLORER, rpcUrls: ['https://eth.test'] };
/** Another team's schema for stitching, whose chains have only the key `caip2`. */
const FACTS_SUBSCHEMA = `
  directive @merge(keyField: String) on FIELD_DEFINITION
  type Chain { caip2: String explorerUrl: String rpcUrls: [String!] }
  type Query { chainsWithFacts: [Chain!]! factsOf(caip2s: [String]!): [Chain]! @merge(keyField: "caip2") }
`;

function serveFacts(atEnd: AtEnd) {
  const chain = (caip2: string | null) => ({ caip2, ...(caip2 === 'eip155:1' ? WITH_FACTS : {}) });
  const rootValue = {
    _sdl: FACTS_SUBSCHEMA,
    chainsWithFacts: [chain('eip155:1')],
    factsOf: ({ caip2s }: { caip2s: readonly (string | null)[] }) => caip2s.map(chain),
  };
  const schema = buildSchema(`${FACTS_SUBSCHEMA} extend type Query { _sdl: String! }`);
  return serveGraph(schema, rootValue, atEnd);
}

const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

const ROUTES = `{
  destinations(srcChainKey: "ethereum", srcToken: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48") {
    chainKey
    chain { name tokenCount }
    tokens { id symbol isNative price { usd } }
  }
  token(chainKey: "base", address: "0x0000000000000000000000000000000000000000") {
    destinations { chainKey tokens { address chain { caip2 nativeCurrency { symbol } } } }
  }
}`;

const rootFieldsOf = (query: string) =>
  parse(query).definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION
      ? definition.selectionSet.selections.map((field) => 'name' in field && field.name?.value)
      : [],
  );

const answerOf = async (address: string, operation: object) =>
  (await (await post(address, operation)).json()) as object;

const isLookUp = ({ query }: routers.PassedRequest) => /\b(_entities|chainsBy\w+|tokensBy\w+)\b/.test(query);

interface TokenRow {
  readonly symbol: string;
  readonly chainKey: string;
  readonly address: string;
  readonly chain: { readonly name: string };
}

interface ChainWithFacts {
  readonly chainKey: string;
  readonly caip2: string | null;
  readonly explorerUrl: string | null;
}

describe.skipIf(routers.areRoutersMissing)('a larger graph', () => {
  const atEnd = afterTests();
  const addresses = new Map<Router, string>();
  let subgraphs: routers.Subgraphs;
  /** The gateway beside another subgraph, which knows chains by their CAIP-2 alone. */
  let withFacts: routers.Subgraphs;
  const addressesWithFacts = new Map<Router, string>();

  beforeAll(async () => {
    // The generated queries use many aliases, so the limit on them is raised.
    subgraphs = await routers.startSubgraphs(atEnd, {
      TRUSTED_PROXIES: 'loopback',
      ...fixedLimits({ maxAliases: 1000 }),
    });
    withFacts = { ...subgraphs, stats: await routers.startSubgraphRecipe('chain-facts.js', atEnd) };
    const stitched = { ...subgraphs, stats: await serveFacts(atEnd) };
    await Promise.all(
      ROUTERS.map(async (router) => {
        addresses.set(router, await routers.startRouter(router, subgraphs, atEnd));
        const graphs = router === 'stitching' ? stitched : withFacts;
        addressesWithFacts.set(router, await routers.startRouter(router, graphs, atEnd));
      }),
    );
  });

  async function through<Data>(router: Router, query: string, routers = addresses) {
    subgraphs.gateway.passed();
    const answer = await ask<Data>(routers.get(router) ?? '', query);
    const requests = subgraphs.gateway.passed();
    return { ...answer, requests: requests.length, lookUps: requests.filter(isLookUp).length };
  }

  it('the larger graph is composed by each composer without errors, from our graph alone and with either subgraph', async () => {
    const composers = ['@apollo/composition', '@theguild/federation-composition', '@wundergraph/composition'];
    const none = Object.fromEntries(composers.map((composer) => [composer, []]));
    for (const graphs of [subgraphs, withFacts]) {
      const recipes = ['apollo-router.yaml', 'cosmo.yaml'].map((name) => routers.recipe(name, graphs));
      const faults = JSON.parse(await routers.runScript('compose.js', ...recipes));
      expect(faults).toEqual({ tokens: none, 'tokens,stats': none });
    }
  });

  it('the larger graph is composed by Mesh with the keys of both subgraphs', async () => {
    const supergraph = await routers.composeByMesh(subgraphs);
    for (const graph of ['TOKENS', 'STATS'])
      expect(supergraph).toMatch(
        new RegExp(`^type Chain .*@join__type\\(graph: ${graph}, key: "chainKey"`, 'm'),
      );
    expect(supergraph).toContain('tvlUsd');
  });

  it('our gateway gets the client’s address, by Hive Gateway and by the header that Apollo Router passes on', async () => {
    const clientsOf = (operation: string) => {
      const line = new RegExp(`"operation":"${operation}[^"]*".*"client":"([^"]+)"`, 'g');
      return [...subgraphs.output().matchAll(line)].map(([, client]) => client);
    };
    const askAs = (address: string, operationName: string, headers: Record<string, string>) => {
      const query = `query ${operationName} { chain(chainKey: "base") { name } }`;
      return post(address, { query, operationName }, headers);
    };
    await askAs(addresses.get('hive-gateway') ?? '', 'ThroughHive', { 'x-forwarded-for': '192.0.2.9' });
    await expect.poll(() => clientsOf('ThroughHive')).toEqual(['192.0.2.9']);
    const yaml = parseYaml(routers.recipe('router.yaml', subgraphs)) as object;
    expect(yaml).toHaveProperty('headers.subgraphs.tokens.request.0.propagate.named', 'x-forwarded-for');
    await askAs(subgraphs.address, 'ThroughRouter', { 'x-forwarded-for': '192.0.2.7' });
    await expect.poll(() => clientsOf('ThroughRouter')).toEqual(['192.0.2.7']);
  });

  it('the larger graph is tested with generated queries for each field of the query type but node and nodes', () => {
    const asked = [...GENERATED.map(({ query }) => query), ROUTES].flatMap(rootFieldsOf);
    const known = Object.keys(schema.getQueryType()?.getFields() ?? {});
    expect(known.filter((name) => !asked.includes(name)).map((name) => `Query.${name}`)).toEqual(
      EXCLUDED_FIELDS.filter((name) => name.startsWith('Query.')),
    );
  });

  describe.each(ROUTERS)('by %s', (router) => {
    it('a router adds the fields of others to our chains and tokens, without a look-up at our gateway', async () => {
      const { data } = await ask<{ tokens: TokenRow[] }>(
        subgraphs.address,
        '{ tokens(srcChainKey: "base") { symbol chainKey address chain { name } } }',
      );
      expect(data.tokens.length).toBeGreaterThan(10);
      expect(
        await through(router, '{ tokens(srcChainKey: "base") { symbol holders chain { name tvlUsd } } }'),
      ).toEqual({
        data: {
          tokens: data.tokens.map(({ symbol, chain, ...key }) => ({
            symbol,
            holders: holdersOf(key),
            chain: { ...chain, tvlUsd: tvlUsdOf(key) },
          })),
        },
        requests: 1,
        lookUps: 0,
      });
    });

    it('a router resolves tokens of another subgraph by one look-up, also if one of them is known only there', async () => {
      const query = '{ watched { holders symbol decimals chain { name tvlUsd nativeCurrency { symbol } } } }';
      const row = (
        holders: number,
        symbol: string,
        decimals: number,
        ...[name, tvlUsd, native]: unknown[]
      ) => ({
        ...{ holders, symbol, decimals },
        chain: { name, tvlUsd, nativeCurrency: { symbol: native } },
      });
      const watched = [
        row(3830, 'USDC', 6, 'Ethereum', 8000004, 'ETH'),
        null,
        row(2499, 'ETH', 18, 'Base', 4000002, 'ETH'),
        row(5109, 'USDC', 6, 'Solana', 6000003, 'SOL'),
      ];
      const answer = await through(router, query);
      expect(answer).toMatchObject({ data: { watched }, requests: 1, lookUps: 1 });
    });

    it('a router resolves chains and tokens of another subgraph, beside a query to ours, by few look-ups', async () => {
      const query = `{
        richest { symbol holders }
        biggest { name tvlUsd caip2 }
        chain(chainKey: "base") { tvlUsd tokenCount }
      }`;
      const lookUps = router === 'apollo-gateway' ? 2 : 1;
      const { data, ...counts } = await through<Record<string, unknown>>(router, query);
      expect(data).toMatchObject({
        richest: [{ symbol: 'USDC' }, { symbol: 'ETH' }, { symbol: 'USDC' }],
        biggest: [
          { name: 'Ethereum', tvlUsd: 8000004, caip2: 'eip155:1' },
          { name: 'Base', tvlUsd: 4000002, caip2: 'eip155:8453' },
          { name: 'Solana', tvlUsd: 6000003, caip2: SOLANA },
        ],
        chain: { tvlUsd: 4000002, tokenCount: expect.any(Number) },
      });
      expect(counts).toEqual({ requests: lookUps + 1, lookUps });
    });

    it('a router resolves the tokens that another subgraph adds to our chains by one look-up', async () => {
      const { data, ...counts } = await through<{ chains: { topTokens: object[] }[] }>(
        router,
        '{ chains { chainKey topTokens { chainKey symbol holders chain { caip2 } } } }',
      );
      expect(data.chains).toHaveLength(demoChains.length);
      expect(data.chains.flatMap(({ topTokens }) => topTokens)).toEqual([
        { chainKey: 'ethereum', symbol: 'USDC', holders: 3830, chain: { caip2: 'eip155:1' } },
        { chainKey: 'base', symbol: 'ETH', holders: 2499, chain: { caip2: 'eip155:8453' } },
        { chainKey: 'solana', symbol: 'USDC', holders: 5109, chain: { caip2: SOLANA } },
      ]);
      expect(counts).toEqual({ requests: 2, lookUps: 1 });
    });

    it('a router adds the fields of a subgraph that knows only CAIP-2 to our chains that have this identifier', async () => {
      const { data, ...rest } = await through<{ chains: readonly ChainWithFacts[] }>(
        router,
        '{ chains { chainKey caip2 explorerUrl } }',
        addressesWithFacts,
      );
      expect(rest).toEqual({ requests: 1, lookUps: 0 });
      expect(data.chains).toHaveLength(demoChains.length);
      expect(data.chains.filter(({ caip2 }) => caip2 === null)).toHaveLength(2);
      expect(data.chains.filter(({ explorerUrl }) => explorerUrl !== null)).toEqual([
        { chainKey: 'ethereum', caip2: 'eip155:1', explorerUrl: EXPLORER },
      ]);
    });

    it('a router gets our fields for the chains of that subgraph by one look-up', async () => {
      const query = '{ chainsWithFacts { explorerUrl rpcUrls chainKey name } }';
      expect(await through(router, query, addressesWithFacts)).toEqual({
        data: { chainsWithFacts: [{ ...WITH_FACTS, chainKey: 'ethereum', name: 'Ethereum' }] },
        requests: 1,
        lookUps: 1,
      });
    });

    it('a router gives the same answer to each generated query as our gateway', async () => {
      let compared = 0;
      for (const operation of [...GENERATED, { query: ROUTES }]) {
        const direct = await answerOf(subgraphs.address, operation);
        // Each router writes errors in its own form, so only answers without errors are compared.
        if ('errors' in direct) continue;
        compared++;
        const answer = await answerOf(addresses.get(router) ?? '', operation);
        expect(answer, JSON.stringify(operation)).toEqual(direct);
      }
      expect(compared).toBeGreaterThan(GENERATED.length / 3);
    });
  });
});
