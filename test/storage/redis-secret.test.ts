import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { tokenFilterKey } from '../../src/domain/addresses.js';
import { fingerprint } from '../../src/domain/fingerprint.js';
import { createRedisPeers } from '../../src/storage/redis/peers.js';
import { createSharedRateLimiter } from '../../src/storage/redis/rate-limit.js';
import { createSeal } from '../../src/storage/redis/seal.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { peerScope } from '../../src/upstream/services.js';
import { tokenRow } from '../fixtures/rows.js';
import { json, status } from '../support/fake-upstream.js';
import {
  CHAIN,
  prefixOf,
  refreshes,
  SYMBOLS,
  split,
  startMovingUpstream,
  startPeers,
  statusOf,
  symbolsOf,
} from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { createTestLog, type TestGateway } from '../support/test-gateway.js';

const SECRET = 'known-to-all-of-the-gateways';
const OTHER_SECRET = 'known-to-those-that-come-next';
const HOUR = 3_600_000;

/** What the names of the keys begin with that gateways of this upstream and this secret share. */
function signedPrefixOf(url: string, secret = SECRET): string {
  return `${prefixOf(url).slice(0, -1)}${sealOf(url, secret).keyPart}:`;
}

function sealOf(url: string, secret = SECRET) {
  return createSeal(secret, peerScope({ profile: 'v1', url, isDemo: false }));
}

