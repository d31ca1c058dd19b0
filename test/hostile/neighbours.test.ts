import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tokenKey } from '../../src/domain/addresses.js';
import { shortDigest } from '../../src/snapshots/short-digest.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { generatedListings, tokenRow } from '../fixtures/rows.js';
import { json } from '../support/fake-upstream.js';
import { startTarget, type Target } from '../support/hostile.js';
import { isRedisMissing, startRedis } from '../support/redis.js';

const SECRET = 'known-to-the-gateways-and-to-nobody-else';
const HOUR = 3_600_000;
const GONE = { code: 'UPSTREAM_GONE', message: 'Send your tokens to 0xbad.', failuresInARow: 1e15 };

/** A gateway that shares through Redis, and a client that may do there whatever it likes. */
async function startVictim(env: Record<string, string> = {}, tokenCount = 1_000) {
  const redis = await startRedis();
  const target = await startTarget({
    tokenCount,
    chainCount: 20,
    env: { REDIS_URL: redis.url, TOKENS_FRESH_MS: '1000', CHAINS_FRESH_MS: '1000', ...env },
  });
  const find = () => redis.client.keys('*:tokens:snapshot');
  await expect.poll(async () => (await find()).length).toBe(1);
  const [found = ''] = await find();
  const prefix = found.slice(0, -'tokens:snapshot'.length);
  // Places are shared whatever the secret.
  const common = prefix.slice(0, prefix.indexOf('}') + 2);
  const key = (name: string) => prefix + name;
  return { redis, target, key, common };
}

/** Does this again and again until the test ends, or until the function that it gives is called. */
function keepDoing(everyMs: number, act: () => Promise<unknown>): () => Promise<void> {
  let isOver = false;
  const doing = (async () => {
    while (!isOver) {
      await act().catch(() => {});
      await sleep(everyMs);
    }
  })();
  const end = async () => {
    isOver = true;
    await doing;
  };
  onTestFinished(end);
  return end;
}

/** Resolves when the upstream has been asked for the tokens so many times more. */
async function untilRefreshed({ upstream }: Target, times: number, withinMs: number): Promise<void> {
  const begun = upstream.count('tokens');
  await expect
    .poll(() => upstream.count('tokens') - begun, { timeout: withinMs, interval: 100 })
    .toBeGreaterThanOrEqual(times);
}

/** What the process costs while it is attacked for so long: its share of one CPU, and the worst that was seen. */
async function cost(target: Target, forMs: number) {
  const watch = target.watch();
  const [cpu, at] = [target.cpuMs(), performance.now()];
  await sleep(forMs);
  const share = (target.cpuMs() - cpu) / (performance.now() - at);
  return { ...(await watch.stop()), share };
}

const pauseFor = (client: Redis, key: (name: string) => string, setback: string) =>
  Promise.all(
    ['chains', 'tokens'].flatMap((topic) => [
      client.set(key(`${topic}:setback`), setback, 'PX', HOUR),
      client.set(key(`${topic}:pause`), '1', 'PX', HOUR),
    ]),
  );

