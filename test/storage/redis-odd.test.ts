/** A server that is not a Redis, or lacks the database, does no harm at the address of REDIS_URL. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { readText } from '../support/readme.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { createTestGateway } from '../support/test-gateway.js';

const USDC = 'srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"';

// An uncaught error would end the process; here it fails the test run.
it('an HTTP server is not used as a Redis, and each gateway continues alone', async () => {
  const upstream = await startFakeUpstream();
  let connections = 0;
  const other = createServer().on('connection', () => connections++);
  onTestFinished(() => void other.close());
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const redisUrl = `redis://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const gateway = await createTestGateway({ upstream, config: { redisUrl }, redisTimeoutMs: 300 });
  gateway.snapshots.start();
  const { data } = await gateway.query<{ chains: unknown[]; destinations: unknown[] }>(
    `{ chains { name } destinations(${USDC}) { chainKey } }`,
  );
  expect(data?.chains.length).toBeGreaterThan(0);
  expect(data?.destinations).toBeInstanceOf(Array);
  // Both listings and the routes.
  expect(upstream.count()).toBe(3);
  await expect.poll(() => gateway.logged.map(({ msg }) => msg).join()).toContain('Redis cannot be used');
  await sleep(500);
  expect(connections).toBeLessThan(30);
  expect(gateway.logged.some(({ msg }) => msg.includes('Sharing'))).toBe(false);
});

it.skipIf(isRedisMissing)(
  'a Redis without the database of REDIS_URL is not used, not even its database 0',
  async () => {
    const redis = await startRedis();
    const upstream = await startFakeUpstream();
    const gateway = await createTestGateway({ upstream, config: { redisUrl: `${redis.url}/99` } });
    gateway.snapshots.start();
    const { data } = await gateway.query<{ tokens: unknown[] }>('{ chains { name } tokens { symbol } }');
    expect(data?.tokens.length).toBeGreaterThan(0);
    await expect
      .poll(() => gateway.logged.map(({ reason }) => reason).join())
      .toContain('DB index is out of range');
    // Time to connect several times.
    await sleep(1_500);
    expect(await redis.client.dbsize()).toBe(0);
    expect(gateway.logged.some(({ msg }) => msg.includes('Sharing'))).toBe(false);
  },
);

it.skipIf(isRedisMissing)('a user of Redis with the rights in the guide is enough to share', async () => {
  const rights = /needs the rights `([^`]+)`/.exec(readText('src/storage/README.md'))?.[1] ?? '';
  const redis = await startRedis();
  await redis.client.acl('SETUSER', 'gateway', 'on', '>secret', ...rights.split(' '));
  const upstream = await startFakeUpstream();
  const config = {
    redisUrl: redis.url.replace('//', '//gateway:secret@'),
    tokensFreshMs: 200,
    upstreamRequestsPerSecond: 100,
  };
  const gateways = [
    await createTestGateway({ upstream, config }),
    await createTestGateway({ upstream, config }),
  ];
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
