import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { type Answer, json, status } from '../../support/fake-upstream.js';
import {
  type Answered,
  codesOf,
  type TestGateway,
  type TestGatewayOptions,
} from '../../support/test-gateway.js';
import { startServer } from '../../support/test-server.js';

const HEX = '0x00000000000000000000000000000000000000';
const SOURCE = { chainKey: 'a', address: `${HEX}A1` };
const LISTED = [
  tokenRow('a', SOURCE.address, { symbol: 'USDC' }),
  tokenRow('a', `${HEX}A2`, { symbol: 'USDT' }),
  tokenRow('b', `${HEX}B1`, { symbol: 'USDC', name: 'USD Coin' }),
  tokenRow('b', `${HEX}B2`, { symbol: 'USDT', name: 'Tether USD' }),
  tokenRow('b', `${HEX}B3`, { symbol: 'DAI' }),
  tokenRow('c', `${HEX}C1`, { symbol: 'USDC', name: 'USD Coin', isBridgeable: false }),
  tokenRow('c', `${HEX}C2`, { symbol: 'WETH', name: 'Wrapped Ether' }),
];
/** Routes with a row on the source chain, a row that is not listed, and a row with another name than in the listing. */
const ROUTES = [
  tokenRow('a', `${HEX}A2`, { symbol: 'USDT' }),
  tokenRow('b', `${HEX}b2`, { symbol: 'USDT', name: 'Another name' }),
  tokenRow('b', `${HEX}B1`, { symbol: 'USDC', name: 'USD Coin' }),
  tokenRow('c', `${HEX}C1`, { symbol: 'USDC', name: 'USD Coin', isBridgeable: false }),
  tokenRow('c', `${HEX}C9`, { symbol: 'USDC' }),
];
const SEARCH = `query ($query: String, $filter: TokenFilter, $orderBy: TokenOrder, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount didYouMean pageInfo { hasNextPage endCursor } nodes { chainKey symbol name }
  }
}`;

