import { describe, expect, it } from 'vitest';
import { demoTokens, type RawToken } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { stopClocks, untilCachesSeeTheTime } from '../../support/clock.js';
import { type Answer, first, json, status } from '../../support/fake-upstream.js';
import {
  codesOf,
  defaultConfig,
  type TestGateway,
  type TestGatewayOptions,
} from '../../support/test-gateway.js';
import { startServer } from '../../support/test-server.js';

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

/** Starts a gateway with the demo listings, whose upstream returns these routes for every token. */
async function serve(routes: Answer | readonly object[] = ROUTES, config: TestGatewayOptions['config'] = {}) {
  const server = await startServer({ config });
  server.upstream.plan('routes', typeof routes === 'function' ? routes : json({ tokens: routes }));
  return { ...server, routesAsked: server.upstream.routesAsked };
}

const ROUTES = [
  tokenRow('base', '0xb1'),
  tokenRow('ethereum', '0xe1'),
  tokenRow('unlisted', '0xu1'),
  tokenRow('base', '0xb2'),
];

/** The routes above as a client sees them, without the source chain. */
const GROUPS = [
  {
    ...{ chainKey: 'base', chain: { name: 'Base' } },
    tokens: ['0xb1', '0xb2'].map((address) => ({ chainKey: 'base', address })),
  },
  { chainKey: 'unlisted', chain: null, tokens: [{ chainKey: 'unlisted', address: '0xu1' }] },
];

describe('destinations', () => {
  it('are the tokens of the pair by chain, in the upstream’s order, without the source chain', async () => {
    const { query } = await serve();
    const { data, errors } = await query<{ destinations: Group[] }>(DESTINATIONS, PAIR);
    expect(errors).toBeUndefined();
    expect(data?.destinations).toEqual(GROUPS);
  });

  it('include the source chain for true, and not for null', async () => {
    const { query } = await serve();
    const keysFor = async (includeSourceChain: boolean | null) => {
      const { data } = await query<{ destinations: Group[] }>(DESTINATIONS, { ...PAIR, includeSourceChain });
      return data?.destinations.map(({ chainKey }) => chainKey);
    };
    expect(await keysFor(true)).toEqual(['base', 'ethereum', 'unlisted']);
    expect(await keysFor(false)).toEqual(['base', 'unlisted']);
    expect(await keysFor(null)).toEqual(['base', 'unlisted']);
  });

  it('share one request with `tokens` and `Token.destinations`, in any letter case of key and address', async () => {
    const { query, routesAsked } = await serve();
    const lower = PAIR.srcToken.toLowerCase();
    const { data, errors } = await query<Record<'a' | 'c', Group[]> & { token: { destinations: object[] } }>(
      `query ($srcChainKey: String!, $srcToken: String!) {
        a: destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) { chainKey }
        b: destinations(srcChainKey: $srcChainKey, srcToken: "${lower}", includeSourceChain: true) { chainKey }
        c: destinations(srcChainKey: "Ethereum", srcToken: $srcToken) { chainKey }
        d: tokens(srcChainKey: "ETHEREUM", srcToken: "${lower}") { address }
        tokens(srcChainKey: $srcChainKey, srcToken: $srcToken) { address }
        token(chainKey: $srcChainKey, address: "${lower}") { destinations { chainKey chain { name } tokens { chainKey address } } }
      }`,
      PAIR,
    );
    expect(errors).toBeUndefined();
    expect(data?.token.destinations).toEqual(GROUPS);
    // The source chain is left out, in whatever letter case the client writes its key.
    expect(data?.c).toEqual(data?.a);
    expect(routesAsked()).toHaveLength(1);
    expect(routesAsked()[0]?.url).toMatch(
      new RegExp(
        `srcChainKey=ethereum&srcToken=${PAIR.srcToken}|srcToken=${PAIR.srcToken}&srcChainKey=ethereum`,
      ),
    );
  });

  it.each([
    ['an unknown token', { srcChainKey: 'ethereum', srcToken: '0x123' }],
    ['no address', { srcChainKey: 'ethereum', srcToken: '' }],
    ['no chain', { srcChainKey: '', srcToken: '0x123' }],
  ])('of %s are null without an error, before and after the listing is there', async (_name, pair) => {
    const { query, routesAsked } = await serve();
    expect(await query(DESTINATIONS, pair)).toEqual({ data: { destinations: null } });
    await query('{ tokens { name } }');
    expect(await query(DESTINATIONS, pair)).toEqual({ data: { destinations: null } });
    expect(routesAsked()).toHaveLength(0);
  });

  it('of a listed token without routes are an empty list', async () => {
    const { query } = await serve([]);
    expect(await query(DESTINATIONS, PAIR)).toEqual({ data: { destinations: [] } });
  });

  it('of a token that a stale listing lacks are the upstream’s; null if the upstream has none', async () => {
    const clock = stopClocks();
    let routes: readonly object[] = [];
    const config = {
      tokensFreshMs: 60_000,
      chainsFreshMs: 60_000,
      destinationsFreshMs: 1,
      upstreamRetries: 0,
    };
    const { query } = await serve((...given) => json({ tokens: routes })(...given), config);
    await query('{ tokens { name } }');
    clock.advance(61_000);
    const late = { srcChainKey: 'ethereum', srcToken: '0x123' };
    expect(await query(DESTINATIONS, late)).toEqual({ data: { destinations: null } });
    clock.advance(1_000);
    await untilCachesSeeTheTime();
    routes = ROUTES.slice(0, 1);
    const { data } = await query<{ destinations: Group[] }>(DESTINATIONS, late);
    expect(data?.destinations.map(({ chainKey }) => chainKey)).toEqual(['base']);
  });

  it('of a token without routes become null when it is no longer listed, also in a cached response', async () => {
    const config = { tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000, destinationsFreshMs: 3_600_000 };
    const { query, snapshots, upstream } = await serve([], config);
    await query('{ tokens { name } chains { name } }');
    const routes = async () => (await query<{ destinations: Group[] | null }>(DESTINATIONS, PAIR)).data;
    for (let times = 0; times < 3; times++) expect(await routes()).toEqual({ destinations: [] });
    const others = demoTokens.filter(({ address }) => address !== PAIR.srcToken);
    upstream.plan('tokens', json({ tokens: others }));
    snapshots.refreshNow();
    await expect.poll(routes, { timeout: 20_000 }).toEqual({ destinations: null });
  });

  it('are null with the upstream’s code if it cannot answer, and the rest of the response stays', async () => {
    const { query } = await serve(status(500), { upstreamRetries: 0 });
    const answer = await query(
      `query ($srcChainKey: String!, $srcToken: String!) {
        destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) { chainKey }
        chain(chainKey: "base") { name }
      }`,
      PAIR,
    );
    expect(answer.data).toEqual({ destinations: null, chain: { name: 'Base' } });
    expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS']);
  });
});

