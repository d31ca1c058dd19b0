/** Without a usable Redis each gateway continues alone, and it shares again when Redis is back. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { refreshes, SYMBOLS, startPeers, symbolsOf, watchAnswers } from '../support/peers.js';
import { readText } from '../support/readme.js';
import { isRedisMissing, startRedis, type TestRedis } from '../support/redis.js';
import { createTestGateway, sampleOf, type TestGateway } from '../support/test-gateway.js';

/** The time limit of a command to Redis: enough for a busy machine, and so long that a client that waits is noticed. */
const REDIS_TIMEOUT_MS = 8_000;
const AT_ONCE_MS = 500;

interface Outage {
  readonly canBeRead?: boolean;
  begin(redis: TestRedis): Promise<unknown>;
  end(redis: TestRedis): Promise<unknown>;
}

const OUTAGES: readonly [string, Outage][] = [
  [
    'is full',
    {
      canBeRead: true,
      async begin({ client }) {
        await client.config('SET', 'maxmemory-policy', 'noeviction');
        await client.config('SET', 'maxmemory', '1mb');
      },
      end: ({ client }) => client.config('SET', 'maxmemory', '0'),
    },
  ],
  [
    'answers nothing',
    { begin: async (redis) => redis.freeze(true), end: async (redis) => redis.freeze(false) },
  ],
  ['is killed and started again, empty', { begin: (redis) => redis.kill(), end: (redis) => redis.start() }],
];

function said(gateways: readonly TestGateway[], start: string): readonly number[] {
  return gateways.map(({ logged }) => logged.filter(({ msg }) => msg.startsWith(start)).length);
}

const ALONE = 'Redis cannot be used';
const SHARING = 'Sharing snapshots';
const isSharing = (gateway: TestGateway) => sampleOf(gateway, 'gateway_redis_connected');

it.skipIf(isRedisMissing).each(OUTAGES)(
  'each gateway continues alone while Redis %s, and shares again afterwards',
  async (_name, { begin, end, canBeRead }) => {
    const { redis, upstream, gateways } = await startPeers(3, {
      config: { tokensFreshMs: 400 },
      redisTimeoutMs: REDIS_TIMEOUT_MS,
    });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    const connected = () => Promise.all(gateways.map(isSharing));
    await expect.poll(connected).toEqual([1, 1, 1]);
    const seen = watchAnswers(gateways);

    await begin(redis);
    await expect.poll(connected).toEqual([0, 0, 0]);
    const alone = gateways.map((gateway) => refreshes([gateway], 'tokens', 'upstream'));
    for (const [index, gateway] of gateways.entries()) {
      await expect
        .poll(() => refreshes([gateway], 'tokens', 'upstream'))
        .toBeGreaterThan((alone[index] ?? 0) + 3);
    }
    // If Redis can still be read, a gateway may log once more that it shares, and then that it continues
    // alone.
    const times = said(gateways, ALONE);
    for (const each of times) expect(each).toBeLessThan(canBeRead ? 4 : 3);
    // On a busy machine a gateway may log at its start that it continues alone, and share after that.
    const begunToShare = said(gateways, SHARING);
    for (const [index, shared] of begunToShare.entries()) {
      expect([0, 1]).toContain((times[index] ?? 0) - shared);
    }

    await end(redis);
    await expect.poll(connected).toEqual([1, 1, 1]);
    const shared = () => refreshes(gateways, 'tokens', 'peer');
    const begun = { taken: upstream.count('tokens'), shared: shared() };
    await expect.poll(() => shared() - begun.shared).toBeGreaterThan(9);
    // The three share: two serve the listing that the third has fetched.
    expect(upstream.count('tokens') - begun.taken).toBeLessThan(9);
    expect(said(gateways, ALONE)).toEqual(times);
    expect(said(gateways, SHARING)).toEqual(begunToShare.map((each) => each + 1));
    expect(seen.wrong).toEqual([]);
    expect(seen.answers).toBeGreaterThan(50);
    expect(seen.longestMs).toBeLessThan(AT_ONCE_MS);
  },
);

it.skipIf(isRedisMissing)('the password of Redis is in no line of the log', async () => {
  const password = 'wrong%2Fpassword%20of%20words';
  const redis = await startRedis();
  await redis.client.config('SET', 'requirepass', 'the-right-one');
  const { address, output } = await startGatewayProcess({
    REDIS_URL: redis.url.replace('redis://', `redis://:${password}@`),
    LOG_LEVEL: 'trace',
  });
  await expect.poll(output).toContain(ALONE);
  await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
  // Redis refused the password. On a busy machine the gateway may log only another reason.
  await expect.poll(() => redis.client.call('ACL', 'LOG')).toContainEqual(expect.arrayContaining(['auth']));
  for (const secret of [password, decodeURIComponent(password)]) expect(output()).not.toContain(secret);
});

