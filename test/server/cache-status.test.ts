/** The headers of a response give its origin (the cache or an execution), its age and its cost. */
import { expect, it } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { stopClocks } from '../support/clock.js';
import { sendRaw } from '../support/raw-http.js';
import { type Asked, type Received, refreshWith, shareServer, startServer } from '../support/test-server.js';

const HIT = 'gateway; hit';
const MISS = 'gateway; fwd=miss';
const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 600_000 };
const TOKENS = '{ tokens { symbol } }';
const NEWER = 'application/graphql-response+json';

const statusOf = ({ headers }: Received) => headers['cache-status'];

/** For how many seconds a cache keeps a response, by RFC 9111. */
function keptFor({ headers }: Received): number {
  return Number(/max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1]) - Number(headers.age);
}

const shared = shareServer(() => ({ config: LONG }));

it.each<[string, Asked]>([
  ['GET', { method: 'GET' }],
  ['GET, compressed', { method: 'GET', headers: { 'accept-encoding': 'gzip' } }],
  ['HEAD', { method: 'HEAD' }],
  ['POST', {}],
])('Cache-Status is twice a miss and then a hit for %s, also with 304', async (_name, asked) => {
  const query = `{ tokens { at${Date.now()}: symbol } }`;
  for (const expected of [MISS, MISS, HIT, HIT]) {
    const { headers, ...answer } = await shared.ask({ query, ...asked });
    expect([answer.status, headers['cache-status']]).toEqual([200, expected]);
    expect(headers['access-control-expose-headers']).toMatch(/\bage, cache-status\b/);
    const known = { ...asked, headers: { ...asked.headers, 'if-none-match': headers.etag ?? '' } };
    if (headers.etag && expected === HIT)
      expect(await shared.ask({ query, ...known })).toMatchObject({
        status: 304,
        headers: { 'cache-status': HIT, age: expect.stringMatching(/^\d+$/) },
      });
  }
});

it.each<[string, number, Asked]>([
  ['an error of validation', 200, { query: '{ nothing }' }],
  ['an error, by the newer type', 400, { query: '{ nothing }', headers: { accept: NEWER } }],
  ['an error of a field', 200, { query: '{ tokenSearch(first: 0) { totalCount } }' }],
  ['a value of this moment', 200, { query: '{ listings { ageSeconds } }' }],
  ['no query', 200, { method: 'GET', path: '/graphql' }],
  ['another method', 405, { method: 'PUT', path: '/graphql' }],
  ['a preflight request', 204, { method: 'OPTIONS', path: '/graphql' }],
  ['the playground', 200, { method: 'GET', path: '/graphql', headers: { accept: 'text/html' } }],
  ['a body that is too large', 413, { body: ' '.repeat(1_100_000) }],
  ['a body of another type', 415, { body: '{}', headers: { 'content-type': 'text/plain' } }],
  ['an encoded body', 415, { body: '{}', headers: { 'content-encoding': 'gzip' } }],
  ['an expectation', 417, { body: '{}', headers: { expect: 'nothing' } }],
  ['a stream', 200, { query: TOKENS, headers: { accept: 'text/event-stream' } }],
])('Cache-Status is a miss for %s', async (_name, status, asked) => {
  for (let time = 0; time < 3; time++) {
    const answer = await shared.ask(asked);
    expect([answer.status, statusOf(answer)]).toEqual([status, MISS]);
  }
});

