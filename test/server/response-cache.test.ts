/** A request that was answered before is not executed again, until a refresh or the time changes its response. */
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, generatedListings, tokenRow } from '../fixtures/rows.js';
import { manyRounds, type StoppedClocks, stopClocks, untilCachesSeeTheTime } from '../support/clock.js';
import { type Answer, json, late, status } from '../support/fake-upstream.js';
import {
  type Asked,
  FRESH,
  pathOf,
  refreshWith,
  startServer,
  type TestServer,
  UNGUARDED,
} from '../support/test-server.js';

const TOKENS = 'query Tokens($key: String) { tokens(srcChainKey: $key) { symbol decimals price { usd } } }';
const BASE = { query: TOKENS, variables: { key: 'base' } };

const LONG = { config: FRESH };

it('a request is executed each time if its headers are larger than the response', async () => {
  const { countExecuted } = await startServer(LONG);
  const asked = { ...BASE, headers: { accept: `application/json, ${'x/y, '.repeat(200)}x/z` } };
  const { count, bodies } = await countExecuted(asked, asked);
  expect(count).toBe(2);
  expect(bodies[1]).toBe(bodies[0]);
});

it('a request is executed at most twice, however many clients send it at the same moment', async () => {
  const { ask, executed } = await startServer(LONG);
  // Otherwise requests could wait too long for the first one, and be executed, too.
  await ask({ query: '{ chains { name } tokens { name } }' });
  const before = executed();
  const received = await Promise.all(Array.from({ length: 20 }, () => ask(BASE)));
  expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
  // The execution of the first request is not shared, because its text is new.
  expect(executed() - before).toBeLessThanOrEqual(2);
});

const BEHIND_PROXY = { ...FRESH, trustedProxies: ['loopback'] };

/** Lets one client send many long operations, and this request after them. `sent` counts those that were answered. */
function keepBusy({ ask }: TestServer, last: Asked) {
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  const long = Array.from({ length: 60 }, (_, nth) => ({ query: `{ tokens { a${nth}: name symbol } }` }));
  const busy = { answered: 0, ended: Promise.resolve<unknown>(undefined) };
  busy.ended = Promise.all(
    [...long, last].map((each) => ask({ ...each, headers }).then(() => busy.answered++)),
  );
  return busy;
}

it('a client with many operations does not delay the equal requests of another client', async () => {
  const server = await startServer({ listings: generatedListings(10, 2_000), config: BEHIND_PROXY });
  // Its response is not stored, because it shows the age of the listings.
  const status = { query: '{ tokens { __typename } listings { ageSeconds } }' };
  await server.countExecuted(status, status);
  const busy = keepBusy(server, status);
  await server.ask({ ...status, headers: { 'x-forwarded-for': '192.0.2.2' } });
  expect(busy.answered).toBeLessThan(20);
  await busy.ended;
});

it('equal requests of many clients that wait for their turns are executed once', async () => {
  const server = await startServer({ listings: generatedListings(10, 2_000), config: BEHIND_PROXY });
  const asked = { query: '{ tokens { decimals } }' };
  // The execution of the first request is not stored, because its text is new.
  await server.ask(asked);
  const busy = keepBusy(server, asked);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_nothing, nth) =>
      server.ask({ ...asked, headers: { 'x-forwarded-for': `192.0.2.${10 + nth}` } }),
    ),
  );
  await busy.ended;
  const hits = answers.filter(({ headers }) => headers['cache-status'] === 'gateway; hit');
  expect(hits.length).toBeGreaterThanOrEqual(9);
});

it.each<[string, Asked]>([
  ['with members in another order', { body: JSON.stringify({ variables: BASE.variables, query: TOKENS }) }],
  ['with null members', { body: JSON.stringify({ ...BASE, operationName: null, extensions: null }) }],
  ['with other white space in its JSON', { body: JSON.stringify(BASE, null, 4) }],
  ['with unknown members', { body: `{"then":1,"others":[{}],${JSON.stringify(BASE).slice(1)}` }],
  ['with null as ids of documents', { body: JSON.stringify({ documentId: null, doc_id: null, ...BASE }) }],
  ['with its type in other letter case', { ...BASE, headers: { 'content-type': 'Application/JSON' } }],
])('a cached response is found by the same request %s', async (_name, asked) => {
  const { countExecuted } = await startServer(LONG);
  await countExecuted(BASE, BASE, asked);
  const { count, bodies } = await countExecuted(BASE, asked, asked);
  expect(count).toBe(0);
  expect(new Set(bodies).size).toBe(1);
});