describe('the age of routes', () => {
  const WITH_TIME = `query ($srcChainKey: String!, $srcToken: String!) {
    destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) { asOf }
    token(chainKey: $srcChainKey, address: $srcToken) { destinations { asOf } }
  }`;
  type Timed = readonly { readonly asOf: string }[];

  /** Queries the routes. @returns their age, from each field and header that shows it */
  async function askWith(gateway: TestGateway, query = WITH_TIME) {
    const response = await gateway.post({ query, variables: PAIR });
    const { data } = (await response.json()) as {
      data: { destinations: Timed; token?: { destinations: Timed } };
    };
    const groups = [...(data.destinations ?? []), ...(data.token?.destinations ?? [])];
    return {
      times: groups.map(({ asOf }) => Date.parse(asOf)),
      header: response.headers.get('x-stale-listings'),
    };
  }

  it('counts from their request, and is not in the header while they are fresh', async () => {
    const gateway = await serve();
    const before = Date.now();
    const { times, header } = await askWith(gateway);
    expect(times).toHaveLength(4);
    expect(new Set(times).size).toBe(1);
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect(times[0]).toBeLessThanOrEqual(Date.now());
    expect(header).toBeNull();
    expect((await askWith(gateway)).times).toEqual(times);
  });

  it('includes the Age of the upstream’s response, and costs no further request', async () => {
    const gateway = await serve(json({ tokens: ROUTES }, { age: '720' }));
    const { times, header } = await askWith(gateway);
    expect(Date.now() - Math.max(...times)).toBeGreaterThanOrEqual(720_000);
    expect(header).toMatch(/^routes;age=7[12]\d$/);
    const pair =
      'query ($srcChainKey: String, $srcToken: String) { tokens(srcChainKey: $srcChainKey, srcToken: $srcToken) { name } }';
    expect((await askWith(gateway, pair)).header).toMatch(/^routes;age=7[12]\d$/);
    expect(await askWith(gateway)).toMatchObject({ times });
    expect(gateway.routesAsked()).toHaveLength(1);
  });

  it('grows while they cannot be fetched again', async () => {
    const clock = stopClocks();
    const config = { upstreamRetries: 0, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 };
    // The first request for tokens is for the listing, the second for the routes. All further ones fail.
    const routes = first(2, json({ tokens: ROUTES }), status(500));
    const gateway = await serve(routes, { ...config, destinationsFreshMs: 60_000 });
    await gateway.query('{ tokens { name } }');
    const fresh = await askWith(gateway);
    clock.advance(720_000);
    await untilCachesSeeTheTime();
    expect(await askWith(gateway)).toEqual({ times: fresh.times, header: 'routes;age=720' });
    expect(gateway.routesAsked()).toHaveLength(2);
    expect(gateway.logged.some(({ msg }) => msg.startsWith('The routes'))).toBe(true);
  });
});

