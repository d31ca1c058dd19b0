/** RATE_LIMIT counts the operations of each client that are not cached, and refuses those beyond the limit early. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientLimit, createClientLimit } from '../../src/scheduling/client-limit.js';
import { createRedisConnection } from '../../src/storage/redis/connection.js';
import { createSharedClientLimit } from '../../src/storage/redis/limits.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { sendHttp } from '../support/send-http.js';
import { codesOf, createTestLog } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const HOUR = 3_600;
const query = (nth: number) => `{ chain(chainKey: "key${nth}") { name } }`;

/** A limit of this many operations. The window is an hour, so that no second window begins on a slow machine. */
const limitOf = (burst: number, maxClients?: number) =>
  createClientLimit({ perSecond: burst / HOUR, burst }, maxClients);

it('a client at its limit gets a refusal before its operation is parsed, with the time to send it again', async () => {
  const { ask, executed } = await startServer({ clientLimit: limitOf(3) });
  for (let nth = 0; nth < 3; nth++) expect((await ask({ query: query(nth) })).status).toBe(200);
  const refused = await ask({ query: '{ not GraphQL' });
  expect(refused.status).toBe(429);
  expect(executed()).toBe(3);
  expect(refused.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('retry-after'),
    'ratelimit-policy': `"operations";q=3;w=${HOUR}`,
  });
  const seconds = Number(refused.headers['retry-after']);
  expect(seconds).toBeGreaterThan(HOUR - 300);
  expect(seconds).toBeLessThanOrEqual(HOUR);
  expect(refused.headers.ratelimit).toBe(`"operations";r=0;t=${seconds}`);
  expect(JSON.parse(refused.body.toString())).toEqual({
    errors: [
      {
        message: expect.stringContaining(`(RATE_LIMIT). Send this one again in ${seconds} s.`),
        extensions: { code: 'RATE_LIMITED' },
      },
    ],
  });
});

it('a client at its limit still gets cached responses, pages and monitoring', async () => {
  const { ask } = await startServer({ clientLimit: limitOf(2) });
  for (let times = 0; times < 12; times++) {
    const { status, headers } = await ask({ query: query(0) });
    expect([status, headers['cache-status']]).toEqual([200, `gateway; ${times < 2 ? 'fwd=miss' : 'hit'}`]);
  }
  const { status, headers } = await ask({ query: query(1) });
  expect([status, headers['cache-status']]).toEqual([429, 'gateway; fwd=miss']);
  expect(headers['access-control-expose-headers']).toContain('cache-status');
  const html = { accept: 'text/html' };
  for (const path of ['/live', '/ready', '/metrics', '/']) {
    expect((await ask({ method: 'GET', path, headers: html })).status, path).not.toBe(429);
  }
  expect((await ask({ method: 'GET', path: '/graphql', headers: html })).status).toBe(200);
  expect((await ask({ method: 'OPTIONS' })).status).toBe(204);
});

it.each([
  ['a GET', { method: 'GET', query: query(9) }],
  ['a HEAD', { method: 'HEAD', path: '/graphql' }],
  ['a form', { body: 'query={a}', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['a message of an agent', { path: '/mcp', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }],
  ['a page that is not served', { method: 'GET', query: query(9), headers: { accept: 'text/html' } }],
])('a client at its limit cannot bypass it by %s', async (_name, asked) => {
  const { ask, address } = await startServer({ clientLimit: limitOf(1), config: { graphiql: false } });
  await ask({ query: query(0) });
  const { status, headers, body } = await ask(asked);
  expect([status, headers.ratelimit]).toEqual([429, `"operations";r=0;t=${headers['retry-after']}`]);
  if (body.byteLength > 0) expect(codesOf(JSON.parse(String(body)))).toEqual(['RATE_LIMITED']);
  // Nor by an absolute URL.
  const path = `${address}/graphql?query=${encodeURIComponent(query(9))}`;
  expect((await sendHttp(address, { path })).status).toBe(429);
});

it('the count is kept for a bounded number of clients, the latest ones', async () => {
  const limit = limitOf(1, 3);
  for (const client of ['a', 'b', 'c']) expect(await limit.take(client)).toBe(0);
  expect(await limit.take('a')).toBeGreaterThan(0);
  for (const other of ['d', 'e', 'f']) await limit.take(other);
  expect(await limit.take('a')).toBe(0);
});

describe.skipIf(isRedisMissing)('through Redis', () => {
  async function share(url: string, timeoutMs?: number): Promise<ClientLimit> {
    const { log } = await createTestLog();
    const local = createClientLimit({ perSecond: 1, burst: 40 });
    const connection = createRedisConnection({ url, channel: 'news', onSharing() {}, timeoutMs, log });
    onTestFinished(connection.close);
    return createSharedClientLimit(local, connection, log, timeoutMs);
  }

  /** Waits until an operation of this client reaches Redis, which then has this many keys. */
  const expectShared = (
    { client: redis }: Awaited<ReturnType<typeof startRedis>>,
    limit: ClientLimit,
    client: string,
    keys: number,
  ) => expect.poll(() => limit.take(client).then(() => redis.keys('*'))).toHaveLength(keys);

  it('the count is shared by all gateways through Redis, with a window for each client', async () => {
    const redis = await startRedis();
    // On a busy machine Redis may take longer than the default to answer.
    const [one, other] = [await share(redis.url, 10_000), await share(redis.url, 10_000)];
    await expectShared(redis, one, 'early', 1);
    await expectShared(redis, other, 'late', 2);
    for (let nth = 0; nth < 40; nth++) await one.take('a');
    expect(await redis.client.pttl('chains-and-tokens-gateway:1:clients:1/40:a')).toBeGreaterThan(20_000);
    const waitMs = await other.take('a');
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(40_000);
    expect(await other.take('b')).toBe(0);
    // Refused locally, without a request to Redis.
    const before = await redis.client.get('chains-and-tokens-gateway:1:clients:1/40:a');
    for (let nth = 0; nth < 50; nth++) await one.take('a');
    expect(await redis.client.get('chains-and-tokens-gateway:1:clients:1/40:a')).toBe(before);
  });

  it.each(['frozen', 'gone'])('the count continues locally while Redis is %s', async (how) => {
    const redis = await startRedis();
    const limit = await share(redis.url);
    await expectShared(redis, limit, 'early', 1);
    if (how === 'frozen') {
      redis.freeze(true);
      onTestFinished(() => redis.freeze(false));
    } else await redis.kill();
    for (let nth = 0; nth < 40; nth++) expect(await limit.take('a')).toBe(0);
    expect(await limit.take('a')).toBeGreaterThan(0);
  });

  it('the count in Redis ignores keys of another kind, and shortens a wait that is longer than its window', async () => {
    const redis = await startRedis();
    await redis.client.set('chains-and-tokens-gateway:1:clients:1/40:a', 1_000_000_000);
    await redis.client.lpush('chains-and-tokens-gateway:1:clients:1/40:b', 'x');
    const limit = await share(redis.url, 10_000);
    await expect.poll(() => limit.take('a')).toBeGreaterThan(0);
    expect(await limit.take('a')).toBeLessThanOrEqual(40_000);
    expect(await limit.take('b')).toBe(0);
  });
});