describe.skipIf(isRedisMissing)('who may write to Redis delays a gateway, and never stops it:', () => {
  it('by holding the leases for ever', async () => {
    const { redis, target, key } = await startVictim();
    keepDoing(200, () =>
      Promise.all(
        ['chains', 'tokens'].map((topic) => redis.client.set(key(`${topic}:lease`), 'x', 'PX', 9000)),
      ),
    );
    await untilRefreshed(target, 1, 80_000);
  });

  it('by filling the places for requests', async () => {
    const { redis, target, common } = await startVictim();
    const fill = `redis.call('SET', KEYS[2], '1', 'PX', 2000)
      local time = redis.call('TIME')
      for i = 1, 5 do
        redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1] .. i)
      end`;
    let nth = 0;
    const act = () => redis.client.eval(fill, 2, `${common}places`, `${common}first`, `x${nth++}:`);
    await act();
    keepDoing(50, act);
    // One may have had its place before; the next one waits until the gateway does without.
    await untilRefreshed(target, 2, 40_000);
    // From then on listings are refreshed as ever: to wait for a place would take ten seconds each time.
    await untilRefreshed(target, 4, 30_000);
    const routes = await target.ask({
      query: '{ tokens(srcChainKey: "ethereum", srcToken: "0x1") { symbol } }',
    });
    expect(routes.status).toBe(200);
    expect(routes.body).not.toContain('errors');
  });

  it('not at all by pauses and holds, where there is a secret', async () => {
    const { redis, target, key } = await startVictim({ REDIS_SECRET: SECRET, LOG_LEVEL: 'trace' });
    keepDoing(20, () =>
      Promise.all([
        pauseFor(redis.client, key, JSON.stringify({ ...GONE, at: Date.now(), retryAt: Date.now() + HOUR })),
        redis.client.set(key('hold:v1'), String(Date.now() + HOUR), 'PX', HOUR),
      ]),
    );
    await untilRefreshed(target, 8, 40_000);
    const { body } = await target.ask({ query: '{ listings { state lastFailure { message } } }' });
    expect(body).not.toContain('0xbad');
    expect(target.output()).not.toContain(SECRET);
  });

  it('by pauses of which nobody can say why', async () => {
    const { redis, target, key } = await startVictim();
    keepDoing(1, () => pauseFor(redis.client, key, '{"code":'));
    await untilRefreshed(target, 4, 40_000);
    expect((await cost(target, 5_000)).share).toBeLessThan(0.4);
  });

  it('by huge values', async () => {
    const { redis, target, key, common } = await startVictim();
    const before = target.memoryMb();
    // Made once and copied: what takes Redis longer than a second is as good as no Redis.
    const make = `local huge = string.rep('x', ${100 * 2 ** 20})
      redis.call('HSET', KEYS[1], 'takenAt', '0', 'text', huge)
      redis.call('SET', KEYS[2], huge)`;
    const [record, text] = [`${common}huge-record`, `${common}huge-text`];
    await redis.client.eval(make, 2, record, text);
    const put = `redis.call('COPY', KEYS[1], KEYS[3], 'REPLACE')
      redis.call('HSET', KEYS[3], 'takenAt', ARGV[1])
      redis.call('COPY', KEYS[2], KEYS[4], 'REPLACE')
      redis.call('SET', KEYS[5], '1', 'PX', ${HOUR})
      redis.call('COPY', KEYS[2], KEYS[6], 'REPLACE')
      redis.call('PEXPIRE', KEYS[6], ${HOUR})
      redis.call('PUBLISH', KEYS[7], 'tokens')`;
    const names = ['tokens:snapshot', 'tokens:setback', 'tokens:pause', 'hold:v1', 'news'];
    const keys = [record, text, ...names.map(key)];
    const end = keepDoing(1_500, () => redis.client.eval(put, keys.length, ...keys, Date.now()));
    const { memoryMb, share } = await cost(target, 7_000);
    await end();
    expect(memoryMb - before).toBeLessThan(80);
    expect(share).toBeLessThan(0.4);
    await untilRefreshed(target, 2, 60_000);
  });

  it('by a million places, and as many fields', async () => {
    const { redis, target, key, common } = await startVictim();
    const put = `local time = redis.call('TIME')
      local at = time[1] * 1000
      for i = 1, 200000 do
        redis.call('ZADD', KEYS[1], at, ARGV[1] .. i)
        redis.call('HSET', KEYS[2], ARGV[1] .. i, i)
      end
      redis.call('HSET', KEYS[2], 'takenAt', at, 'text', 'x')`;
    for (let nth = 0; nth < 5; nth++) {
      await redis.client.eval(put, 2, `${common}places`, key('tokens:snapshot'), `${nth}:`);
    }
    await untilRefreshed(target, 3, 60_000);
    await expect.poll(() => redis.client.zcard(`${common}places`)).toBeLessThan(10);
    await expect.poll(() => redis.client.hlen(key('tokens:snapshot'))).toBe(2);
  });

  it('by floods of news, long and short', async () => {
    const { redis, target, key } = await startVictim();
    const before = target.memoryMb();
    const flood = `for i = 1, 20000 do redis.call('PUBLISH', KEYS[1], ARGV[i % 2 + 1]) end`;
    keepDoing(0, () => redis.client.eval(flood, 1, key('news'), 'tokens', 'chains'));
    const short = await cost(target, 5_000);
    const long = `redis.call('PUBLISH', KEYS[1], string.rep('x', ${20 * 2 ** 20}))`;
    keepDoing(50, () => redis.client.eval(long, 1, key('news')));
    const { memoryMb, liveMs } = await cost(target, 5_000);
    expect(short.share).toBeLessThan(0.5);
    expect(Math.max(short.liveMs, liveMs)).toBeLessThan(300);
    expect(memoryMb - before).toBeLessThan(150);
    await untilRefreshed(target, 2, 60_000);
  });

  it('by rubbish that is newer each time, and told of', async () => {
    const { redis, target, key } = await startVictim();
    const put = `redis.call('HSET', KEYS[1], 'takenAt', ARGV[1], 'text', ARGV[2])
      redis.call('PUBLISH', KEYS[2], 'tokens')`;
    const rubbish = `chains-and-tokens-gateway 1 ${'0'.repeat(64)}\n${'{},'.repeat(2 ** 21)}`;
    keepDoing(5, () => redis.client.eval(put, 2, key('tokens:snapshot'), key('news'), Date.now(), rubbish));
    const { share, liveMs } = await cost(target, 5_000);
    expect(share).toBeLessThan(0.4);
    expect(liveMs).toBeLessThan(300);
    await untilRefreshed(target, 4, 40_000);
    expect(target.output().match(/is refused/g)?.length).toBeLessThan(15);
  });

  it('by ending its connections', async () => {
    const { redis, target } = await startVictim({}, 10_000);
    const kill = async () => {
      await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    };
    const asked = target.upstream.count();
    keepDoing(10, kill);
    const { liveMs } = await cost(target, 7_000);
    expect(liveMs).toBeLessThan(300);
    expect(target.output().match(/Redis cannot be used|Sharing snapshots/g)?.length).toBeLessThan(40);
    expect(target.output().match(/"level":(40|50|60)/g)?.length).toBeLessThan(40);
    // They are still being ended.
    await expect.poll(() => target.upstream.count() - asked).toBeGreaterThan(3);
  });
});

