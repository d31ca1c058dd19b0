/** Destinations are the routes of a token by chain, with their age, within a budget of requests for one operation. */
import { expect, it } from 'vitest';
import { demoTokens } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { stopClocks, untilCachesSeeTheTime } from '../../support/clock.js';
import { type Answer, json, status } from '../../support/fake-upstream.js';
import {
  codesOf,
  dataOf,
  defaultConfig,
  type Settings,
  type TestGateway,
} from '../../support/test-gateway.js';
import { FRESH, refreshWith, startServer } from '../../support/test-server.js';

interface Group {
  readonly chainKey: string;
  readonly chain: { readonly name: string } | null;
  readonly tokens: readonly { readonly chainKey: string; readonly address: string }[];
}

const DESTINATIONS = `query ($srcChainKey: String!, $srcToken: String!, $includeSourceChain: Boolean) {
  destinations(srcChainKey: $srcChainKey, srcToken: $srcToken, includeSourceChain: $includeSourceChain) {
    chainKey
    chain { name }
    tokens { chainKey address }
  }
}`;

const PAIR = { srcChainKey: 'ethereum', srcToken: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' };

async function serve(routes: Answer | readonly object[] = ROUTES, config: Settings = {}) {
  const answer = typeof routes === 'function' ? routes : json({ tokens: routes });
  const server = await startServer({ config, listings: { routes: answer } });
  return { ...server, routesAsked: server.upstream.routesAsked };
}

const ROUTES = [
  tokenRow('base', '0xb1'),
  tokenRow('ethereum', '0xe1'),
  tokenRow('unlisted', '0xu1'),
  tokenRow('base', '0xb2'),
];

const GROUPS = [
  {
    ...{ chainKey: 'base', chain: { name: 'Base' } },
    tokens: ['0xb1', '0xb2'].map((address) => ({ chainKey: 'base', address })),
  },
  { chainKey: 'unlisted', chain: null, tokens: [{ chainKey: 'unlisted', address: '0xu1' }] },
];

const destinationsOf = async ({ query }: Pick<TestGateway, 'query'>, pair: object = PAIR) =>
  (await dataOf(query<{ destinations: Group[] | null }>(DESTINATIONS, pair))).destinations;

it.each([
  [undefined, ['base', 'unlisted']],
  [null, ['base', 'unlisted']],
  [true, ['base', 'ethereum', 'unlisted']],
])('destinations with includeSourceChain: %s are on %j, in the order of rows', async (include, keys) => {
  const groups = await destinationsOf(await serve(), { ...PAIR, includeSourceChain: include });
  expect(groups?.map(({ chainKey }) => chainKey)).toEqual(keys);
  expect(groups).toEqual(expect.arrayContaining(GROUPS));
});

it('destinations of unknown tokens are null without an error or a request, even if no listing is loaded yet', async () => {
  const gateway = await serve();
  for (let times = 0; times < 2; times++) {
    for (const unknown of ['ethereum 0x123', 'ethereum ', ' 0x123']) {
      const [srcChainKey, srcToken] = unknown.split(' ');
      expect(await destinationsOf(gateway, { srcChainKey, srcToken })).toBeNull();
    }
    await gateway.query('{ tokens { name } }');
  }
  expect(gateway.routesAsked()).toHaveLength(0);
});

it('destinations of a token that a stale listing lacks are the upstream’s; null if the upstream has none', async () => {
  const clock = stopClocks();
  let routes: readonly object[] = [];
  const fresh = { tokensFreshMs: 60_000, chainsFreshMs: 60_000, destinationsFreshMs: 1 };
  const config = { ...fresh, upstreamRetries: 0 };
  const gateway = await serve(() => json({ tokens: routes }), config);
  await gateway.query('{ tokens { name } }');
  clock.advance(61_000);
  const late = { srcChainKey: 'ethereum', srcToken: '0x123' };
  expect(await destinationsOf(gateway, late)).toBeNull();
  clock.advance(1_000);
  await untilCachesSeeTheTime();
  routes = ROUTES.slice(0, 1);
  expect(await destinationsOf(gateway, late)).toMatchObject([{ chainKey: 'base' }]);
});

it('destinations are empty for a listed token without routes, and null when it is no longer listed', async () => {
  const server = await serve([], { ...FRESH, destinationsFreshMs: 3_600_000 });
  const asked = { query: DESTINATIONS, variables: PAIR };
  const { bodies } = await server.countExecuted(asked, asked, asked);
  expect(new Set(bodies)).toEqual(new Set(['{"data":{"destinations":[]}}']));
  const others = demoTokens.filter(({ address }) => address !== PAIR.srcToken);
  await refreshWith(server, others);
  expect((await server.countExecuted(asked)).bodies).toEqual(['{"data":{"destinations":null}}']);
});

const distinct = demoTokens.slice(0, 13);
const keys = distinct.map(({ chainKey, address }) => ({ chainKey, address }));

it('the budget for routes allows ten distinct tokens in one operation, and gives null with a code beyond', async () => {
  const { query, routesAsked } = await serve();
  expect(defaultConfig().maxRoutesPerOperation).toBe(10);
  const answer = await query<{ tokensByKey: { symbol: string; destinations: object[] | null }[] }>(
    `query ($keys: [TokenKey!]!) { tokensByKey(keys: $keys) { symbol destinations { chainKey } } }`,
    { keys: [...keys, ...keys] },
  );
  const found = answer.data?.tokensByKey.map(({ symbol, destinations }) => [symbol, destinations !== null]);
  const expected = distinct.map(({ symbol }, index) => [symbol, index < 10]);
  expect(found).toEqual([...expected, ...expected]);
  expect(codesOf(answer)).toEqual(Array(6).fill('ROUTE_BUDGET_EXCEEDED'));
  expect(answer.errors?.[0]?.path).toEqual(['tokensByKey', 10, 'destinations']);
  expect(routesAsked()).toHaveLength(10);
});

it('the budget for routes counts route requests of every field, and no cached routes', async () => {
  const { query, routesAsked } = await serve(ROUTES, { maxRoutesPerOperation: 3 });
  const keyed = keys.map(({ chainKey, address }) => `chainKey: "${chainKey}", address: "${address}"`);
  const [one, two] = keyed.map((key) => key.replace('chain', 'srcChain').replace('address', 'srcToken'));
  const mixed = `{
      a: destinations(${one}) { chainKey }
      b: tokens(${two}) { chainKey }
      c: token(${keyed[2]}) { destinations { chainKey } }
      d: tokenSearch(filter: { reachableFrom: { ${keyed[3]} } }) { totalCount }
    }`;
  expect(codesOf(await query(mixed))).toEqual(['ROUTE_BUDGET_EXCEEDED']);
  expect(routesAsked()).toHaveLength(3);
  // The routes of three of these tokens are cached by now.
  expect(codesOf(await query(mixed))).toEqual([]);
  expect(routesAsked()).toHaveLength(4);
});

it('an operation is charged for each field without routes, and refused as a whole beyond MAX_COST', async () => {
  const { query, routesAsked } = await serve([]);
  const list = 'tokens { destinations { tokens { symbol } } }';
  const refused = await query(`{ ${Array.from(Array(12), (_none, nth) => `a${nth}: ${list}`)} }`);
  expect(refused.data).toBeUndefined();
  expect(codesOf(refused)).toEqual(['LIMIT_EXCEEDED']);
  expect(routesAsked().length).toBeLessThanOrEqual(20);
});

it('an operation is charged for each field whose routes fail, also if one request fails for all', async () => {
  // More than the cost of the whole listing, which is always allowed: a lower limit would have no effect.
  const { query, routesAsked } = await serve(status(400), { maxCost: 40_000 });
  const failing = (count: number) =>
    query('query ($keys: [TokenKey!]!) { tokensByKey(keys: $keys) { destinations { chainKey } } }', {
      keys: Array(count).fill(keys[0]),
    });
  expect(codesOf(await failing(70))).toHaveLength(70);
  expect(codesOf(await failing(80))).toEqual(['LIMIT_EXCEEDED']);
  expect(routesAsked()).toHaveLength(1);
});
