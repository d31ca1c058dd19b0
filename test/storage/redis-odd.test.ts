/** A server that is not a Redis, or lacks the database, does no harm at the address of REDIS_URL. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { readText } from '../support/readme.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { createTestGateway } from '../support/test-gateway.js';

/** How a server at the address of Redis reacts to a packet. */
type Reaction = (socket: Socket) => unknown;

const USDC = 'srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"';

/** Starts a server that is not a Redis. Returns its address and the number of its connections. */
async function startOddServer(react: Reaction) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', () => react(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `redis://127.0.0.1:${port}`, connections: () => sockets.length };
}

const reply =
  (text: string): Reaction =>
  (socket) =>
    socket.write(text);

const ODD: Readonly<Record<string, Reaction>> = {
  OK: reply('+OK\r\n'),
  'an error': reply('-ERR no\r\n'),
  'a page': reply('HTTP/1.1 400 Bad Request\r\n\r\n'),
  nothing: () => {},
  'a closed connection': (socket) => socket.end(),
};

// An uncaught error would end the process; here it fails the test run.
it.each(Object.entries(ODD))('a server that answers with %s is not used as a Redis', async (_name, react) => {
  const { url, connections } = await startOddServer(react);
  const upstream = await startFakeUpstream();
  const config = { redisUrl: url, upstreamMaxBytes: 1_000_000 };
  const gateway = await createTestGateway({ upstream, config, redisTimeoutMs: 300 });
  gateway.snapshots.start();
  const startedAt = performance.now();
  const { data } = await gateway.query<{ chains: unknown[]; destinations: unknown[] }>(
    `{ chains { name } destinations(${USDC}) { chainKey } }`,
  );
  expect(data?.chains.length).toBeGreaterThan(0);
  expect(data?.destinations).toBeInstanceOf(Array);
  // Both listings and the routes.
  expect(upstream.count()).toBe(3);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  await expect.poll(() => gateway.logged.map(({ msg }) => msg).join()).toContain('Redis cannot be used');
  await sleep(500);
  expect(connections()).toBeLessThan(30);
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