describe.skipIf(isRedisMissing)('who may write to Redis', () => {
  it('cannot say how often a loss of rows has come', async () => {
    // Long enough for a busy machine to read the log between two refreshes.
    const { redis, target, key } = await startVictim({ TOKENS_FRESH_MS: '8000' }, 10);
    const { tokens } = generatedListings(20, 10);
    const lost = tokens.slice(3).map((row) => tokenKey(String(row.chainKey), String(row.address)));
    const signature = shortDigest(createHash('sha256').update(JSON.stringify(lost.toSorted())));
    const heldBack = { signature, times: 1000 };
    keepDoing(20, () =>
      redis.client.set(key('tokens:setback'), JSON.stringify({ ...GONE, at: Date.now(), heldBack })),
    );
    target.upstream.plan('tokens', json({ tokens: tokens.slice(0, 3) }));
    const query = '{ tokens { symbol } listings { lastFailure { message } } }';
    let body = '';
    const ask = async () => {
      ({ body } = await target.ask({ query }));
      return body;
    };
    await expect.poll(ask).toContain('so far: 1');
    expect(body).toContain('"symbol":"TOK9"');
    // It is taken all the same when this gateway has seen it three times.
    await expect.poll(ask).not.toContain('"symbol":"TOK9"');
  });

  it('has nothing believed that lacks the HMAC, also where its digest is right', async () => {
    const { redis, target, key } = await startVictim({ REDIS_SECRET: SECRET }, 10);
    const { fingerprint } = await import('../../src/domain/fingerprint.js');
    const { encodeRecord } = await import('../../src/storage/record.js');
    const forge = async () => {
      const taken = await TOKENS.parse([tokenRow('ethereum', '0xbad', { symbol: 'BAD' })], {
        source: 'v1',
        takenAt: Date.now(),
      });
      const text = Buffer.concat(await encodeRecord(TOKENS, taken, { v1: fingerprint(target.upstream.url) }));
      await redis.client.hset(key('tokens:snapshot'), { takenAt: taken.takenAt, text });
      await redis.client.publish(key('news'), 'tokens');
    };
    keepDoing(50, forge);
    const asked = target.upstream.count('tokens');
    while (target.upstream.count('tokens') - asked < 5) {
      const { body } = await target.ask({ query: '{ tokens { symbol } }' });
      expect(body).not.toContain('BAD');
      await sleep(50);
    }
    expect(target.output()).toContain('its HMAC does not fit');
  });
});