it.each(['&x=1', '&x=1&x=2', '&__proto__=1', '&x=1&documentId='])(
  'a cached response is found by GET with unknown parameters: %s',
  async (more) => {
    const { countExecuted, ask, metrics } = await startServer(LONG);
    const asked = { query: '{ tokens { symbol } }', method: 'GET' };
    const { bodies: known } = await countExecuted(asked, asked);
    const { count, bodies } = await countExecuted({ method: 'GET', path: `${pathOf(asked)}${more}` });
    expect([count, bodies[0]]).toEqual([0, known[0]]);
    const { headers } = await ask({ method: 'GET', path: `${pathOf(asked)}${more}2` });
    expect(headers['cache-status']).toBe('gateway; hit');
    expect((await metrics.expose()).text).toContain('gateway_response_cache_entries 1');
  },
);

it('a cached response is found by POST with new unknown members; a new request with such members is not cached', async () => {
  const { countExecuted, metrics } = await startServer(LONG);
  await countExecuted(BASE, BASE);
  const numbered = (asked: object, id: number) => ({ body: JSON.stringify({ ...asked, id }) });
  expect((await countExecuted(numbered(BASE, 1), numbered(BASE, 2))).count).toBe(0);
  const other = { ...BASE, variables: { key: 'sei' } };
  expect((await countExecuted(numbered(other, 1), numbered(other, 2))).count).toBe(2);
  const long = { body: JSON.stringify({ ...BASE, id: 'x'.repeat(16_384) }) };
  expect((await countExecuted(long)).count).toBe(0);
  expect((await metrics.expose()).text).toContain('gateway_response_cache_entries 1');
});

const MANY = [`[${'{},'.repeat(5_000)}{}]`, '['.repeat(7_000) + ']'.repeat(7_000)];
const parameters = Array.from({ length: 2_000 }, (_nothing, nth) => `&a${nth}=1`).join('');
it.each<[string, Asked]>([
  ...MANY.map((values): [string, Asked] => [
    'values',
    { body: `{"id":${values},${JSON.stringify(BASE).slice(1)}` },
  ]),
  ['parameters', { method: 'GET', path: pathOf(BASE) + parameters }],
])('a cached response is found by a request with thousands of ignored %s', async (_name, asked) => {
  const { countExecuted } = await startServer(LONG);
  const known = { ...BASE, method: asked.method ?? 'POST' };
  await countExecuted(known, known);
  const { count, bodies } = await countExecuted(known, asked, asked);
  expect([count, new Set(bodies).size]).toEqual([0, 1]);
});

it('a cached response is found if the same text came with another content type before', async () => {
  const { ask, countExecuted } = await startServer(LONG);
  const { status } = await ask({ ...BASE, headers: { 'content-type': 'text/plain' } });
  expect(status).toBe(415);
  expect((await countExecuted(BASE, BASE, BASE)).count).toBeLessThanOrEqual(2);
});

it('the log counts the wait for an equal request in the time of a request', async () => {
  const tokens: Answer = async () => {
    // All three requests are read within these rounds of the event loop, however slow the machine is.
    await manyRounds();
    return late(300, json({ tokens: demoTokens }));
  };
  const { ask, serverLog } = await startServer({ ...LONG, listings: { tokens } });
  await Promise.all([ask(BASE), ask(BASE), ask(BASE)]);
  await ask(BASE);
  const times = serverLog.filter(({ msg }) => msg === 'Answered').map(({ ms }) => Number(ms));
  expect(times).toHaveLength(4);
  const hit = times.pop() ?? 0;
  expect(hit).toBeGreaterThan(0);
  expect(Math.min(...times)).toBeGreaterThan(Math.max(100, hit));
});

const UNPRICED = { query: '{ tokens { symbol name } }' };
const CHAINS = { query: '{ chains { name } }' };
const TIMES = {
  query:
    '{ token(chainKey: "base", address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913") { price { asOf } } }',
};
const SEARCH = { query: '{ tokenSearch(query: "usdc") { edges { node { symbol } } } }' };
const NATIVE = { query: '{ tokenSearch(filter: { isNative: true }) { totalCount } }' };
const CHANGES = { query: '{ tokenChanges(since: "x") { cursor changed { name } } }' };

