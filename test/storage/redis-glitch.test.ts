/** A wrong listing, a wrong clock, a hanging upstream or invalid data in Redis does not spread between gateways. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tokenRow } from '../fixtures/rows.js';
import { HOUR } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import {
  CHAIN,
  prefixOf,
  refreshes,
  SYMBOLS,
  snapshotOf,
  startMovingUpstream,
  startPeers,
  symbolsOf,
} from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { codesOf, type TestGateway } from '../support/test-gateway.js';

const PATIENT = { config: { tokensFreshMs: 600_000 } };
const GLITCH = json({
  tokens: SYMBOLS.map((symbol, index) => tokenRow(CHAIN, `0x${index + 1}`, { symbol, decimals: 18 })),
});

async function decimalsOf(gateway: TestGateway): Promise<number | undefined> {
  const { data } = await gateway.query<{ tokens: { decimals: number }[] }>('{ tokens { decimals } }');
  return data?.tokens[0]?.decimals;
}

describe.skipIf(isRedisMissing)('gateways that share', () => {
  it('a glitch that a gateway accepted as its first listing is held back by gateways with an earlier one, which correct it at once', async () => {
    const { redis, upstream, gateways, join, key } = await startPeers(1, PATIENT);
    const [good] = gateways as [TestGateway];
    await expect.poll(() => good.listings().tokens.state).toBe('FRESH');
    await expect.poll(() => redis.client.exists(key('tokens:snapshot'))).toBe(1);
    upstream.plan('tokens', GLITCH);
    const accepted = (each: TestGateway) =>
      each.refreshes.find(({ listing }) => listing === 'tokens')?.outcome === 'upstream';
    const joinAfterRestart = async () => {
      // A gateway also gets the message about its own snapshot, and offers the snapshot again if Redis has
      // lost it. So wait for the message. If it comes still later, on a busy machine, the new gateway gets
      // the good snapshot, and the next try follows.
      await sleep(1_000);
      await redis.client.flushall();
      const joined = await join();
      await expect.poll(() => joined.listings().tokens.state).toBe('FRESH');
      return joined;
    };
    let fresh = await joinAfterRestart();
    for (let tries = 1; tries < 10 && !accepted(fresh); tries++) fresh = await joinAfterRestart();
    expect(accepted(fresh)).toBe(true);
    await expect.poll(() => decimalsOf(fresh)).toBe(6);
    for (const each of [good, fresh]) {
      expect(each.listings().tokens.heldBackRows).toBe(SYMBOLS.length);
      expect(await decimalsOf(each)).toBe(6);
    }
  });

  it('a gateway without a snapshot gets the listing of a peer that Redis has lost, although the upstream fails', async () => {
    const { redis, upstream, gateways, join, key } = await startPeers(1, { config: { tokensFreshMs: 300 } });
    const [good] = gateways as [TestGateway];
    await expect.poll(() => good.listings().tokens.takenAt).not.toBeNull();
    upstream.planBoth(status(503, { 'retry-after': '600' }));
    await expect.poll(() => redis.client.exists(key('tokens:pause'))).toBe(1);
    await redis.client.del(key('tokens:snapshot'));
    const fresh = await join();
    await expect.poll(() => decimalsOf(fresh)).toBe(6);
    expect(fresh.listings().tokens.takenAt).toBe(good.listings().tokens.takenAt);
  });

  it('a listing of a gateway whose clock is ahead is accepted once, and does not replace newer ones later', async () => {
    const { redis, upstream, gateways, key } = await startPeers(1, { config: { tokensFreshMs: 200 } });
    const [gateway] = gateways as [TestGateway];
    await expect.poll(() => gateway.listings().tokens.takenAt).not.toBeNull();
    const rows = [...SYMBOLS, 'AHEAD'].map((symbol, index) => tokenRow(CHAIN, `0x${index + 1}`, { symbol }));
    const ahead = await snapshotOf(upstream.url, rows, Date.now() + 30_000);
    const shared = () => refreshes(gateways, 'tokens', 'peer');
    while (shared() === 0) {
      const before = upstream.count('tokens');
      await redis.client.hset(key('tokens:snapshot'), ahead);
      // If two further requests come first, a refresh has replaced this listing in Redis. Then try again.
      await expect.poll(() => upstream.count('tokens') > before + 1 || shared() > 0).toBe(true);
    }
    await expect.poll(() => gateway.listings().tokens.rows).toBe(4);
    const asked = upstream.count('tokens');
    while (upstream.count('tokens') < asked + 4) {
      expect(gateway.listings().tokens.rows).toBe(4);
      await sleep(10);
    }
  });

  it('a gateway whose upstream hangs does not stop refreshes of others, and serves their listings', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const config = { tokensFreshMs: 1000, upstreamTimeoutMs: 60_000 };
    const { gateways, join } = await startPeers(1, { redis, upstream, config });
    const [good] = gateways as [TestGateway];
    await expect.poll(() => good.listings().tokens.takenAt).not.toBeNull();
    // The second gateway shares the same Redis, but its requests to the upstream hang.
    const hanging = await join({
      decorate: (listing) => ({ ...listing, fetch: () => new Promise(() => {}) }),
    });
    let oldest = 0;
    const until = performance.now() + 18_000;
    while (performance.now() < until) {
      oldest = Math.max(oldest, good.listings().tokens.ageMs ?? 0);
      await sleep(50);
    }
    expect(hanging.listings().tokens.takenAt).not.toBeNull();
    // The interval, the time until the lease of the hanging gateway expires, and 3 s for a busy machine.
    expect(oldest).toBeLessThan(1000 + 15_000 + 3000);
    expect(good.listings().tokens.ageMs).toBeLessThan(19_000);
  });

  it.each([
    ['altered', 0],
    ['from the future', HOUR],
  ])('a snapshot in Redis that is %s is refused by all, and replaced', async (_name, offset) => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const rows = [tokenRow(CHAIN, '0xbad', { symbol: 'BAD' })];
    const { takenAt, text } = await snapshotOf(upstream.url, rows, Date.now() + offset);
    const key = `${prefixOf(upstream.url)}tokens:snapshot`;
    await redis.client.hset(key, { takenAt, text: offset > 0 ? text : text.replace('BAD', 'BED') });
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    const refused = gateways.flatMap(({ logged }) => logged).filter(({ msg }) => msg.includes('is refused'));
    expect(refused.length).toBeLessThan(7);
    await expect.poll(() => redis.client.hget(key, 'text')).toContain('"ONE"');
  });

  it('a failure of another form in Redis does not stop refreshes', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const prefix = prefixOf(upstream.url);
    const failure = '{"code":"UPSTREAM_NONSENSE","message":"x","at":1,"failuresInARow":1}';
    await redis.client.set(`${prefix}tokens:failure`, failure, 'PX', HOUR);
    await redis.client.set(`${prefix}tokens:pause`, '1', 'PX', HOUR);
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    for (const gateway of gateways) {
      expect(codesOf(await gateway.query('{ listings { lastFailure { at } } }'))).toEqual([]);
      expect(gateway.listings().tokens.lastFailure).toBeNull();
    }
  });
});
