/** A search with the filter reachableFrom finds exactly the listed tokens that a token can be moved to. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { type Answer, json, status } from '../../support/fake-upstream.js';
import { SEARCH, searchIn } from '../../support/searches.js';
import { codesOf, type Settings, type TestGateway } from '../../support/test-gateway.js';
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
const ROUTES = [
  tokenRow('a', `${HEX}A2`, { symbol: 'USDT' }),
  tokenRow('b', `${HEX}b2`, { symbol: 'USDT', name: 'Another name' }),
  tokenRow('b', `${HEX}B1`, { symbol: 'USDC', name: 'USD Coin' }),
  tokenRow('c', `${HEX}C1`, { symbol: 'USDC', name: 'USD Coin', isBridgeable: false }),
  tokenRow('c', `${HEX}C9`, { symbol: 'USDC' }),
];

const CHAINS = ['a', 'b', 'c'].map((key) => chainRow(key));

async function serve(config: Settings = {}, routes: Answer = json({ tokens: ROUTES })) {
  const server = await startServer({ listings: { chains: CHAINS, tokens: LISTED, routes }, config });
  return { ...server, routesAsked: () => server.upstream.routesAsked().length };
}

/** Searches the tokens that the source can be moved to. @returns them as `SYMBOL chain` */
async function reach(gateway: TestGateway, variables: object = {}, filter: object = {}) {
  const asked = { ...variables, filter: { reachableFrom: SOURCE, ...filter } };
  const result = await searchIn(gateway, asked);
  return { ...result, found: result.nodes.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`) };
}

it('a search among destinations finds them as they are listed, in the order of the search', async () => {
  const gateway = await serve();
  expect(await reach(gateway)).toMatchObject({ found: ['USDC b', 'USDT b', 'USDC c'], totalCount: 3 });
  const { nodes } = await reach(gateway, {}, { symbols: ['usdt'] });
  expect(nodes).toMatchObject([{ chainKey: 'b', symbol: 'USDT', name: 'Tether USD' }]);
});

it.each<[variables: object, filter: object, found: readonly string[]]>([
  [{ query: 'usdc' }, {}, ['USDC b', 'USDC c']],
  [{ query: 'dai' }, {}, []],
  [{ query: `${HEX}C2` }, {}, []],
  [{ orderBy: 'SYMBOL' }, {}, ['USDC b', 'USDC c', 'USDT b']],
  [{}, { chainKeys: ['C'] }, ['USDC c']],
  [{}, { chainKeys: ['a'] }, []],
  [{}, { isBridgeable: true }, ['USDC b', 'USDT b']],
  [{ query: 'coin' }, { isBridgeable: true, chainTypes: ['evm'] }, ['USDC b']],
  [{ query: 'dai' }, { reachableFrom: null }, ['DAI b']],
])('a search among destinations obeys %j and the filter %j, too', async (variables, filter, found) => {
  const result = await reach(await serve(), variables, filter);
  expect(result).toMatchObject({ found, totalCount: found.length });
});

it('a search among destinations suggests queries that find something among them', async () => {
  const gateway = await serve();
  expect(await reach(gateway, { query: 'usdcc' })).toMatchObject({ found: [], didYouMean: ['USDC'] });
  expect(await reach(gateway, { query: 'teher' })).toMatchObject({ found: [], didYouMean: ['Tether'] });
  // The token for "wrapped" is listed, but cannot be reached.
  expect(await reach(gateway, { query: 'wrappde' })).toMatchObject({ found: [], didYouMean: [] });
});

it('a search from an unknown token (without a request) or from one without routes finds nothing, without an error', async () => {
  const gateway = await serve({}, json({ tokens: [] }));
  await gateway.query('{ tokens { name } }');
  for (const reachableFrom of [
    { chainKey: 'a', address: `${HEX}77` },
    { chainKey: 'nope', address: SOURCE.address },
    { chainKey: 'a', address: '' },
    { chainKey: '', address: SOURCE.address },
  ])
    expect(await reach(gateway, { query: 'usdc' }, { reachableFrom })).toMatchObject({ totalCount: 0 });
  expect(gateway.routesAsked()).toBe(0);
  expect(await reach(gateway)).toMatchObject({ found: [], totalCount: 0 });
  expect(gateway.routesAsked()).toBe(1);
});

it('a search whose routes fail is null with the code that `destinations` has, and the rest of the response stays', async () => {
  const { query } = await serve({ upstreamRetries: 0 }, status(500));
  const answer = await query(
    `query ($filter: TokenFilter) {
        tokenSearch(filter: $filter) { totalCount }
        destinations(srcChainKey: "a", srcToken: "${SOURCE.address}") { chainKey }
        all: tokenSearch { totalCount }
      }`,
    { filter: { reachableFrom: SOURCE } },
  );
  const all = { totalCount: LISTED.length };
  expect(answer.data).toEqual({ tokenSearch: null, destinations: null, all });
  expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS', 'UPSTREAM_STATUS']);
});

const searches = (count: number) =>
  `query ($filter: TokenFilter) { ${Array.from(Array(count), (_, nth) => `s${nth}: tokenSearch(filter: $filter) { totalCount }`)} }`;
const variables = { filter: { reachableFrom: SOURCE } };

it('a search among destinations costs the search and a unit for each row of the routes; their request is charged once', async () => {
  // The units of each search: 2 for its fields, 7 for the tokens, and 5 for the rows of routes. The request costs 1,000.
  const { query } = await serve({ maxCost: 1_000 + 3 * 14 - 1 });
  await query('{ chains { name } }');
  expect(codesOf(await query(searches(3), variables))).toEqual(['LIMIT_EXCEEDED']);
  const fitting = await serve({ maxCost: 1_000 + 3 * 14 });
  expect(codesOf(await fitting.query(searches(3), variables))).toEqual([]);
  // Cached routes cost a unit for each row, and nothing for a request.
  expect(codesOf(await fitting.query(searches(30), variables))).toEqual([]);
});

it.each([
  [{ reachableFrom: { chainKey: 'a'.repeat(1_000), address: '0x1' } }, {}, 'filter.reachableFrom.chainKey'],
  [{ reachableFrom: { chainKey: 'a', address: '1'.repeat(1_000) } }, {}, 'filter.reachableFrom.address'],
  [{ reachableFrom: SOURCE }, { first: 101 }, 'first'],
  [{ reachableFrom: SOURCE }, { after: 'nope' }, 'after'],
])('a search with the invalid %j and %j asks the upstream nothing', async (filter, variables, name) => {
  const { query, routesAsked } = await serve();
  const answer = await query(SEARCH, { ...variables, filter });
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  expect(answer.errors?.[0]?.message).toContain(` as "${name}"`);
  expect(routesAsked()).toBe(0);
});