it.each([
  ['equal content', {}, {}, [TIMES], ''],
  ['other prices', { price: { usd: 7 } }, {}, [BASE, TIMES, SEARCH, NATIVE], '"usd":7}'],
  ['other tokens', { name: 'New' }, {}, [BASE, UNPRICED, TIMES, SEARCH, NATIVE, CHANGES], '"name":"New"'],
  ['other chains', {}, { name: 'Chain' }, [CHAINS, TIMES, SEARCH, NATIVE, CHANGES], '"name":"Chain"'],
])('a refresh with %s causes only needed executions', async (_name, ofToken, ofChain, again, text) => {
  const server = await startServer(LONG);
  const all = [BASE, UNPRICED, CHAINS, TIMES, SEARCH, NATIVE, CHANGES];
  await server.countExecuted(...all, ...all);
  const tokens = demoTokens.map((token) => ({ ...token, ...ofToken }));
  const chains = demoChains.map((chain) => ({ ...chain, ...ofChain }));
  await refreshWith(server, tokens, chains);
  expect((await server.countExecuted(...all.filter((each) => !again.includes(each)))).count).toBe(0);
  const { count, bodies } = await server.countExecuted(...again);
  expect(count).toBe(again.length);
  expect(bodies.join('')).toContain(text);
});

it.each([
  ['', false],
  [' and the same prices were fetched since', true],
])('a cached response is not sent for longer if the clock was set back%s', async (_since, isFetched) => {
  const clock = stopClocks();
  const server = await startServer({ config: { ...FRESH, priceMaxAgeMs: 60_000 } });
  expect((await server.countExecuted(BASE, BASE, BASE)).count).toBe(2);
  clock.setBack(3_600_000);
  if (isFetched) await refreshWith(server, demoTokens);
  expect((await server.ask(BASE)).body.toString()).toContain('"price":{"usd"');
  // The response for `sei` is not cached.
  for (const key of ['base', 'sei']) {
    const { headers } = await server.ask({ ...BASE, variables: { key }, method: 'GET' });
    // Fetching the rows may have taken some seconds of the minute.
    expect(headers['cache-control']).toMatch(/max-age=([3-5]\d|60),/);
    // RFC 9110 forbids a later time than that of the response.
    expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(Date.now());
  }
  clock.advance(60_001);
  expect((await server.ask(BASE)).body.toString()).not.toContain('"price":{"usd"');
});

/** Two listed tokens; the routes of the first one lead to a token that is not listed. */
const SOURCE = tokenRow('a', '0x1', { symbol: 'SOURCE' });
const LISTED = [SOURCE, tokenRow('a', '0x2', { price: null })];
const DESTINATION = tokenRow('b', '0x3', { price: { usd: 2_500 } });
const ROUTES = {
  query: '{ destinations(srcChainKey: "a", srcToken: "0x1") { tokens { address price { usd } } } }',
};
const destinations = (...tokens: unknown[]) =>
  JSON.stringify({ data: { destinations: tokens.length > 0 ? [{ tokens }] : [] } });
const UNLISTED = '{"data":{"destinations":null}}';
const WITH_PRICE = destinations({ address: '0x3', price: { usd: 2_500 } });

it.each<[string, (server: TestServer, clock: StoppedClocks) => void | Promise<void>, string]>([
  [
    'other routes, after a minute',
    ({ upstream }, clock) => {
      upstream.plan('routes', json({ tokens: [] }));
      clock.advance(60_001);
      return untilCachesSeeTheTime();
    },
    destinations(),
  ],
  ['a listing without the source', (server) => refreshWith(server, LISTED.slice(1)), UNLISTED],
  [
    'a listing with contradictory rows of a destination',
    (server) => refreshWith(server, [...LISTED, DESTINATION, { ...DESTINATION, decimals: 18 }]),
    destinations(),
  ],
  [
    'a listing with a doubtful price of the same symbol',
    (server) => refreshWith(server, [SOURCE, tokenRow('a', '0x2', { price: { usd: 2_500 } })]),
    destinations({ address: '0x3', price: null }),
  ],
  ['a rule that hides a destination', ({ apply }) => apply('hide b:0x3'), destinations()],
])('a response with routes is not stored, so a new one has at once %s', async (_what, change, after) => {
  const clock = stopClocks();
  const listings = { tokens: [SOURCE, tokenRow('a', '0x2')], routes: json({ tokens: [DESTINATION] }) };
  const server = await startServer({ config: FRESH, listings });
  await server.ask(UNPRICED);
  clock.advance(1_000);
  await refreshWith(server, LISTED);
  const { count, bodies } = await server.countExecuted(ROUTES, ROUTES, ROUTES);
  expect([count, new Set(bodies)]).toEqual([3, new Set([WITH_PRICE])]);
  expect(server.upstream.routesAsked()).toHaveLength(1);
  clock.advance(1_000);
  await change(server, clock);
  expect((await server.countExecuted(ROUTES)).bodies).toEqual([after]);
});

