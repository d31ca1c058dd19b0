/** A cached response is sent only to equal requests, and its headers let other caches keep it as long as it is right. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { generatedListings, USDC } from '../fixtures/rows.js';
import { stopClocks, stopDate, untilCachesSeeTheTime } from '../support/clock.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { sendRaw } from '../support/raw-http.js';
import { codesOf } from '../support/test-gateway.js';
import {
  type Asked,
  FRESH,
  pathOf,
  plainOf,
  type Received,
  refreshWith,
  shareServer,
  startServer,
  type TestServer,
  type TestServerOptions,
} from '../support/test-server.js';

const QUERY = '{ tokens { symbol name } }';
const SMALL = '{ chain(chainKey: "base") { name } }';

/** A server with a response cache, and one without; most tests share them. */
const [server, uncached] = [{}, { maxCacheBytes: 1 }].map((options) =>
  shareServer(async () => ({
    config: FRESH,
    upstream: await startFakeUpstream({ chains: demoChains, tokens: demoTokens.slice(0, 100) }),
    ...options,
  })),
) as [TestServer, TestServer];

/** The parts of a response that are equal for equal requests. */
function comparable({ status: code, headers, body }: Received) {
  const { date: _date, 'x-request-id': _id, connection: _connection, ...others } = headers;
  const { 'last-modified': _modified, 'cache-control': control, age: _age, ...rest } = others;
  const { 'cache-status': _status, ...same } = rest;
  return { code, headers: same, control: control?.replace(/max-age=\d+/, ''), body: body.toString() };
}

const SAVED: Asked = { query: SMALL };
const SAVED_GET: Asked = { query: SMALL, method: 'GET' };
const TEXT = JSON.stringify(SMALL);
const NEWER = 'application/graphql-response+json';
const accepting = (accept: string) => ({ query: SMALL, headers: { accept } });
const withType = (type: string) => ({ query: SMALL, headers: { 'content-type': type } });
const above = (price: string) => ({
  body: `{"query":"query ($m: Float) { tokenSearch(filter: { minPriceUsd: $m }) { totalCount } }","variables":{"m":${price}}}`,
});
const ofKey = (key: string) => ({
  query: 'query ($key: String!) { chain(chainKey: $key) { name } }',
  variables: { key },
});
const named = (operationName: string) => ({ query: `query A ${SMALL} query B ${QUERY}`, operationName });
const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };

it.each<[string, Asked, Asked]>([
  ['with other variables', ofKey('base'), ofKey('sei')],
  ['with another alias', { query: QUERY }, { query: QUERY.replace('symbol name', 'name: symbol') }],
  ['with another operation of the document', named('A'), named('B')],
  ['with a string in other white space', SAVED, { query: SMALL.replace('"base', '" base') }],
  ['with a number beyond the range of numbers', above('null'), above('1e400')],
  ['with another type of body', SAVED, withType('application/json-seq')],
  ['with "undefined" accepted', SAVED, accepting('undefined')],
  ['with only image/png accepted', SAVED, accepting('image/png')],
  ['with only the newer type accepted', SAVED, accepting(NEWER)],
  ['with JSON accepted instead', accepting(NEWER), accepting('application/json')],
  ['with the newer type preferred', SAVED, accepting(`${NEWER}, application/json;q=0.9`)],
  ['with events accepted', SAVED, accepting('text/event-stream')],
  ['with parts accepted', SAVED, accepting('multipart/mixed')],
  ['with another charset accepted', SAVED, accepting('application/json;charset=utf-16')],
  ['with an unknown member', SAVED, { body: `{"query":${TEXT},"x":1}` }],
  ['with __proto__ as a member', SAVED, { body: `{"query":${TEXT},"__proto__":{"x":1}}` }],
  ['as the item of a list', SAVED, { body: `[{"query":${TEXT}}]` }],
  ['with variables in a list', SAVED, { body: `{"query":${TEXT},"variables":[]}` }],
  ['with variables as text', SAVED, { body: `{"query":${TEXT},"variables":"{}"}` }],
  ['with an empty name', SAVED, { query: SMALL, operationName: '' }],
  ['with another name', { query: `query A ${SMALL}` }, { query: `query A ${SMALL}`, operationName: 'B' }],
  ['with the member query twice', SAVED, { body: `{"query":${TEXT},"query":"{ __typename }"}` }],
  ['with a query that is no text', SAVED, { body: JSON.stringify({ query: 5, extensions }) }],
  ['by HEAD', SAVED_GET, { query: SMALL, method: 'HEAD' }],
  ['by PUT', SAVED, { query: SMALL, method: 'PUT' }],
  ['by DELETE', SAVED_GET, { query: SMALL, method: 'DELETE' }],
  ['by OPTIONS', SAVED_GET, { query: SMALL, method: 'OPTIONS' }],
  ['with a second query', SAVED_GET, { method: 'GET', path: `${pathOf({ query: SMALL })}&query=x` }],
])('a request never gets the response to another one %s', async (_name, kept, other) => {
  const expected = comparable(await uncached.ask(other));
  const { ask, countExecuted } = server;
  for (let nth = 0; nth < 2; nth++) expect((await ask(kept)).status).toBe(200);
  expect((await countExecuted(kept)).count).toBe(0);
  for (let nth = 0; nth < 2; nth++) expect(comparable(await ask(other))).toEqual(expected);
});

