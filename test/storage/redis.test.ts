import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tokenRow } from '../fixtures/rows.js';
import {
  type Answer,
  first,
  json,
  late,
  reset,
  startFakeUpstream,
  status,
} from '../support/fake-upstream.js';
import {
  CHAIN,
  moving,
  prefixOf,
  refreshes,
  SYMBOLS,
  sources,
  split,
  startMovingUpstream,
  startPeers,
  statusOf,
  symbolsOf,
} from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { codesOf, createTestGateway, type TestGateway } from '../support/test-gateway.js';

const versionOf = (gateway: TestGateway) => statusOf(gateway).tokens.version;
const failureOf = (gateway: TestGateway) => statusOf(gateway).tokens.lastFailure;

describe.skipIf(isRedisMissing)('gateways that share', () => {
  // Again where a command took Redis over a second, and a gateway went on alone.
  it('cost the upstream what one does, and serve the same', { retry: 2 }, async () => {
    const alone = await createTestGateway({
      upstream: await startMovingUpstream(),
      config: { tokensFreshMs: 300 },
    });
    const { upstream, gateways } = await startPeers(3, { config: { tokensFreshMs: 300 } });
    alone.snapshots.start();
    const begun = { alone: alone.upstream.count('tokens'), shared: upstream.count('tokens') };
    await expect.poll(() => alone.upstream.count('tokens') - begun.alone).toBe(11);
    const cost = upstream.count('tokens') - begun.shared;
    expect(cost).toBeGreaterThanOrEqual(10);
    expect(cost).toBeLessThanOrEqual(12);
    expect(upstream.count('chains')).toBe(1);
    await expect.poll(() => new Set(gateways.map(versionOf)).size).toBe(1);
    await expect
      .poll(async () => (await refreshes(gateways, 'tokens', 'taken')) - upstream.count('tokens'))
      .toBe(0);
    expect(await refreshes(gateways, 'tokens', 'shared')).toBeGreaterThan(10);
    expect(await refreshes(gateways, 'chains', 'shared')).toBe(2);
  });

  it('take a new snapshot as soon as it is announced, long before their own is due', async () => {
    const { gateways, join } = await startPeers(1, { config: { tokensFreshMs: 300 } });
    const [eager] = gateways;
    await expect.poll(() => refreshes(gateways, 'tokens', 'taken')).toBeGreaterThan(0);
    const patient = await join({ config: { tokensFreshMs: 600_000 } });
    await expect.poll(() => refreshes([patient], 'tokens', 'shared')).toBeGreaterThan(4);
    expect(await refreshes([patient], 'tokens', 'taken')).toBe(0);
    await expect.poll(() => versionOf(patient) === (eager && versionOf(eager))).toBe(true);
  });

  it('take it at the latest when their own is due, where they missed the announcement', async () => {
    const { redis, gateways, join } = await startPeers(1, { config: { tokensFreshMs: 250 } });
    await expect.poll(() => refreshes(gateways, 'tokens', 'taken')).toBeGreaterThan(0);
    const deaf = await join({ config: { tokensFreshMs: 1000 } });
    await expect.poll(() => statusOf(deaf).tokens.state).toBe('FRESH');
    await redis.client.acl('SETUSER', 'default', '-subscribe');
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const begun = await Promise.all([
      refreshes([deaf], 'tokens', 'shared'),
      refreshes(gateways, 'tokens', 'taken'),
    ]);
    await expect.poll(async () => (await refreshes([deaf], 'tokens', 'shared')) - begun[0]).toBe(3);
    // The other one took several in the time of each.
    expect((await refreshes(gateways, 'tokens', 'taken')) - begun[1]).toBeGreaterThan(4);
    expect(await refreshes([deaf], 'tokens', 'taken')).toBe(0);
  });

  it('give one that starts while the upstream is dead what they hold, with its true age', async () => {
    const { upstream, gateways, join } = await startPeers(1);
    const [first] = gateways;
    await expect
      .poll(() => first && statusOf(first))
      .toMatchObject({
        chains: { state: 'FRESH' },
        tokens: { state: 'FRESH' },
      });
    upstream.plan('chains', reset);
    upstream.plan('tokens', reset);
    const late = await join({ config: { chainsFreshMs: 60_000, tokensFreshMs: 1 } });
    expect(await symbolsOf(late)).toEqual(SYMBOLS);
    expect(statusOf(late)).toMatchObject({
      chains: { state: 'FRESH', takenAt: first && statusOf(first).chains.takenAt },
      tokens: { state: 'STALE', takenAt: first && statusOf(first).tokens.takenAt },
    });
    const answer = await late.fetch(
      `/graphql?query=${encodeURIComponent('{ chains { name } tokens { name } }')}`,
    );
    expect(answer.headers.get('x-stale-listings')).toMatch(/^tokens;age=\d+$/);
  });

  it('leave those of another upstream alone, and what has another format', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const other = await startFakeUpstream({ tokens: [tokenRow('other', '0x1', { symbol: 'OTHER' })] });
    const foreign = ['tokens:snapshot', 'tokens:lease', 'places'].map(
      (name) => prefixOf(upstream.url, 2) + name,
    );
    await Promise.all(foreign.map((key) => redis.client.set(key, 'of another format')));
    const ours = await startPeers(2, { redis, upstream, config: { tokensFreshMs: 100 } });
    const theirs = await startPeers(2, { redis, upstream: other, config: { tokensFreshMs: 100 } });
    await expect.poll(() => refreshes(ours.gateways, 'tokens', 'shared')).toBeGreaterThan(3);
    await expect.poll(() => refreshes(theirs.gateways, 'tokens', 'shared')).toBeGreaterThan(3);
    for (const gateway of ours.gateways) expect(await symbolsOf(gateway)).toEqual(SYMBOLS);
    for (const gateway of theirs.gateways) expect(await symbolsOf(gateway)).toEqual(['OTHER']);
    expect(await redis.client.mget(foreign)).toEqual(foreign.map(() => 'of another format'));
  });
});