it.each([
  ['{ tokens { isNative } }', '"isNative":false', '"isNative":true'],
  ['{ tokenChanges { cursor } }', '."', /\.[\w-]{22}"/],
])('the first chain listing ends cached responses without chains: %s', async (query, without, withChains) => {
  const nativeCurrency = { chainKey: 'base', name: '', symbol: '', decimals: 6, address: '0x1' };
  const listings = { chains: status(500), tokens: [tokenRow('base', '0x1')] };
  const config = { ...FRESH, upstreamRetries: 0 };
  const server = await startServer({ listings, config, firstPauseMs: 10 });
  const asked = { query };
  for (let times = 0; times < 3; times++)
    expect((await server.ask(asked)).body.toString()).toContain(without);
  server.upstream.plan('chains', json({ chains: [chainRow('base', { nativeCurrency })] }));
  const chains = { query: '{ chains { name } }' };
  await expect.poll(async () => (await server.ask(chains)).body.toString()).toContain('The base chain');
  await expect.poll(async () => (await server.ask(asked)).body.toString()).toMatch(withChains);
});

it('after a change of chains, a search by relevance is cached only when its order follows the new chains', async () => {
  const chainWith = (address: string) =>
    chainRow('a', { nativeCurrency: { chainKey: 'a', name: '', symbol: 'ETH', decimals: 6, address } });
  // Many tokens, so that ordering them again takes long enough to be noticed.
  const { tokens } = generatedListings(10, 1_000);
  const twins = ['0x1', '0x2'].map((address) => tokenRow('a', address, { symbol: 'ETH' }));
  const { ask, upstream } = await startServer({
    config: { ...UNGUARDED, chainsFreshMs: 100 },
    listings: { chains: [chainWith('0x1')], tokens: [...tokens, ...twins] },
  });
  const asked = {
    query: `{ chain(chainKey: "a") { nativeCurrency { address } }
        tokenSearch(query: "eth", first: 1) { nodes { address } } }`,
  };
  const answer = async () => (await ask(asked)).body.toString();
  expect(await answer()).toMatch(/"address":"0x1".*"address":"0x1"/);
  upstream.plan('chains', json({ chains: [chainWith('0x2')] }));
  await expect.poll(answer, { interval: 0 }).toMatch(/"address":"0x2".*"address":"0x2"/);
  await expect.poll(async () => (await ask(asked)).headers['cache-status']).toBe('gateway; hit');
});

it('a cached response is evicted if it was unused for longest and the memory limit is reached', async () => {
  const { countExecuted } = await startServer({ ...LONG, maxCacheBytes: 2_000_000 });
  const small = { query: '{ chain(chainKey: "base") { name } }' };
  await countExecuted(small, small);
  const big = Array.from({ length: 12 }, (_nothing, nth) => ({
    query: `{ a${nth}: tokens { id symbol name address decimals } }`,
  }));
  await countExecuted(...big, ...big);
  expect((await countExecuted(small)).count).toBe(1);
  expect((await countExecuted(...big)).count).toBeGreaterThan(5);
  expect((await countExecuted(small, small)).count).toBe(1);
});

it('a small cached response counts with the memory of all that is stored with it', async () => {
  // Measured with thousands of small responses: 1.7 to 2.5 kB each.
  const { countExecuted } = await startServer({ ...LONG, maxCacheBytes: 20_000 });
  const small = Array.from({ length: 20 }, (_nothing, nth) => ({
    query: `{ token(chainKey: "base", address: "0x${nth}") { price { usd } } }`,
  }));
  await countExecuted(...small, ...small);
  expect((await countExecuted(...small.toReversed())).count).toBeGreaterThanOrEqual(12);
});