it.skipIf(isRedisMissing).each([
  [
    'password is changed',
    async (redis: TestRedis) => redis.client.acl('SETUSER', 'gateway', 'resetpass', '>new'),
  ],
  ['user is removed', async (redis: TestRedis) => redis.client.acl('DELUSER', 'gateway')],
])('when its %s, the log has the reply of Redis once', async (_name, refuse) => {
  const redis = await startRedis();
  await redis.client.acl('SETUSER', 'gateway', 'on', '>secret', '~*', '&*', '+@all');
  const redisUrl = redis.url.replace('//', '//gateway:secret@');
  const { gateways } = await startPeers(1, { redis, config: { redisUrl, tokensFreshMs: 200 } });
  const [gateway] = gateways as [TestGateway];
  await expect.poll(() => isSharing(gateway)).toBe(1);
  await refuse(redis);
  await redis.client.client('KILL', 'USER', 'gateway').catch(() => {});
  const reasons = () =>
    gateway.logged.filter(({ msg }) => msg.startsWith(ALONE)).map(({ reason }) => String(reason));
  await expect.poll(reasons, { timeout: 10_000 }).toContainEqual(expect.stringMatching(/^WRONGPASS/));
  // Time to connect several times.
  await sleep(2_500);
  expect(reasons().length).toBeLessThan(3);
});

const USDC = 'srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"';

async function startAlone(redisUrl: string, said: string) {
  const upstream = await startFakeUpstream();
  const gateway = await createTestGateway({ upstream, config: { redisUrl }, redisTimeoutMs: 300 });
  gateway.snapshots.start();
  const query = `{ chains { name } destinations(${USDC}) { chainKey } }`;
  expect(await gateway.query(query)).toEqual({
    data: { chains: expect.arrayContaining([expect.any(Object)]), destinations: expect.any(Array) },
  });
  // Both listings and the routes.
  expect(upstream.count()).toBe(3);
  await expect.poll(() => JSON.stringify(gateway.logged)).toContain(said);
  // Time to connect several times.
  await sleep(1_500);
  expect(gateway.logged.some(({ msg }) => msg.includes('Sharing'))).toBe(false);
}

// An uncaught error would end the process; here it fails the test run.
it('an HTTP server is not used as a Redis, and each gateway continues alone', async () => {
  let connections = 0;
  const other = createServer().on('connection', () => connections++);
  onTestFinished(() => void other.close());
  await once(other.listen(0, '127.0.0.1'), 'listening');
  await startAlone(`redis://127.0.0.1:${(other.address() as AddressInfo).port}`, ALONE);
  expect(connections).toBeLessThan(30);
});

it.skipIf(isRedisMissing)('of a Redis without the database of REDIS_URL, no database is used', async () => {
  const redis = await startRedis();
  await startAlone(`${redis.url}/99`, 'DB index is out of range');
  expect(await redis.client.dbsize()).toBe(0);
});

it.skipIf(isRedisMissing)('a user of Redis with the rights in the guide is enough to share', async () => {
  const rights = /`(~[^`]+)`/.exec(readText('src/storage/README.md'))?.[1] ?? '';
  const redis = await startRedis();
  await redis.client.acl('SETUSER', 'gateway', 'on', '>secret', ...rights.split(' '));
  const upstream = await startFakeUpstream();
  const config = {
    redisUrl: redis.url.replace('//', '//gateway:secret@'),
    tokensFreshMs: 200,
    upstreamRequestsPerSecond: 100,
  };
  const gateways = await Promise.all([1, 2].map(() => createTestGateway({ upstream, config })));
  for (const { snapshots, query } of gateways) {
    snapshots.start();
    await query(`{ chains { name } destinations(${USDC}) { chainKey } }`);
  }
  await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(5);
  // Two gateways cause as many requests as one.
  expect(upstream.count('chains')).toBe(1);
  expect(upstream.seen.filter(({ url }) => url?.includes('srcToken'))).toHaveLength(1);
  for (const { logged } of gateways) {
    const lines = logged.map(({ msg }) => msg).filter((msg) => msg.includes('Redis'));
    expect(lines).toEqual(['Sharing snapshots through Redis']);
  }
});