it('Cache-Status is a miss if the target of the request is a whole URL, or not a path, and is not a header of other paths', async () => {
  const { address } = shared;
  const { hostname, port } = new URL(address);
  for (const target of [`http://${hostname}:${port}/graphql?query={__typename}`, 'example.org:443']) {
    const asked = `GET ${target} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(address, asked)).toMatch(/\r\ncache-status: gateway; fwd=miss\r\n/i);
  }
  for (const path of ['/', '/live', '/tokenlist.json', '/nothing', '/graphqlx'])
    expect(statusOf(await shared.ask({ method: 'GET', path })), path).toBeUndefined();
});

async function startWith(asked: Asked) {
  const clock = stopClocks();
  const server = await startServer({ hasListings: true, config: LONG });
  await server.countExecuted(asked, asked);
  return { clock, ...server };
}

it('the age of a stored response is counted from its creation, also by POST, which no other cache keeps', async () => {
  const asked = { query: TOKENS };
  const { clock, ask, countExecuted } = await startWith(asked);
  for (const [ms, age] of [
    [900, '0'],
    [1_200, '2'],
    [57_900, '60'],
    [240_000, '300'],
  ] as const) {
    clock.advance(ms);
    const answer = await ask(asked);
    expect([statusOf(answer), answer.headers.age]).toEqual([HIT, age]);
    expect(answer.headers['cache-control']).toBeUndefined();
  }
  expect((await countExecuted(asked)).count).toBe(0);
});

it('the age of a response does not include that of its listing; no cache keeps it for longer than the listing is fresh', async () => {
  const asked = { query: TOKENS, method: 'GET' };
  const clock = stopClocks();
  const { ask, query, countExecuted } = await startServer({ config: LONG });
  await query('{ tokens { symbol } }');
  clock.advance(500_000);
  await countExecuted(asked, asked);
  for (const [ms, age, left] of [
    [0, 0, 100],
    [40_900, 40, 60],
    [58_000, 98, 2],
  ] as const) {
    clock.advance(ms);
    const answer = await ask(asked);
    expect(answer.headers.age).toBe(String(age));
    // Rounded down.
    expect(keptFor(answer)).toBeOneOf([left, left - 1]);
  }
  // The listing is stale now: not even a cache that ignores the age may keep the response.
  clock.advance(3_000);
  const stale = await ask(asked);
  expect([statusOf(stale), stale.headers.age]).toEqual([HIT, '101']);
  expect(stale.headers['cache-control']).toMatch(/^public, max-age=0,/);
});

it('the age of a stored response starts again after a refresh with the same rows', async () => {
  const asked = { query: TOKENS, method: 'GET' };
  const { clock, ask, countExecuted, ...server } = await startWith(asked);
  clock.advance(300_000);
  expect((await ask(asked)).headers.age).toBe('300');
  await refreshWith(server, demoTokens);
  clock.advance(50_000);
  const answer = await ask(asked);
  expect([statusOf(answer), answer.headers.age]).toEqual([HIT, '50']);
  expect(keptFor(answer)).toBeOneOf([549, 550]);
});

it('caches keep a response that reads no listing for at most five minutes, since a release may change it', async () => {
  const asked = { query: '{ __schema { queryType { name } } }', method: 'GET' };
  const { clock, ask, countExecuted } = await startWith(asked);
  clock.advance(299_000);
  const last = await ask(asked);
  expect([statusOf(last), last.headers.age, keptFor(last)]).toEqual([HIT, '299', 1]);
  clock.advance(2_000);
  expect((await countExecuted(asked)).count).toBe(1);
  const next = await ask(asked);
  expect([statusOf(next), next.headers.age, keptFor(next)]).toEqual([HIT, '0', 300]);
});

const DEGEN = '{ tokens(srcChainKey: "degen") { symbol decimals chain { name nativeCurrency { symbol } } } }';

it.each([
  ['written by the operation writer', {}],
  ['made by GraphQL Yoga', { accept: `${NEWER}, application/json;q=0.5` }],
])('x-cost has the cost of the operation for a response %s, also from the cache', async (_name, headers) => {
  const { ask } = await startServer({ config: LONG });
  for (let time = 0; time < 3; time++) {
    const answer = await ask({ query: DEGEN, headers });
    expect([answer.status, answer.headers['x-cost']]).toEqual([200, '29']);
    expect(answer.headers['access-control-expose-headers']).toContain('x-cost');
  }
  const query = 'query ($on: Boolean!) { tokens(srcChainKey: "degen") { symbol name @include(if: $on) } }';
  for (const [on, cost] of Object.entries({ true: '13', false: '9' })) {
    const variables = { on: on === 'true' };
    for (let time = 0; time < 3; time++)
      expect((await ask({ query, variables, headers })).headers['x-cost']).toBe(cost);
  }
  const moment = await ask({ query: '{ listings { ageSeconds } }', headers });
  expect(Number(moment.headers['x-cost'])).toBeGreaterThan(0);
  expect((await ask({ query: '{ nothing }', headers })).headers['x-cost']).toBeUndefined();
});