async function startSigned(count: number, config = {}) {
  const peers = await startPeers(count, { config: { redisSecret: SECRET, ...config } });
  for (const gateway of peers.gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
  const prefix = signedPrefixOf(peers.upstream.url);
  const signedKey = (name: string) => prefix + name;
  await expect.poll(() => peers.redis.client.exists(signedKey('tokens:snapshot'))).toBe(1);
  return { ...peers, signedKey };
}

const refused = (gateways: readonly TestGateway[]) =>
  gateways.flatMap(({ logged }) => logged).filter(({ msg }) => msg.includes('is refused'));

describe.skipIf(isRedisMissing)('gateways with a secret', () => {
  it('share among themselves, and leave those with another one or none alone', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const groups = [];
    for (const redisSecret of [SECRET, OTHER_SECRET, undefined]) {
      groups.push(await startPeers(2, { redis, upstream, config: { tokensFreshMs: 300, redisSecret } }));
    }
    for (const { gateways } of groups) {
      await expect.poll(() => refreshes(gateways, 'tokens', 'shared')).toBeGreaterThan(4);
      for (const gateway of gateways) expect(await symbolsOf(gateway)).toEqual(SYMBOLS);
      expect(refused(gateways)).toEqual([]);
    }
    const keys = await redis.client.keys('*:tokens:snapshot');
    expect(new Set(keys)).toEqual(
      new Set(
        [
          signedPrefixOf(upstream.url),
          signedPrefixOf(upstream.url, OTHER_SECRET),
          prefixOf(upstream.url),
        ].map((prefix) => `${prefix}tokens:snapshot`),
      ),
    );
    for (const key of keys) expect(await redis.client.hget(key, 'text')).not.toContain(SECRET);
  });

  it('stand under one rate limit with those that have another, so that a change of it costs the upstream no more', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const config = { tokensFreshMs: 100, upstreamRequestsPerSecond: 3 };
    for (const redisSecret of [SECRET, OTHER_SECRET]) {
      await startPeers(1, { redis, upstream, config: { ...config, redisSecret } });
    }
    const { seen } = upstream;
    await expect.poll(() => seen.length).toBeGreaterThan(14);
    // Three places each 1.2 s; two limits would give twice as many.
    expect((seen[14]?.at ?? 0) - (seen[0]?.notBefore ?? 0)).toBeGreaterThan(4 * 1200 - 500);
  });

  it('refuse a record that is said to be newer than it is', async () => {
    const { redis, upstream, gateways, join, signedKey } = await startSigned(1, { tokensFreshMs: 600_000 });
    const stolen = (await redis.client.hget(signedKey('tokens:snapshot'), 'text')) ?? '';
    const other = JSON.stringify(Date.now() + 30_000);
    const all = [...gateways];
    const texts = [stolen, stolen.replace(/"takenAt":\d+/, `"takenAt":${other}`)];
    for (const text of texts) {
      const before = refused(all).length;
      // A gateway that writes its own at this moment may replace the record before anybody looks at it.
      while (refused(all).length === before) {
        const asked = upstream.count('tokens');
        await redis.client.hset(signedKey('tokens:snapshot'), { takenAt: other, text });
        const fresh = await join();
        await expect.poll(() => symbolsOf(fresh)).toEqual(SYMBOLS);
        // It asks the upstream, unless another has cleared the record away and offered its own before.
        expect(upstream.count('tokens')).toBeOneOf([asked, asked + 1]);
        all.push(fresh);
      }
    }
  });

  it('refuse the routes from another token, and the records of another upstream', async () => {
    const { redis, upstream, gateways, join, signedKey } = await startSigned(1);
    const routes = (symbol: string) => split(json({ tokens: [tokenRow('degen', '0x9', { symbol })] }));
    const ask = ({ query }: TestGateway, srcToken: string) =>
      query(`{ tokens(srcChainKey: "${CHAIN}", srcToken: "${srcToken}") { symbol } }`);
    const keyOf = (srcToken: string) =>
      signedKey(`route:${fingerprint(tokenFilterKey({ srcChainKey: CHAIN, srcToken }))}:snapshot`);
    upstream.plan('tokens', routes('ofOne'));
    for (const gateway of gateways) await ask(gateway, '0x1');
    await expect.poll(() => redis.client.exists(keyOf('0x1'))).toBe(1);
    await redis.client.copy(keyOf('0x1'), keyOf('0x2'));
    upstream.plan('tokens', routes('ofTwo'));
    const other = await join();
    expect(await ask(other, '0x2')).toEqual({ data: { tokens: [{ symbol: 'ofTwo' }] } });
    expect(await ask(other, '0x1')).toEqual({ data: { tokens: [{ symbol: 'ofOne' }] } });

    const elsewhere = await startMovingUpstream();
    const theirs = `${signedPrefixOf(elsewhere.url)}tokens:snapshot`;
    await redis.client.copy(signedKey('tokens:snapshot'), theirs);
    const { gateways: strangers } = await startPeers(1, {
      redis,
      upstream: elsewhere,
      config: { redisSecret: SECRET },
    });
    for (const stranger of strangers) await expect.poll(() => symbolsOf(stranger)).toEqual(SYMBOLS);
    expect(refused(strangers).map(({ reason }) => reason)).toEqual([
      expect.stringContaining('its HMAC does not fit'),
    ]);
    expect(elsewhere.count('tokens')).toBe(1);
  });

  it('obey a failure that one of them met, and not the same of another listing, or once it is over', async () => {
    const { redis, upstream, gateways, join, signedKey } = await startSigned(1, { tokensFreshMs: 200 });
    upstream.plan('tokens', status(410));
    const [one] = gateways as [TestGateway];
    await expect.poll(() => statusOf(one).tokens.lastFailure?.code).toBe('UPSTREAM_GONE');
    await expect.poll(() => redis.client.pttl(signedKey('tokens:pause'))).toBeGreaterThan(3_500_000);
    const asked = upstream.count('tokens');
    const other = await join();
    await expect.poll(() => statusOf(other).tokens.lastFailure?.code).toBe('UPSTREAM_GONE');
    expect(upstream.count('tokens')).toBe(asked);

    const chains = upstream.count('chains');
    const { takenAt } = statusOf(other).chains;
    await redis.client.copy(signedKey('tokens:setback'), signedKey('chains:setback'), 'REPLACE');
    await redis.client.set(signedKey('chains:pause'), '1', 'PX', HOUR);
    other.snapshots.refreshNow();
    await expect.poll(() => upstream.count('chains')).toBe(chains + 1);
    expect(statusOf(other).chains.lastFailure).toBeNull();
    // The refresh ends when its snapshot is shared, and until then it deletes recorded failures from Redis.
    await expect
      .poll(async () => Number(await redis.client.hget(signedKey('chains:snapshot'), 'takenAt')))
      .toBeGreaterThan(takenAt ?? Number.NaN);

    // A true one, replayed when its pause was over long ago.
    const [at, retryAt] = [Date.now() - 600_000, Date.now() - 300_000];
    const old = JSON.stringify({ code: 'UPSTREAM_GONE', message: 'Gone.', failuresInARow: 1, at, retryAt });
    const replayed = sealOf(upstream.url).close('setback', 'chains', old);
    await redis.client.set(signedKey('chains:setback'), replayed);
    await redis.client.set(signedKey('chains:pause'), '1', 'PX', HOUR);
    other.snapshots.refreshNow();
    await expect.poll(() => upstream.count('chains')).toBe(chains + 2);
  });
});

