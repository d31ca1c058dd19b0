import { describe, expect, it, onTestFinished } from 'vitest';
import { createRedisPeers } from '../../src/storage/redis/peers.js';
import { TOKENS as TOKEN_ROWS } from '../../src/upstream/listing-kinds.js';
import { status } from '../support/fake-upstream.js';
import { isConnected, prefixOf } from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import {
  type Network,
  routesOf,
  rowOf,
  sourcesOf,
  startSweeping,
  startSweptUpstream,
  stopDate,
  untilComplete,
} from '../support/sweep.js';
import { createTestLog, type TestGateway } from '../support/test-gateway.js';

const NETWORK: Network = {
  'a 0x1': ['b 0x1', 'c 0x1'],
  'b 0x1': ['a 0x1'],
  'c 0x1': [],
  'c 0x2': ['b 0x1'],
};
const TOKENS = Object.keys(NETWORK);

async function startThree(config: { readonly redisSecret?: string } = {}) {
  const redis = await startRedis();
  const upstream = await startSweptUpstream(NETWORK);
  const join = () => startSweeping(upstream, { config: { redisUrl: redis.url, ...config } });
  return { redis, upstream, join, gateways: await Promise.all([join(), join(), join()]) };
}

const linesOf = (gateways: readonly TestGateway[], text: string) =>
  gateways.flatMap(({ logged }) => logged.filter(({ msg }) => msg.includes(text)));

describe.skipIf(isRedisMissing)('gateways that share a sweep', () => {
  it.each([
    ['without a secret', {}],
    ['with a secret', { redisSecret: 'a secret of at least 32 characters' }],
  ])('%s ask the upstream once for each token, and know the same', async (_name, config) => {
    stopDate();
    const { upstream, gateways, join, redis } = await startThree(config);
    const all = await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    expect(new Set(all.map((sources) => JSON.stringify(sources))).size).toBe(1);
    for (const gateway of gateways) expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
    expect(linesOf(gateways, 'A sweep of the routes')).toHaveLength(1);
    // One that joins later has it from the others.
    upstream.planRoutes(() => status(503));
    const late = await join();
    await untilComplete(late);
    expect(await sourcesOf(late, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect(upstream.asked()).toHaveLength(4);
    const keys = await redis.client.keys('*route-map:snapshot');
    expect(keys).toHaveLength(1);
    // Destinations, too, are there for all.
    for (const gateway of [...gateways, late]) {
      const { data } = await gateway.query(
        '{ destinations(srcChainKey: "a", srcToken: "0x1") { chainKey } }',
      );
      expect(data).toEqual({ destinations: [{ chainKey: 'b' }, { chainKey: 'c' }] });
    }
    expect(upstream.asked()).toHaveLength(4);
  });

  it('go on with it when the one that sweeps has ended', async () => {
    const date = stopDate();
    const { upstream, gateways } = await startThree();
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    const sweeping = gateways.findIndex((gateway) => linesOf([gateway], 'A sweep of the routes').length > 0);
    gateways[sweeping]?.snapshots.stop();
    const others = gateways.filter((_gateway, index) => index !== sweeping);
    upstream.planRoutes(routesOf({ ...NETWORK, 'c 0x1': ['a 0x1'] }));
    date.advance(200);
    for (const other of others) {
      await expect.poll(() => sourcesOf(other, 'a 0x1')).toEqual(['b 0x1', 'c 0x1']);
    }
    // The last of them may still be asked.
    await expect.poll(() => [...upstream.asked()].sort()).toEqual([...TOKENS, ...TOKENS].sort());
    expect(linesOf(others, 'A sweep of the routes')).toHaveLength(1);
  });

  it('refuse what Redis holds if it is rubbish, and keep what they know', async () => {
    stopDate();
    const { upstream, gateways, join, redis } = await startThree();
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    const key = `${prefixOf(upstream.url)}route-map:snapshot`;
    expect(await redis.client.hset(key, 'text', 'rubbish', 'takenAt', Date.now() + 1_000)).toBe(0);
    await redis.client.publish(`${prefixOf(upstream.url)}news`, 'route-map');
    await expect.poll(() => linesOf(gateways, 'What Redis holds of the route-map').length).toBeGreaterThan(0);
    for (const gateway of gateways) expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    // Another one gets it from them.
    const late = await join();
    await untilComplete(late);
    expect(upstream.asked()).toHaveLength(4);
  });

  it('do not sweep each on its own while Redis is away for a moment', async () => {
    const date = stopDate();
    const { upstream, gateways, redis } = await startThree();
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    await expect.poll(() => linesOf(gateways, 'has asked every').length).toBe(1);
    await redis.kill();
    for (const gateway of gateways) await expect.poll(() => isConnected(gateway)).toBe(0);
    await redis.start();
    for (const gateway of gateways) await expect.poll(() => isConnected(gateway)).toBe(1);
    date.advance(200);
    await expect.poll(() => upstream.asked().length, { interval: 20 }).toBe(8);
    await expect.poll(() => linesOf(gateways, 'has asked every').length).toBe(2);
    expect([...upstream.asked()].sort()).toEqual([...TOKENS, ...TOKENS].sort());
  });

  it('hear from the others that the upstream is gone', async () => {
    const redis = await startRedis();
    const upstream = await startSweptUpstream(NETWORK);
    upstream.planRoutes(() => status(410));
    const gateways = await Promise.all(
      [1, 2, 3].map(() => startSweeping(upstream, { config: { redisUrl: redis.url } })),
    );
    for (const gateway of gateways) {
      await expect.poll(() => sourcesOf(gateway, 'a 0x1')).toEqual(['UPSTREAM_GONE']);
    }
    expect(upstream.asked()).toHaveLength(1);
  });

  it('let only the one that leads write, and lead one after the other', async () => {
    const redis = await startRedis();
    const { log } = await createTestLog();
    const start = () => {
      const options = { url: redis.url, scope: 'scope', services: { v1: 'mark' }, maxRecordBytes: 10_000 };
      const peers = createRedisPeers({ ...options, timeoutMs: 30_000, onSharing: () => {}, log });
      onTestFinished(() => peers.close());
      return peers;
    };
    const key = (name: string) => `{chains-and-tokens-gateway:1:scope}:tokens:${name}`;
    const fetched = await TOKEN_ROWS.parse([rowOf('a 0x1')], { source: 'v1', takenAt: Date.now() });
    const [one, other] = [start(), start()];
    const first = await one.lead('tokens', TOKEN_ROWS);
    expect(await other.lead('tokens', TOKEN_ROWS)).toBe('theirs');
    await redis.client.set(key('lease'), 'another gateway', 'PX', 5_000);
    if (typeof first === 'object') await first.share(fetched);
    expect(await redis.client.exists(key('snapshot'))).toBe(0);
    await redis.client.del(key('lease'));
    const second = await other.lead('tokens', TOKEN_ROWS);
    if (typeof second === 'object') await second.share(fetched);
    expect(await redis.client.exists(key('snapshot'))).toBe(1);
    if (typeof second === 'object') await second.end();
    expect(await redis.client.exists(key('lease'))).toBe(0);
    await redis.kill();
    await expect.poll(() => one.lead('tokens', TOKEN_ROWS)).toBe('unknown');
  });
});
