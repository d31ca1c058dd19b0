import fc from 'fast-check';
import { Kind, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schema } from '../../src/graph/schema/index.js';
import { demoChains } from '../fixtures/demo.js';
import { ask } from '../support/gateway-process.js';
import { operationsOf } from '../support/generated-operations.js';
import type { PassedRequest } from './support/counting-proxy.js';
import {
  areRoutersMissing,
  recipe,
  runScript,
  type Subgraphs,
  startRouter,
  startSubgraphs,
} from './support/routers.js';
import { holdersOf, tvlUsdOf } from './support/stats-subgraph.js';

const ROUTERS = ['apollo-gateway', 'hive-gateway', 'stitching'] as const;
type Router = (typeof ROUTERS)[number];

/** Of `node` no other graph knows whose the ids are, and ages go on while the test runs. */
const NOT_ASKED = ['Query.node', 'Query.nodes', 'ListingStatus.ageSeconds'];
/** Only for routers themselves. */
const FOR_ROUTERS = ['Query._entities', 'Query._service', 'Query._sdl'];

/** Operations in which each kind of field comes, which ask for nothing that differs from one time to the next. */
const GENERATED = fc
  .sample(operationsOf({ without: [...NOT_ASKED, ...FOR_ROUTERS] }), { numRuns: 300, seed: 7 })
  // What routers themselves do otherwise: they add to names, of which some are as long as a name may be; one takes no
  // operationName; and two lose a field that is asked for twice, once with a directive.
  .filter(({ query }) => !/xxx|query B|@/.test(query));

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

async function answerOf(address: string, operation: object): Promise<object> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(operation),
  });
  return (await response.json()) as object;
}

const isLookUp = ({ query }: PassedRequest) => /\b(_entities|chainsBy\w+|tokensBy\w+)\b/.test(query);

interface TokenRow {
  readonly symbol: string;
  readonly chainKey: string;
  readonly address: string;
  readonly chain: { readonly name: string };
}

describe.skipIf(areRoutersMissing)('a larger graph', () => {
  const ends: (() => Promise<void>)[] = [];
  const atEnd = (end: () => Promise<void>) => ends.unshift(end);
  const addresses = new Map<Router, string>();
  let subgraphs: Subgraphs;

  beforeAll(async () => {
    // The generated queries are built of aliases.
    subgraphs = await startSubgraphs(atEnd, { MAX_ALIASES: '1000' });
    await Promise.all(
      ROUTERS.map(async (router) => addresses.set(router, await startRouter(router, subgraphs, atEnd))),
    );
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** The answer of a router, and what it asked us for it. */
  async function through<Data>(router: Router, query: string) {
    subgraphs.gateway.passed();
    const answer = await ask<Data>(addresses.get(router) ?? '', query);
    const requests = subgraphs.gateway.passed();
    return { ...answer, requests: requests.length, lookUps: requests.filter(isLookUp).length };
  }

  it('is composed by each composer without a complaint, of us alone and with another subgraph', async () => {
    const recipes = ['apollo-router.yaml', 'cosmo.yaml'].map((name) => recipe(name, subgraphs));
    const none = {
      '@apollo/composition': [],
      '@theguild/federation-composition': [],
      '@wundergraph/composition': [],
    };
    expect(JSON.parse(await runScript('compose.js', ...recipes))).toEqual({
      tokens: none,
      'tokens,stats': none,
    });
  });

  it('is asked generated queries for each field of the query type', () => {
    const asked = [...GENERATED.map(({ query }) => query), ROUTES].flatMap(rootFieldsOf);
    const known = Object.keys(schema.getQueryType()?.getFields() ?? {});
    expect(known.filter((name) => !asked.includes(name)).map((name) => `Query.${name}`)).toEqual(
      NOT_ASKED.filter((name) => name.startsWith('Query.')),
    );
  });

  describe.each(ROUTERS)('by %s', (router) => {
    it('adds what others know to our chains and tokens, at no look-up to us', async () => {
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

    it('resolves the tokens that others refer to by one look-up', async () => {
      const query = '{ richest { holders symbol decimals chain { name tvlUsd nativeCurrency { symbol } } } }';
      expect(await through(router, query)).toEqual({
        data: {
          richest: [
            {
              holders: 3830,
              symbol: 'USDC',
              decimals: 6,
              chain: { name: 'Ethereum', tvlUsd: 8000004, nativeCurrency: { symbol: 'ETH' } },
            },
            {
              holders: 2499,
              symbol: 'ETH',
              decimals: 18,
              chain: { name: 'Base', tvlUsd: 4000002, nativeCurrency: { symbol: 'ETH' } },
            },
            {
              holders: 5109,
              symbol: 'USDC',
              decimals: 6,
              chain: { name: 'Solana', tvlUsd: 6000003, nativeCurrency: { symbol: 'SOL' } },
            },
          ],
        },
        requests: 1,
        lookUps: 1,
      });
    });

    it('resolves chains and tokens that others refer to, beside a query to us, by few look-ups', async () => {
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

    it('resolves what others refer to from each of our chains by one look-up for all', async () => {
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

    it('lets a token that only others have heard of do the rest no harm', async () => {
      const { data, lookUps } = await through(router, '{ watched { holders symbol chain { name } } }');
      expect(data).toEqual({
        watched: [
          { holders: 3830, symbol: 'USDC', chain: { name: 'Ethereum' } },
          null,
          { holders: 2499, symbol: 'ETH', chain: { name: 'Base' } },
          { holders: 5109, symbol: 'USDC', chain: { name: 'Solana' } },
        ],
      });
      expect(lookUps).toBe(1);
    });

    it('answers each generated query as we do', async () => {
      let compared = 0;
      for (const operation of [...GENERATED, { query: ROUTES }]) {
        const direct = await answerOf(subgraphs.address, operation);
        // Each writes errors in its own way.
        if ('errors' in direct) continue;
        compared++;
        const answer = await answerOf(addresses.get(router) ?? '', operation);
        expect(answer, JSON.stringify(operation)).toEqual(direct);
      }
      expect(compared).toBeGreaterThan(GENERATED.length / 3);
    });
  });
});