describe('the seal', () => {
  it('opens only for the same secret, scope, purpose and topic', () => {
    const seal = createSeal(SECRET, 'scope');
    const closed = seal.close('setback', 'tokens', '{"at":1}');
    expect(seal.open('setback', 'tokens', closed)).toBe('{"at":1}');
    expect(createSeal(SECRET, 'scope').open('setback', 'tokens', closed)).toBe('{"at":1}');
    for (const stranger of [createSeal(OTHER_SECRET, 'scope'), createSeal(SECRET, 'other')]) {
      expect(stranger.open('setback', 'tokens', closed)).toBeUndefined();
    }
    expect(seal.open('hold', 'tokens', closed)).toBeUndefined();
    expect(seal.open('setback', 'chains', closed)).toBeUndefined();
    for (const text of ['', '{"at":1}', closed.slice(1), `${closed} `, closed.replace('1', '2')]) {
      expect(seal.open('setback', 'tokens', text)).toBeUndefined();
    }
    expect(closed).not.toContain(SECRET);
  });
});

describe('a hold that never ends', () => {
  it('is obeyed for an hour, and then others are not believed for a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const rateLimiter = createSharedRateLimiter({
      local: createRateLimiter(3),
      requestsPerSecond: 3,
      link: { run: async (_script, _keys, args) => (args[4] === 1 ? 0 : [HOUR, '1']) },
      seal: createSeal(undefined, 'scope'),
      prefix: 'x',
    });
    expect(await rateLimiter.acquire('v1', true)).toBe(HOUR);
    vi.advanceTimersByTime(HOUR - 10_000);
    expect(await rateLimiter.acquire('v1', true)).toBe(10_000);
    vi.advanceTimersByTime(10_000);
    expect(await rateLimiter.acquire('v1', false)).toBe(0);
    vi.advanceTimersByTime(30_000);
    expect(await rateLimiter.acquire('v1', true)).toBe(0);
    vi.advanceTimersByTime(31_000);
    expect(await rateLimiter.acquire('v1', true)).toBe(HOUR);
  });
});

describe.skipIf(isRedisMissing)('a pause that never ends', () => {
  it('is obeyed for an hour and no longer, and then again after an attempt', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const redis = await startRedis();
    const { log } = await createTestLog();
    const peers = createRedisPeers({
      url: redis.url,
      scope: 'scope',
      services: { v1: 'mark' },
      maxRecordBytes: 10_000,
      timeoutMs: 30_000,
      onSharing: () => {},
      log,
    });
    onTestFinished(() => peers.close());
    const key = (name: string) => `{chains-and-tokens-gateway:1:scope}:tokens:${name}`;
    const setback = { code: 'UPSTREAM_GONE', message: 'Gone.', failuresInARow: 1e15, at: Date.now() };
    await redis.client.set(key('setback'), JSON.stringify(setback));
    await redis.client.set(key('pause'), '1', 'PX', HOUR);
    for (let time = 0; time < 2; time++) {
      const first = await peers.lease('tokens', TOKENS, 1);
      expect(first).toMatchObject({ is: 'too early', peerFailure: { failuresInARow: 30 } });
      if (first.is === 'too early') expect(first.leftMs).toBeLessThanOrEqual(HOUR);
      vi.advanceTimersByTime(HOUR - 1);
      expect(await peers.lease('tokens', TOKENS, 1)).toMatchObject({ is: 'too early', leftMs: 1 });
      vi.advanceTimersByTime(1);
      const own = await peers.lease('tokens', TOKENS, 1);
      expect(own.is).toBe('ours');
      if (own.is === 'ours') await own.fail();
    }
  });
});