describe('the budget for routes', () => {
  const distinct = demoTokens.slice(0, 13);
  const keys = distinct.map(({ chainKey, address }) => ({ chainKey, address }));
  const BY_KEY = `query ($keys: [TokenKey!]!) {
    tokensByKey(keys: $keys) { symbol destinations { chainKey } }
  }`;

  it('allows ten distinct tokens in one operation, and gives null with a code beyond', async () => {
    const { query, routesAsked } = await serve();
    expect(defaultConfig().maxRoutesPerOperation).toBe(10);
    const answer = await query<{ tokensByKey: { symbol: string; destinations: object[] | null }[] }>(BY_KEY, {
      keys: [...keys, ...keys],
    });
    const found = answer.data?.tokensByKey ?? [];
    expect(found.map(({ symbol }) => symbol)).toEqual([...distinct, ...distinct].map(({ symbol }) => symbol));
    const isAnswered = distinct.map((_token, index) => index < 10);
    expect(found.map(({ destinations }) => destinations !== null)).toEqual([...isAnswered, ...isAnswered]);
    expect(codesOf(answer)).toEqual(Array(6).fill('ROUTE_BUDGET_EXCEEDED'));
    expect(answer.errors?.[0]?.path).toEqual(['tokensByKey', 10, 'destinations']);
    expect(routesAsked()).toHaveLength(10);
  });

  it('counts route requests of every field, and no cached routes', async () => {
    const { query, routesAsked } = await serve(ROUTES, { maxRoutesPerOperation: 3 });
    const [one, two, three, four] = keys as [RawToken, RawToken, RawToken, RawToken];
    const pair = ({ chainKey, address }: Pick<RawToken, 'chainKey' | 'address'>) =>
      `(srcChainKey: "${chainKey}", srcToken: "${address}")`;
    const mixed = `{
      a: destinations${pair(one)} { chainKey }
      b: tokens${pair(two)} { chainKey }
      c: token(chainKey: "${three.chainKey}", address: "${three.address}") { destinations { chainKey } }
      d: destinations${pair(four)} { chainKey }
    }`;
    const first = await query(mixed);
    expect(codesOf(first)).toEqual(['ROUTE_BUDGET_EXCEEDED']);
    expect(routesAsked()).toHaveLength(3);
    // The routes of three of these tokens are cached by now.
    expect(codesOf(await query(mixed))).toEqual([]);
    expect(routesAsked()).toHaveLength(4);
  });

  it('fails the whole operation in place of more than a thousand errors', async () => {
    const { query, routesAsked } = await serve([]);
    const lists = Array.from(
      { length: 12 },
      (_nothing, nth) => `a${nth}: tokens { destinations { tokens { symbol } } }`,
    );
    const refused = await query(`{ ${lists.join(' ')} }`);
    expect(refused.data).toBeUndefined();
    expect(codesOf(refused)).toEqual(['ROUTE_BUDGET_EXCEEDED']);
    expect(routesAsked().length).toBeLessThanOrEqual(20);
  });
});