it('a request with a hash never gets the response to another text, and no text is stored by another hash', async () => {
  const { ask } = server;
  const [own, other] = [createHash('sha256').update(SMALL).digest('hex'), 'b'.repeat(64)];
  const asked = (query: string | null, sha256Hash: string) => ({
    body: JSON.stringify({ query, extensions: { persistedQuery: { version: 1, sha256Hash } } }),
  });
  for (let nth = 0; nth < 2; nth++) expect((await ask(asked(SMALL, own))).status).toBe(200);
  for (const refused of [asked(`${SMALL} `, own), asked(`${SMALL}#`, own), asked(SMALL, other)]) {
    const { status, body } = await ask(refused);
    expect([status, codesOf(JSON.parse(String(body)))]).toEqual([400, ['PERSISTED_QUERY_MISMATCH']]);
  }
  expect((await ask(asked(null, own))).body.toString()).toContain('"Base"');
  expect((await ask(asked(null, other))).body.toString()).toContain('PERSISTED_QUERY_NOT_FOUND');
});

it.each<[string, readonly (string | undefined)[]]>([
  ['*', ['br', 'zstd', 'gzip', undefined]],
  ['identity;q=0', [undefined]],
  ['gzip;q=0.5, br;q=0.1', ['br', 'gzip']],
  ['br;q=0, gzip;q=0.000', [undefined]],
  ['GZIP', ['gzip']],
  ['gzip, deflate, br', ['br']],
  ['br;q=0, gzip', ['gzip']],
  ['deflate', [undefined]],
  ['br;q=0,*', ['zstd', 'gzip', undefined]],
])('an Accept-Encoding header of "%s" gets only an accepted encoding', async (accepted, allowed) => {
  const { ask } = server;
  const small = await ask({ query: SMALL, headers: { 'accept-encoding': accepted } });
  expect(small.headers['content-encoding']).toBeUndefined();
  const plain = await ask({ query: QUERY });
  for (let nth = 0; nth < 2; nth++) {
    const answer = await ask({ query: QUERY, headers: { 'accept-encoding': accepted } });
    const { 'content-encoding': encoding, 'content-length': length } = answer.headers;
    expect(allowed).toContain(encoding);
    expect(Number(length)).toBe(answer.body.length);
    if (encoding) expect(answer.body.length).toBeLessThan(plain.body.length / 3);
    expect(plainOf(answer).equals(plain.body)).toBe(true);
  }
});