describe.skipIf(isRedisMissing)('failures', () => {
  it('of one are those of all, so that all together try as often as one', async () => {
    const upstreams = await Promise.all([startFakeUpstream(), startFakeUpstream()]);
    for (const each of upstreams) each.plan('tokens', status(500));
    const [upstream, other] = upstreams;
    const { gateways } = await startPeers(3, { upstream, firstPauseMs: 300 });
    const alone = await createTestGateway({
      upstream: other,
      firstPauseMs: 300,
      config: { upstreamRetries: 0 },
    });
    alone.snapshots.start();
    await expect.poll(() => other.count('tokens')).toBe(4);
    // The pauses are of random length, from half of a power of two to all of it.
    expect(upstream.count('tokens')).toBeGreaterThanOrEqual(2);
    expect(upstream.count('tokens')).toBeLessThanOrEqual(6);
    await expect.poll(() => new Set(gateways.map((gateway) => failureOf(gateway)?.at)).size).toBe(1);
    for (const gateway of gateways) expect(failureOf(gateway)?.code).toBe('UPSTREAM_STATUS');
  });

  it('that say the upstream is gone cost it one attempt for each listing in the hour', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('chains', status(410));
    upstream.plan('tokens', status(410));
    const { redis, gateways, join, key } = await startPeers(3, { upstream, firstPauseMs: 10 });
    const gone = { lastFailure: { code: 'UPSTREAM_GONE' } };
    for (const gateway of [...gateways, await join()]) {
      await expect.poll(() => statusOf(gateway)).toMatchObject({ chains: gone, tokens: gone });
      expect(codesOf(await gateway.query('{ chains { name } tokens { name } }'))).toEqual([
        'UPSTREAM_GONE',
        'UPSTREAM_GONE',
      ]);
    }
    expect([upstream.count('chains'), upstream.count('tokens')]).toEqual([1, 1]);
    expect(await redis.client.pttl(key('tokens:pause'))).toBeGreaterThan(3_500_000);
  });

  it('are over for all when one has succeeded', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', first(2, status(500), moving()));
    const { redis, gateways, key } = await startPeers(3, { upstream, firstPauseMs: 100 });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(3);
    expect(await redis.client.exists(key('tokens:pause'), key('tokens:setback'))).toBe(0);
  });

  /** Three gateways, and an upstream that from some moment on says that all tokens but one have gone. */
  async function shrink(config: { redisSecret?: string }) {
    const { upstream, gateways } = await startPeers(3, {
      config: { tokensFreshMs: 250, holdBackTimes: 3, ...config },
    });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    upstream.plan('tokens', json({ tokens: [tokenRow(CHAIN, '0x1', { symbol: 'ONE' })] }));
    await expect.poll(() => Promise.all(gateways.map(symbolsOf))).toEqual([['ONE'], ['ONE'], ['ONE']]);
    const taken = gateways
      .flatMap(({ logged }) => logged)
      .filter(({ msg }) => /^Taking .* held back/.test(msg));
    // Each judges by what it serves itself.
    expect(taken).toHaveLength(3);
    for (const gateway of gateways) expect(statusOf(gateway).tokens.isHeldBack).toBe(false);
    return gateways;
  }

  it('are counted over all that have the secret, also where an answer is held back', async () => {
    const gateways = await shrink({ redisSecret: 'known-to-all-of-the-gateways' });
    expect(await refreshes(gateways, 'tokens', 'held_back')).toBe(2);
  });

  it('count where they were met, without a secret: nobody knows who says how often a change has come', async () => {
    const gateways = await shrink({});
    for (const gateway of gateways) expect(await refreshes([gateway], 'tokens', 'held_back')).toBe(2);
  });
});

