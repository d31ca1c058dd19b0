import { describe, expect, it } from 'vitest';
import { WRITE } from '../../src/storage/redis/scripts.js';
import { upload } from '../../src/storage/redis/upload.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { startPeers, statusOf } from '../support/peers.js';
import { isRedisMissing, startRedis, type TestRedis } from '../support/redis.js';

const KEYS = ['snapshot', 'setback', 'pause', 'lease', 'upload'];

function runOn({ client }: TestRedis) {
  return (script: string, keys: readonly string[], args: readonly (string | number | Buffer)[]) =>
    client.eval(script, keys.length, ...keys, ...args);
}

/** Runs the script that turns the upload into a snapshot, as the gateway `me`, whose lease it ends. */
function write(redis: TestRedis, length: number): Promise<unknown> {
  return runOn(redis)(WRITE, KEYS, ['me', 1, length, 60_000, 'news', 'tokens', 1, 0]);
}

describe.skipIf(isRedisMissing)('a snapshot on its way to Redis', () => {
  it('goes there in pieces, and expires if it is not used', async () => {
    const redis = await startRedis();
    const lengths: number[] = [];
    const run = async (...args: Parameters<ReturnType<typeof runOn>>) => {
      lengths.push((args[2][0] as Buffer).length);
      return runOn(redis)(...args);
    };
    const parts = Array.from({ length: 30 }, (_, part) => Buffer.alloc(30_000, `part ${part} é`));
    expect(await upload(run, 'upload', parts)).toBe(true);
    expect(lengths).toEqual([270_000, 270_000, 270_000, 90_000]);
    expect((await redis.client.getBuffer('upload'))?.equals(Buffer.concat(parts))).toBe(true);
    expect(await redis.client.pttl('upload')).toBeGreaterThan(30_000);
  });

  it('is given up when Redis does not answer', async () => {
    let runs = 0;
    const run = async () => {
      runs++;
      return undefined;
    };
    expect(await upload(run, 'upload', [Buffer.alloc(300_000), Buffer.alloc(300_000)])).toBe(false);
    expect(runs).toBe(1);
  });

  it('takes the place of an older one, and leaves nothing behind', async () => {
    const redis = await startRedis();
    await redis.client.set('lease', 'me');
    await upload(runOn(redis), 'upload', [Buffer.from('whole')]);
    expect(await write(redis, 5)).toBeNull();
    expect(await redis.client.hgetall('snapshot')).toEqual({ takenAt: '1', text: 'whole' });
    expect(await redis.client.exists('upload', 'lease')).toBe(0);
  });

  it.each([
    ['is not whole', 'whol'],
    ['is longer than what was sent', 'whole and more'],
    ['was lost', ''],
  ])('that %s is not taken, and the lease ends', async (_name, found) => {
    const redis = await startRedis();
    await redis.client.set('lease', 'me');
    if (found) await upload(runOn(redis), 'upload', [Buffer.from(found)]);
    expect(await write(redis, 5)).toBe('lost');
    expect(await redis.client.exists('snapshot', 'upload', 'lease')).toBe(0);
  });

  it('is not sent if Redis has it', async () => {
    const { redis, key } = await startPeers(1, {
      upstream: await startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] }),
      config: { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 },
    });
    await expect.poll(() => redis.client.exists(key('tokens:snapshot'), key('chains:snapshot'))).toBe(2);
    const calls = async (command: string) =>
      Number(
        new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.client.info('commandstats'))?.[1] ?? 0,
      );
    // After each connection, a gateway offers its snapshots to the others.
    const reconnect = async () => {
      const before = await calls('eval');
      await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await expect.poll(() => calls('eval')).toBeGreaterThan(before + 1);
    };
    const sent = await calls('append');
    expect(sent).toBeGreaterThan(0);
    await reconnect();
    await expect.poll(() => redis.client.exists(key('tokens:snapshot'))).toBe(1);
    expect(await calls('append')).toBe(sent);
    await redis.client.del(key('tokens:snapshot'));
    await reconnect();
    await expect.poll(() => calls('append')).toBeGreaterThan(sent);
    await expect.poll(() => redis.client.exists(key('tokens:snapshot'))).toBe(1);
  });

  it('is read by another gateway as it was written, also if it is long', async () => {
    const rows = Array.from({ length: 4_000 }, (_, index) =>
      tokenRow('a', `0x${index.toString(16).padStart(40, '0')}`, { name: `Token ${index} ☃` }),
    );
    const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: rows });
    const { redis, gateways, key } = await startPeers(3, {
      upstream,
      config: { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 },
    });
    await expect.poll(() => gateways.every((each) => statusOf(each).tokens.rows === 4_000)).toBe(true);
    expect(upstream.count('tokens')).toBe(1);
    expect(await redis.client.hstrlen(key('tokens:snapshot'), 'text')).toBeGreaterThan(2 * 262_144);
    expect(await redis.client.keys('*upload*')).toEqual([]);
    const answers = await Promise.all(gateways.map(({ query }) => query('{ tokens { address name } }')));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.data).toMatchObject({
      tokens: rows.map(({ address, name }) => ({ address, name })),
    });
  });
});