it('while 8 MiB are compressed, further responses are not, so that they do not fill the memory', async () => {
  const { ask } = await startServer({ listings: generatedListings(10, 2_000), config: FRESH });
  const lists = Array.from({ length: 10 }, (_nothing, nth) => `a${nth}: tokens { id name address }`);
  const encodingOf = async (nth: number) => {
    const body = JSON.stringify({ query: `{ ${lists.join(' ')} }`, extensions: { nth } });
    return (await ask({ body, headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'];
  };
  for (const nth of [1, 2, 3]) expect(await encodingOf(nth)).toBe('gzip');
  const encodings = await Promise.all(Array.from({ length: 20 }, (_nothing, nth) => encodingOf(nth + 4)));
  expect(new Set(encodings)).toEqual(new Set(['gzip', undefined]));
  expect(await encodingOf(0)).toBe('gzip');
});

it('headers forbid caching of errors and of the status of the listings, and never have the id of another response', async () => {
  const { ask } = server;
  const ids = new Set<unknown>();
  const asked: Asked[] = [
    { query: SMALL },
    { query: '{ nope }' },
    { query: '{' },
    { body: '' },
    { query: '' },
    { query: '{ listings { ageSeconds } }' },
    { query: '{ tokenSearch(first: 0) { totalCount } }' },
  ];
  for (const one of [...asked, ...asked, ...asked]) {
    for (const method of ['GET', 'POST']) {
      const { headers } = await ask({ ...one, method });
      ids.add(headers['x-request-id']);
      if (one.query === SMALL) continue;
      expect(headers).toMatchObject({ 'cache-control': 'no-store' });
      expect(headers.etag ?? headers['last-modified']).toBeUndefined();
    }
  }
  expect(ids.size).toBe(42);
});

it('headers limit the age of a response to the time that its data stays fresh', async () => {
  const { ask } = await startServer({
    config: {
      chainsFreshMs: 5_000_000,
      tokensFreshMs: 500_000,
      destinationsFreshMs: 150_000,
      priceMaxAgeMs: 200_000,
    },
  });
  const maxAge = async (query: string) => {
    const { headers } = await ask({ query, method: 'GET' });
    return Number(/max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1]);
  };
  for (const [query, atMost] of [
    ['{ chains { name } }', 5_000],
    ['{ chains { tokenCount } }', 500],
    ['{ tokens { price { usd } } }', 200],
    ['{ destinations(srcChainKey: "base", srcToken: "0x1") { chainKey } }', 500],
    [`{ destinations(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey } }`, 150],
  ] as const) {
    for (let nth = 0; nth < 2; nth++) {
      const age = await maxAge(query);
      expect(age, query).toBeLessThanOrEqual(atMost);
      expect(age, query).toBeGreaterThan(atMost / 2 - 1);
    }
  }
});

/** Routes from a listed token. Their responses are executed each time. */
const DESTINATIONS: Asked = {
  query: `{ destinations(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey asOf } }`,
  method: 'GET',
};

it('headers let caches store a response with routes until the routes are fetched again', async () => {
  const clock = stopClocks();
  const { ask, upstream } = await startServer({ config: { ...FRESH, destinationsFreshMs: 60_000 } });
  await ask({ query: QUERY });
  const tags = new Set<string | undefined>();
  for (const maxAge of [60, 50, 40]) {
    const { headers } = await ask(DESTINATIONS);
    expect(headers).toMatchObject({
      'cache-control': expect.stringContaining(`public, max-age=${maxAge},`),
      'cache-status': 'gateway; fwd=miss',
      age: '0',
    });
    expect(headers['x-stale-listings']).toBeUndefined();
    tags.add(headers.etag);
    clock.advance(10_000);
  }
  const [tag = ''] = tags;
  expect(await ask({ ...DESTINATIONS, headers: { 'if-none-match': tag } })).toMatchObject({ status: 304 });
  expect([tags.size, upstream.routesAsked().length]).toEqual([1, 1]);
});

it('headers forbid caching of routes from a token that a stale listing lacks, since a fresh one may lack it, too', async () => {
  const clock = stopClocks();
  const { ask } = await startServer({ config: { tokensFreshMs: 3_600_000 } });
  await ask({ query: '{ tokens { name } chains { name } }' });
  clock.advance(3_600_001);
  const query = '{ destinations(srcChainKey: "base", srcToken: "0x1") { chainKey } }';
  const { headers, body } = await ask({ query, method: 'GET' });
  expect(body.toString()).toContain('"chainKey":"ethereum"');
  expect(headers['cache-control']).toBe('no-store');
});

it('headers have the age of old routes at the moment of the response', async () => {
  const clock = stopClocks();
  const { ask, upstream } = await startServer({ config: { ...FRESH, destinationsFreshMs: 60_000 } });
  await ask({ query: QUERY });
  upstream.plan('routes', json({ tokens: demoTokens.slice(0, 1) }, { age: '720' }));
  for (const age of [720, 750]) {
    const { headers } = await ask(DESTINATIONS);
    expect(headers['x-stale-listings']).toBe(`routes;age=${age}`);
    expect(headers['cache-control']).toContain('max-age=0,');
    clock.advance(30_000);
  }
  expect(upstream.routesAsked()).toHaveLength(1);
});

it('headers have the true age of old routes after the clock was set back', async () => {
  const clock = stopClocks();
  const config = { ...FRESH, destinationsFreshMs: 60_000, upstreamRetries: 0 };
  const server = await startServer({ config });
  await server.ask({ query: QUERY });
  expect((await server.ask(DESTINATIONS)).status).toBe(200);
  server.upstream.plan('routes', status(500));
  clock.setBack(3_600_000);
  await refreshWith(server, demoTokens);
  clock.advance(120_000);
  await untilCachesSeeTheTime();
  expect((await server.ask(DESTINATIONS)).headers['x-stale-listings']).toBe('routes;age=120');
  expect(server.upstream.routesAsked()).toHaveLength(2);
});

it('headers let caches use a stale response until a price in it is too old, and for long without prices', async () => {
  const clock = stopClocks();
  const { ask } = await startServer({ config: { ...FRESH, tokensFreshMs: 10_000, priceMaxAgeMs: 30_000 } });
  const control = async (query: string) => (await ask({ query, method: 'GET' })).headers['cache-control'];
  const prices = [
    'tokens { price { usd } }',
    'tokenSearch(orderBy: PRICE_DESC) { nodes { price { asOf } } }',
  ];
  for (const maxAge of [10, 9, 9]) {
    for (const field of prices)
      expect(await control(`{ ${field} }`)).toBe(
        `public, max-age=${maxAge}, stale-while-revalidate=20, stale-if-error=20`,
      );
    clock.advance(400);
  }
  expect(await control('{ tokens { name } }')).toContain('stale-while-revalidate=60, stale-if-error=86400');
});

it('headers name the stale listings that the response read, with their ages at that moment', async () => {
  const clock = stopClocks();
  const { ask, countExecuted } = await startServer({ config: { ...FRESH, tokensFreshMs: 600_000 } });
  await ask({ query: QUERY });
  clock.advance(599_500);
  const chains = { query: '{ chains { name } }', method: 'GET' };
  const tokens = { query: QUERY, method: 'GET' };
  for (const age of [600, 601, 602]) {
    clock.advance(1_000);
    expect((await ask(tokens)).headers['x-stale-listings']).toBe(`tokens;age=${age}`);
  }
  expect((await countExecuted(tokens)).count).toBe(0);
  const { headers } = await ask(tokens);
  expect(headers['cache-control']).toMatch(/^public, max-age=0,/);
  expect(headers.age).toBe('1');
  const taken = Date.parse(headers['last-modified'] ?? '');
  expect(Math.floor((Date.now() - taken) / 1000)).toBeOneOf([602, 603]);
  for (let nth = 0; nth < 3; nth++) expect((await ask(chains)).headers['x-stale-listings']).toBeUndefined();
});

it('headers allow each origin its own access, whichever origin sent the same request before', async () => {
  const [a, b, c] = ['https://a.example', 'https://b.example', 'https://c.example'];
  const strict = await startServer({ config: { ...FRESH, corsOrigins: [a, c] } });
  for (const origin of [a, b, undefined, c, a, b, a, 'null', c, undefined, c])
    for (const method of ['GET', 'POST']) {
      const asked = { query: SMALL, method, headers: origin ? { origin } : {} };
      const { headers } = await strict.ask(asked);
      const isAllowed = origin === a || origin === c;
      expect(headers['access-control-allow-origin']).toBe(isAllowed ? origin : undefined);
      expect(headers.vary).toContain('Origin');
      const { headers: open } = await server.ask(asked);
      expect(open['access-control-allow-origin']).toBe('*');
      expect(open.vary).not.toContain('Origin');
      for (const { 'access-control-allow-credentials': allowed } of [headers, open])
        expect(allowed).toBeUndefined();
    }
});

it('headers have a tag, and only a client that sends this tag or * gets 304 without a body', async () => {
  const { address, ask } = server;
  const asked = { query: SMALL, method: 'GET' };
  const { headers, body } = await ask(asked);
  const { etag = '' } = headers;
  expect(etag).toMatch(/^W\/"[\w-]+"$/);
  expect(headers).toMatchObject({
    'cache-control': expect.stringMatching(
      /^public, max-age=\d+, stale-while-revalidate=60, stale-if-error=86400$/,
    ),
    vary: 'Accept, Accept-Encoding',
  });
  const { headers: br } = await ask({ ...asked, headers: { 'accept-encoding': 'br' } });
  expect(br.etag).toBe(etag);
  const many = Array.from({ length: 500 }, (_nothing, nth) => `"${nth}"`).join(',');
  for (const tags of [etag, etag.slice(2), `"x", ${etag}`, '*', 'x', 'etag-of-nobody', '"', many]) {
    const answer = await ask({ ...asked, headers: { 'if-none-match': tags } });
    const isKnown = tags === '*' || tags.includes(etag.slice(2));
    expect([answer.status, answer.headers.etag], tags).toEqual([isKnown ? 304 : 200, etag]);
    expect(answer.body.toString()).toBe(isKnown ? '' : body.toString());
  }
  expect((await ask({ query: SMALL, headers: { 'if-none-match': etag } })).status).toBe(200);
  for (const twice of [
    `If-None-Match: ${etag}\r\nIf-None-Match: "x"`,
    'Accept: image/png\r\nAccept: application/json',
    'Origin: https://a.example\r\nOrigin: https://b.example',
  ]) {
    const sent = `GET ${pathOf(asked)} HTTP/1.1\r\nHost: x\r\n${twice}\r\nConnection: close\r\n\r\n`;
    const came = await sendRaw(address, sent);
    expect(came, twice).toMatch(/^HTTP\/1.1 (200|304)/);
    if (came.startsWith('HTTP/1.1 200')) expect(came).toContain(body.toString());
  }
});

const HEADER = 'x-stale-listings';

async function createAged(seconds: number, options: TestServerOptions = {}): Promise<TestServer> {
  const gateway = await startServer({ hasListings: true, ...options });
  const takenAt = gateway.snapshots.status(Date.now()).map((listing) => listing.takenAt ?? 0);
  // Only the clock is moved, not the timers: no refresh runs.
  const date = stopDate();
  date.advance(Math.max(...takenAt) + seconds * 1000 - Date.now());
  return gateway;
}

/** The header of a response by the operation writer and, in an event stream, by GraphQL Yoga: the same in both. */
async function headerOf({ ask }: TestServer, query: string): Promise<string | undefined> {
  const byYoga = await ask({ query, headers: { accept: 'text/event-stream' } });
  expect(byYoga.headers['content-type']).toMatch('text/event-stream');
  const { headers } = await ask({ query });
  expect(byYoga.headers[HEADER]).toBe(headers[HEADER]);
  return headers[HEADER] as string | undefined;
}

const CHAINS = expect.stringMatching(/^chains;age=34\d$/);
const TOKENS = expect.stringMatching(/^tokens;age=34\d$/);
const BOTH = expect.stringMatching(/^chains;age=34\d, tokens;age=34\d$/);

const ROUTES = `tokens(srcChainKey: "ethereum", srcToken: "${USDC}")`;

it.each<[seconds: number, query: string, expected: unknown, config?: TestServerOptions['config']]>([
  [340, '{ chains { name } }', CHAINS],
  [340, '{ chain(chainKey: "nope") { name } }', CHAINS],
  [340, '{ tokens { name } }', TOKENS],
  [340, `{ token(chainKey: "ethereum", address: "${USDC}") { name } }`, TOKENS],
  [340, '{ tokens { name chain { name } } }', BOTH],
  [340, '{ tokens { name chain { name } } }', CHAINS, { tokensFreshMs: 1_000_000 }],
  [91, '{ tokens { name chain { name } } }', expect.stringMatching(/^tokens;age=9\d$/)],
  [340, '{ chains { tokenCount } }', BOTH],
  [340, '{ chain(chainKey: "nope") { tokens { name } } }', CHAINS],
  [340, `{ ${ROUTES} { name } }`, TOKENS],
  [340, `{ ${ROUTES} { name chain { name } } }`, BOTH],
  [340, '{ listings { name state ageSeconds rows } }', undefined],
  [340, '{ __typename }', undefined],
  [340, '{ nonsense }', undefined],
  [340, 'query ($skip: Boolean = true) { tokens @skip(if: $skip) { name } __typename }', undefined],
])('after %i s x-stale-listings has what is stale: %s %#', async (seconds, query, expected, config = {}) => {
  expect(await headerOf(await createAged(seconds, { config }), query)).toEqual(expected);
});

it('x-stale-listings has the age of `listings`, in whole seconds, and is readable by pages of other origins', async () => {
  const { ask } = await createAged(91);
  const { headers, body } = await ask({
    query: '{ tokens { name } listings { ageSeconds } }',
    headers: { origin: 'https://any.example' },
  });
  const { data } = JSON.parse(body.toString()) as { data: { listings: { ageSeconds: number }[] } };
  expect(headers[HEADER]).toBe(`tokens;age=${data.listings[1]?.ageSeconds}`);
  expect(String(headers['access-control-expose-headers']).split(', ')).toContain(HEADER);
});

it('x-stale-listings names the token listing also if it decides that there are no routes', async () => {
  const gateway = await createAged(340);
  gateway.upstream.plan('tokens', json({ tokens: [] }));
  expect(await headerOf(gateway, `{ ${ROUTES.replace('ethereum', 'base')} { name } }`)).toEqual(TOKENS);
});

it('x-stale-listings does not name a listing that is missing', async () => {
  const gateway = await startServer({ listings: { tokens: status(404) } });
  expect(await headerOf(gateway, '{ tokens { name } }')).toBeUndefined();
});