interface Found {
  readonly tokenSearch: {
    readonly totalCount: number;
    readonly didYouMean: readonly string[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
    readonly nodes: readonly { readonly chainKey: string; readonly symbol: string; readonly name: string }[];
  } | null;
}

/** Starts a gateway whose upstream returns these routes for every token. */
async function serve(config: TestGatewayOptions['config'] = {}, routes: Answer = json({ tokens: ROUTES })) {
  const chains = ['a', 'b', 'c'].map((key) => chainRow(key));
  const server = await startServer({ listings: { chains, tokens: LISTED }, config });
  server.upstream.plan('routes', routes);
  return { ...server, routesAsked: () => server.upstream.routesAsked().length };
}

/** Searches the tokens that the source can be moved to. @returns them as `SYMBOL chain` */
async function reach({ query }: TestGateway, variables: object = {}, filter: object = {}) {
  const { data, errors } = await query<Found>(SEARCH, {
    ...variables,
    filter: { reachableFrom: SOURCE, ...filter },
  });
  expect(errors).toBeUndefined();
  const { nodes = [], ...rest } = data?.tokenSearch ?? {};
  return { ...rest, found: nodes.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`) };
}

describe('a search among the tokens that a token can be moved to', () => {
  it('finds the listed tokens of its destinations, as they are listed and in the order of the search', async () => {
    const gateway = await serve();
    expect(await reach(gateway)).toMatchObject({ found: ['USDC b', 'USDT b', 'USDC c'], totalCount: 3 });
    const { data } = await gateway.query<{
      destinations: { chainKey: string; tokens: { symbol: string }[] }[];
    }>(`{ destinations(srcChainKey: "a", srcToken: "${SOURCE.address}") { chainKey tokens { symbol } } }`);
    expect(data?.destinations.map(({ chainKey, tokens }) => [chainKey, tokens.length])).toEqual([
      ['b', 2],
      ['c', 2],
    ]);
    const named = await gateway.query<Found>(SEARCH, {
      filter: { reachableFrom: SOURCE, symbols: ['usdt'] },
    });
    expect(named.data?.tokenSearch?.nodes).toEqual([{ chainKey: 'b', symbol: 'USDT', name: 'Tether USD' }]);
  });

  it.each<[what: string, variables: object, filter: object, found: readonly string[]]>([
    ['a query', { query: 'usdc' }, {}, ['USDC b', 'USDC c']],
    ['a query that only other tokens match', { query: 'dai' }, {}, []],
    ['an address of another token', { query: `${HEX}C2` }, {}, []],
    ['an order', { orderBy: 'SYMBOL' }, {}, ['USDC b', 'USDC c', 'USDT b']],
    ['a chain', {}, { chainKeys: ['C'] }, ['USDC c']],
    ['the chain of the source', {}, { chainKeys: ['a'] }, []],
    ['a condition', {}, { isBridgeable: true }, ['USDC b', 'USDT b']],
    ['several conditions', { query: 'coin' }, { isBridgeable: true, chainTypes: ['evm'] }, ['USDC b']],
    ['null in place of the token', { query: 'dai' }, { reachableFrom: null }, ['DAI b']],
  ])('goes together with %s', async (_what, variables, filter, found) => {
    expect(await reach(await serve(), variables, filter)).toMatchObject({ found, totalCount: found.length });
  });

  it('suggests queries that find something among them', async () => {
    const gateway = await serve();
    expect(await reach(gateway, { query: 'usdcc' })).toMatchObject({ found: [], didYouMean: ['USDC'] });
    expect(await reach(gateway, { query: 'teher' })).toMatchObject({ found: [], didYouMean: ['Tether'] });
    // The token for "wrapped" is listed, but cannot be reached.
    expect(await reach(gateway, { query: 'wrappde' })).toMatchObject({ found: [], didYouMean: [] });
  });

  it('gives each token once on pages of one, and costs the upstream one request for all pages', async () => {
    const gateway = await serve();
    const pages: string[] = [];
    let after: string | undefined;
    for (let hasNext = true; hasNext; ) {
      const { found, pageInfo, totalCount } = await reach(gateway, { first: 1, after });
      pages.push(...found);
      expect(totalCount).toBe(3);
      hasNext = pageInfo?.hasNextPage ?? false;
      after = pageInfo?.endCursor;
    }
    expect(pages).toEqual((await reach(gateway)).found);
    expect(gateway.routesAsked()).toBe(1);
  });

  it.each([
    ['that is not listed', { chainKey: 'a', address: `${HEX}77` }],
    ['on an unknown chain', { chainKey: 'nope', address: SOURCE.address }],
    ['without an address', { chainKey: 'a', address: '' }],
    ['without a chain', { chainKey: '', address: SOURCE.address }],
  ])(
    'finds nothing from a token %s, asks the upstream nothing, and is no error',
    async (_what, reachableFrom) => {
      const gateway = await serve();
      await gateway.query('{ tokens { name } }');
      expect(await reach(gateway, { query: 'usdc' }, { reachableFrom })).toMatchObject({
        found: [],
        totalCount: 0,
      });
      expect(gateway.routesAsked()).toBe(0);
    },
  );

  it('finds nothing from a token without routes', async () => {
    const gateway = await serve({}, json({ tokens: [] }));
    expect(await reach(gateway)).toMatchObject({ found: [], totalCount: 0 });
    expect(gateway.routesAsked()).toBe(1);
  });

  it('is null with the code that `destinations` has if the routes fail, and the rest of the response stays', async () => {
    const { query } = await serve({ upstreamRetries: 0 }, status(500));
    const answer = await query(
      `query ($filter: TokenFilter) {
        tokenSearch(filter: $filter) { totalCount }
        destinations(srcChainKey: "a", srcToken: "${SOURCE.address}") { chainKey }
        all: tokenSearch { totalCount }
      }`,
      { filter: { reachableFrom: SOURCE } },
    );
    expect(answer.data).toEqual({
      tokenSearch: null,
      destinations: null,
      all: { totalCount: LISTED.length },
    });
    expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS', 'UPSTREAM_STATUS']);
  });
});

describe('the cost of a search among destinations', () => {
  it('counts towards the routes that one operation may ask for', async () => {
    const { query, routesAsked } = await serve({ maxRoutesPerOperation: 2 });
    const searches = LISTED.slice(0, 4).map(
      ({ chainKey, address }, nth) =>
        `s${nth}: tokenSearch(filter: { reachableFrom: { chainKey: "${chainKey}", address: "${address}" } }) { totalCount }`,
    );
    const answer = await query<Record<string, object | null>>(`{ ${searches.join(' ')} }`);
    expect(Object.values(answer.data ?? {}).map((found) => found !== null)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(codesOf(answer)).toEqual(Array(2).fill('ROUTE_BUDGET_EXCEEDED'));
    expect(routesAsked()).toBe(2);
  });

  it('is that of the search, of the routes once, and a unit for each of their rows', async () => {
    const { query } = await serve({ maxCost: 1_000 + 33 });
    await query('{ chains { name } }');
    const search = `s: tokenSearch(filter: { reachableFrom: { chainKey: "a", address: "${SOURCE.address}" } }) { totalCount }`;
    // The units of each search: 2 for its fields, 7 for the tokens, and 5 for the rows of routes. The request costs 1,000.
    const searches = (count: number) =>
      `{ ${Array.from({ length: count }, (_nothing, nth) => search.replace('s:', `s${nth}:`)).join(' ')} }`;
    expect(codesOf(await query(searches(3)))).toEqual(['LIMIT_EXCEEDED']);
    const fitting = await serve({ maxCost: 1_000 + 3 * 14 });
    expect(codesOf(await fitting.query(searches(3)))).toEqual([]);
    // If the routes are cached, only their rows cost units.
    expect(codesOf(await fitting.query(searches(30)))).toEqual([]);
  });

  it.each([
    [
      'a key of a chain that is too long',
      { reachableFrom: { chainKey: 'a'.repeat(1_000), address: '0x1' } },
      {},
    ],
    ['an address that is too long', { reachableFrom: { chainKey: 'a', address: '1'.repeat(1_000) } }, {}],
    ['a page that is too large', { reachableFrom: SOURCE }, { first: 101 }],
    ['a cursor that is none', { reachableFrom: SOURCE }, { after: 'nope' }],
  ])('asks the upstream nothing for %s', async (_what, filter, variables) => {
    const { query, routesAsked } = await serve();
    const answer = await query(SEARCH, { ...variables, filter });
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toMatch(
      /as "(filter\.reachableFrom\.(chainKey|address)|first|after)"/,
    );
    expect(routesAsked()).toBe(0);
  });
});

describe('a cached response of such a search', () => {
  it('expires with its routes, even if the listing stays the same', async () => {
    let routes = ROUTES;
    const config = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000, destinationsFreshMs: 1_500 };
    const { ask, query, routesAsked } = await serve(config, (...given) => json({ tokens: routes })(...given));
    await query('{ chains { name } tokens { name } }');
    const request = { query: SEARCH, variables: { query: 'usd', filter: { reachableFrom: SOURCE } } };
    const countNow = async () => {
      const { body, headers } = await ask(request);
      const { data } = JSON.parse(body.toString()) as Answered<Found>;
      return { count: data?.tokenSearch?.totalCount, status: String(headers['cache-status']) };
    };
    expect((await countNow()).count).toBe(3);
    await countNow();
    expect(await countNow()).toEqual({ count: 3, status: expect.stringContaining('hit') });
    routes = ROUTES.slice(1, 2);
    await expect.poll(async () => (await countNow()).count, { timeout: 20_000 }).toBe(1);
    expect(routesAsked()).toBeLessThanOrEqual(10);
  });

  it('expires when a token that was not listed is listed', async () => {
    const config = { tokensFreshMs: 3_600_000, destinationsFreshMs: 3_600_000 };
    const { query, snapshots, upstream } = await serve(config);
    const late = { chainKey: 'a', address: `${HEX}A7` };
    await query('{ chains { name } tokens { name } }');
    const countNow = async () => {
      const { data } = await query<Found>(SEARCH, { filter: { reachableFrom: late } });
      return data?.tokenSearch?.totalCount;
    };
    for (let times = 0; times < 3; times++) expect(await countNow()).toBe(0);
    const tokens = [...LISTED, tokenRow(late.chainKey, late.address, { symbol: 'LATE' })];
    upstream.plan('tokens', json({ tokens }));
    snapshots.refreshNow();
    await expect.poll(countNow, { timeout: 20_000 }).toBe(3);
  });
});