describe.skipIf(isRedisMissing)('routes', () => {
  const routeTo = (symbol: string) => json({ tokens: [tokenRow('degen', '0x9', { symbol })] });
  const ask = ({ query }: TestGateway) =>
    query(`{ tokens(srcChainKey: "${CHAIN}", srcToken: "0x1") { symbol } }`);
  const answered = (...symbols: string[]) => ({ data: { tokens: symbols.map((symbol) => ({ symbol })) } });
  async function withRoutes(routes: Answer, config: { destinationsFreshMs?: number } = {}) {
    const sharing = await startPeers(3, { config });
    for (const gateway of sharing.gateways)
      await expect.poll(() => statusOf(gateway).tokens.state).toBe('FRESH');
    sharing.upstream.plan('tokens', split(routes));
    const asked = () => sharing.upstream.seen.filter(({ url }) => url.includes('srcToken')).length;
    return { ...sharing, asked };
  }

  it('that several ask for at once are one request', async () => {
    const { gateways, asked } = await withRoutes(late(300, routeTo('one')));
    expect(await Promise.all(gateways.map(ask))).toEqual(gateways.map(() => answered('one')));
    expect(asked()).toBe(1);
  });

  it('that one has had are those of all, and no longer fresh there than here', async () => {
    const { upstream, gateways, asked } = await withRoutes(routeTo('one'), { destinationsFreshMs: 3000 });
    const [one, other] = gateways;
    if (!one || !other) throw new Error('Expected gateways');
    await ask(one);
    const askedAt = performance.now();
    upstream.plan('tokens', split(routeTo('two')));
    await sleep(1500);
    expect(await ask(other)).toEqual(answered('one'));
    expect(asked()).toBe(1);
    await expect.poll(() => ask(other)).toEqual(answered('two'));
    expect(performance.now() - askedAt).toBeGreaterThan(2900);
    expect(performance.now() - askedAt).toBeLessThan(4400);
    expect(asked()).toBe(2);
  });

  it('of a token that the upstream does not know are none, for all', async () => {
    const { gateways, asked } = await withRoutes(status(422));
    for (const gateway of gateways) expect(await ask(gateway)).toEqual(answered());
    expect(asked()).toBe(1);
  });

  it('that one could not have are asked for by the next', async () => {
    const { upstream, gateways, asked } = await withRoutes(status(500));
    const [one, ...others] = gateways;
    expect(one && codesOf(await ask(one))).toEqual(['UPSTREAM_STATUS']);
    upstream.plan('tokens', split(routeTo('back')));
    for (const gateway of others) expect(await ask(gateway)).toEqual(answered('back'));
    expect(asked()).toBe(2);
  });
});

