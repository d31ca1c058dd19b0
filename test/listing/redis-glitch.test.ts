import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tokenRow } from '../fixtures/rows.js';
import { json, mostInASecond } from '../support/fake-upstream.js';
import { moving, split, startFleet, statusOf } from '../support/fleet.js';
import { isRedisMissing } from '../support/redis.js';
import type { TestGateway } from '../support/test-gateway.js';

const PATIENT = { config: { tokensFreshMs: 600_000 } };
/** What the upstream says for a while, and is not so. */
const GLITCH = json({ tokens: [tokenRow('ethereum', '0x1', { symbol: 'ONE', decimals: 18 })] });
const GOOD = json({ tokens: [tokenRow('ethereum', '0x1', { symbol: 'ONE', decimals: 6 })] });

async function decimalsOf(gateway: TestGateway): Promise<number | undefined> {
  const { data } = await gateway.query<{ tokens: { decimals: number }[] }>('{ tokens { decimals } }');
  return data?.tokens[0]?.decimals;
}

describe.skipIf(isRedisMissing)('a glitch of the upstream', () => {
  it('that one took who had nothing to compare it with is held back by those who had', async () => {
    const { redis, upstream, gateways, join } = await startFleet(1, PATIENT);
    const [good] = gateways as [TestGateway];
    upstream.plan('tokens', GOOD);
    good.snapshots.hurry();
    await expect.poll(() => decimalsOf(good)).toBe(6);
    // Nothing is left of what they share, such as after a restart of Redis, and no connection was lost.
    await redis.client.flushall();
    upstream.plan('tokens', GLITCH);
    const fresh = await join();
    await expect.poll(() => decimalsOf(fresh)).toBe(18);
    await expect.poll(() => statusOf(good).tokens.isHeldBack).toBe(true);
    expect(await decimalsOf(good)).toBe(6);
    // And what it has heals the other in the end, as often as the truth has to come.
    upstream.plan('tokens', GOOD);
    for (let turn = 0; turn < 3; turn++) {
      const asked = upstream.count('tokens');
      await redis.client.del(...(await redis.client.keys('*:pause')), 'none');
      good.snapshots.hurry();
      await expect.poll(() => upstream.count('tokens')).toBe(asked + 1);
      await expect.poll(() => statusOf(good).tokens.isHeldBack).toBe(false);
    }
    await expect.poll(() => decimalsOf(fresh)).toBe(6);
    expect(await decimalsOf(good)).toBe(6);
  });

  it('that came twice before a good answer counts for nothing when it comes again', async () => {
    const { redis, upstream, gateways, key } = await startFleet(1, PATIENT);
    const [gateway] = gateways as [TestGateway];
    upstream.plan('tokens', GOOD);
    gateway.snapshots.hurry();
    await expect.poll(() => decimalsOf(gateway)).toBe(6);
    upstream.plan('tokens', GLITCH);
    const held = () => statusOf(gateway).tokens.lastFailure?.message ?? '';
    for (const times of [1, 2]) {
      await redis.client.del(key('tokens:pause'));
      gateway.snapshots.hurry();
      await expect.poll(held).toContain(`so far: ${times}`);
    }
    const setback = await redis.client.get(key('tokens:setback'));
    upstream.plan('tokens', GOOD);
    await redis.client.del(key('tokens:pause'));
    gateway.snapshots.hurry();
    await expect.poll(() => statusOf(gateway).tokens.isHeldBack).toBe(false);
    // As if Redis had not been there to be told of the good one.
    await redis.client.set(key('tokens:setback'), setback ?? '');
    upstream.plan('tokens', GLITCH);
    gateway.snapshots.hurry();
    await expect.poll(held).toContain('so far: 1');
    expect(await decimalsOf(gateway)).toBe(6);
  });
});

describe.skipIf(isRedisMissing)('the ceiling', () => {
  it('holds while Redis takes its time to give places', async () => {
    const config = { upstreamRequestsPerSecond: 3, maxRoutesPerOperation: 1000, tokensFreshMs: 600_000 };
    const { redis, upstream, gateways } = await startFleet(1, { config });
    const [gateway] = gateways as [TestGateway];
    upstream.plan('tokens', split(json({ tokens: [] }), moving()));
    await expect.poll(() => statusOf(gateway).tokens.state).toBe('FRESH');
    let asked = 0;
    const ask = () =>
      gateway.query(`{ tokens(srcChainKey: "ethereum", srcToken: "0x${++asked + 100}") { symbol } }`);
    const begun = upstream.count();
    for (let turn = 1; turn <= 3; turn++) {
      // The question that waits for its place when Redis answers no more goes out on its own a second later.
      const questions = [ask()];
      await sleep(3);
      redis.freeze(true);
      for (let more = 0; more < 6; more++) questions.push(ask());
      await sleep(1700);
      redis.freeze(false);
      await Promise.all(questions);
      expect(upstream.count() - begun).toBe(7 * turn);
    }
    expect(mostInASecond(upstream.seen, 200)).toBeLessThanOrEqual(3);
  });
});
