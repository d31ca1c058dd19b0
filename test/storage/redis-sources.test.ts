import { describe, expect, it } from 'vitest';
import { isRedisMissing, startRedis } from '../support/redis.js';
import {
  type Network,
  sourcesOf,
  startSweeping,
  startSweptUpstream,
  stopDate,
  untilComplete,
} from '../support/sweep.js';

const NETWORK: Network = { 'a 0x1': ['b 0x1', 'c 0x1'], 'b 0x1': ['a 0x1'], 'c 0x1': [], 'c 0x2': ['b 0x1'] };
const TOKENS = Object.keys(NETWORK);

async function startThree() {
  const redis = await startRedis();
  const upstream = await startSweptUpstream(NETWORK);
  const config = { redisUrl: redis.url, routesSweepMs: 2_000 };
  const gateways = await Promise.all([1, 2, 3].map(() => startSweeping(upstream, { config })));
  return { redis, upstream, gateways };
}

describe.skipIf(isRedisMissing)('gateways that sweep with one Redis', () => {
  it('request each token once if they start together', async () => {
    stopDate();
    const { upstream, gateways } = await startThree();
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    for (const gateway of gateways) expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
  });

  it('sweep alone while Redis is unavailable', async () => {
    stopDate();
    const { redis, upstream, gateways } = await startThree();
    await redis.kill();
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    for (const gateway of gateways) expect(await sourcesOf(gateway, 'a 0x1')).toEqual(['b 0x1']);
    expect(upstream.asked().length).toBeLessThanOrEqual(3 * TOKENS.length);
  });
});