describe.skipIf(isRedisMissing)('the ceiling', () => {
  const askFor = (index: number) => `{ tokens(srcChainKey: "${CHAIN}", srcToken: "0xa${index}") { symbol } }`;

  it('holds for all of them together, in any second', async () => {
    const upstream = await startMovingUpstream();
    upstream.plan('tokens', split(json({ tokens: [] }), moving(sources(15))));
    const { gateways } = await startPeers(3, { upstream, config: { upstreamRequestsPerSecond: 3 } });
    const answers = gateways.flatMap(({ query }, nth) =>
      Array.from({ length: 5 }, (_, index) => query(askFor(5 * nth + index))),
    );
    for (const answer of await Promise.all(answers)) expect(answer).toEqual({ data: { tokens: [] } });
    const at = upstream.seen.map((request) => request.at);
    expect(at).toHaveLength(17);
    for (const [index, time] of at.slice(3).entries()) expect(time - (at[index] ?? 0)).toBeGreaterThan(1000);
  });

  it('lets listings through first, whoever asks for routes', async () => {
    const upstream = await startMovingUpstream();
    upstream.plan('tokens', split(json({ tokens: [] }), moving(sources(16))));
    const { gateways } = await startPeers(4, {
      upstream,
      config: { tokensFreshMs: 1000, upstreamRequestsPerSecond: 3 },
    });
    for (const gateway of gateways) await expect.poll(() => statusOf(gateway).tokens.rows).toBe(20);
    const flood = gateways.flatMap(({ query }, nth) =>
      Array.from({ length: 4 }, (_, index) => query(askFor(4 * nth + index))),
    );
    await Promise.all(flood);
    const asked = upstream.seen.map(({ url }) => url.endsWith('/tokens'));
    // Sixteen routes take six seconds and more, in each of which a listing is due.
    expect(asked.filter(Boolean).length).toBeGreaterThanOrEqual(4);
  });

  it('is none for as long as the upstream has told one of them to wait, and no client waits for that', async () => {
    const upstream = await startMovingUpstream();
    upstream.plan('tokens', moving(sources(2)));
    const { gateways } = await startPeers(2, { upstream });
    for (const gateway of gateways) await expect.poll(() => statusOf(gateway).tokens.rows).toBe(6);
    upstream.plan('tokens', status(429, { 'retry-after': '60' }));
    const asked = upstream.count();
    for (const [index, { query }] of gateways.entries()) {
      const askedAt = performance.now();
      expect(codesOf(await query(askFor(index)))).toEqual(['UPSTREAM_RATE_LIMITED']);
      expect(performance.now() - askedAt).toBeLessThan(3000);
    }
    expect(upstream.count() - asked).toBe(1);
  });
});

describe.skipIf(isRedisMissing)('the lease of a refresh', () => {
  async function withLease(...expiry: readonly string[]) {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const key = `${prefixOf(upstream.url)}tokens:lease`;
    await redis.client.call('SET', key, 'whoever', ...expiry);
    const startedAt = performance.now();
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    return performance.now() - startedAt;
  }

  it('of one that has died delays the others until it expires, and no longer', async () => {
    const tookMs = await withLease('PX', '5000');
    expect(tookMs).toBeGreaterThan(4500);
    expect(tookMs).toBeLessThan(6500);
  });

  it('delays nobody where it would never expire', async () => {
    expect(await withLease()).toBeLessThan(2000);
  });

  it('is renewed for as long as it takes', async () => {
    const upstream = await startMovingUpstream();
    upstream.plan('tokens', late(6500, moving()));
    const { gateways } = await startPeers(2, { upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
  });
});
