/** Gateways with one Redis share snapshots, failures, routes and limits, and cost the upstream as much as one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSharedRateLimiter } from '../../src/storage/redis/limits.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { HOUR, stopClock, stopClocks, stopDate, until } from '../support/clock.js';
import {
  type Answer,
  first,
  gapsBetween,
  json,
  late,
  mostInASecond,
  startFakeSuccessor,
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
  startMovingUpstream,
  startPeers,
  symbolsOf,
} from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { sourcesOf, startSweeping, startSweptUpstream, untilComplete } from '../support/sweep.js';
import { codesOf, type TestGateway } from '../support/test-gateway.js';
import { UNGUARDED } from '../support/test-server.js';

const versionOf = (gateway: TestGateway) => gateway.listings().tokens.version;
const failureOf = (gateway: TestGateway) => gateway.listings().tokens.lastFailure;

describe.skipIf(isRedisMissing)('gateways that share', () => {
  it('gateways that share cost the upstream as much as one, and serve the same rows', async () => {
    const { upstream, gateways } = await startPeers(3, { config: { tokensFreshMs: 300 } });
    await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(10);
    // After a snapshot from a peer, the next refresh is due in a hundred milliseconds at the earliest,
    // however slow the machine is. Three gateways that do not share would leave shorter gaps.
    for (const gap of gapsBetween(upstream)) expect(gap).toBeGreaterThan(99);
    expect(upstream.count('chains')).toBe(1);
    await expect.poll(() => new Set(gateways.map(versionOf)).size).toBe(1);
    await expect.poll(() => refreshes(gateways, 'tokens', 'upstream') - upstream.count('tokens')).toBe(0);
    await expect.poll(() => refreshes(gateways, 'tokens', 'peer')).toBeGreaterThan(10);
    expect(refreshes(gateways, 'chains', 'peer')).toBe(2);
  });

  it('a refresh that is due while a listing of a peer is indexed does not cost the upstream a request', async () => {
    const upstream = await startFakeUpstream({ tokens: moving(sources(1000)) });
    const config = { tokensFreshMs: 3_600_000, chainsFreshMs: 7_200_000 };
    const { gateways, join } = await startPeers(1, { upstream, config });
    const [active] = gateways as [TestGateway];
    await expect.poll(() => active.listings().tokens.state).toBe('FRESH');
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const other = await join();
    await expect.poll(() => other.listings().tokens.state).toBe('FRESH');
    const [refreshIfDue] = timers.mock.calls.findLast(([, ms = 0]) => ms > 3e6 && ms <= 3.6e6) ?? [];
    expect(refreshIfDue).toBeTypeOf('function');
    timers.mockRestore();
    // How much later than the active gateway the other one served the last listing, in milliseconds.
    let servedAfterMs = 0;
    for (const share of [0, 0.4, 0.6, 0.8]) {
      const { takenAt } = other.listings().tokens;
      active.snapshots.refreshNow();
      await expect.poll(() => active.listings().tokens.takenAt, { interval: 1 }).not.toBe(takenAt);
      const at = performance.now();
      await sleep(share * servedAfterMs);
      if (other.listings().tokens.takenAt === takenAt) refreshIfDue?.();
      await expect.poll(() => versionOf(other) === versionOf(active), { interval: 1 }).toBe(true);
      servedAfterMs = performance.now() - at;
    }
    await expect.poll(() => refreshes([active], 'tokens', 'upstream')).toBe(5);
    expect(upstream.count('tokens')).toBe(5);
  });

  it.each<[string, Answer]>([
    ['all of its answers', json({ tokens: [tokenRow(CHAIN, '0x1')] }, { age: '7200' })],
    [
      'all answers but its first',
      first(1, moving(), json({ tokens: [tokenRow(CHAIN, '0x1')] }, { age: '7200' })),
    ],
  ])('gateways that share cost the upstream no more if %s are two hours old', async (_which, answer) => {
    const upstream = await startFakeUpstream({ tokens: answer });
    const { gateways } = await startPeers(3, { upstream, config: { tokensFreshMs: 600 } });
    await expect.poll(() => upstream.count('tokens'), { timeout: 20_000 }).toBeGreaterThan(5);
    for (const gap of gapsBetween(upstream)) expect(gap).toBeGreaterThan(400);
    await expect.poll(() => new Set(gateways.map(versionOf)).size).toBe(1);
    expect(gateways.map((gateway) => gateway.listings().tokens.lastFailure)).toEqual([null, null, null]);
  });

  it('a gateway that missed an announcement serves the new snapshot at the latest when its own refresh is due', async () => {
    const { redis, gateways, join } = await startPeers(1, { config: { tokensFreshMs: 250 } });
    await expect.poll(() => refreshes(gateways, 'tokens', 'upstream')).toBeGreaterThan(0);
    const deaf = await join({ config: { tokensFreshMs: 2000 } });
    await expect.poll(() => deaf.listings().tokens.state).toBe('FRESH');
    await redis.client.acl('SETUSER', 'default', '-subscribe');
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const begun = [refreshes([deaf], 'tokens', 'peer'), refreshes(gateways, 'tokens', 'upstream')] as const;
    await expect.poll(() => refreshes([deaf], 'tokens', 'peer') - begun[0]).toBeGreaterThan(2);
    expect(refreshes(gateways, 'tokens', 'upstream') - begun[1]).toBeGreaterThan(4);
    expect(refreshes([deaf], 'tokens', 'upstream')).toBe(0);
  });

  it('a gateway serves the snapshots that it missed as soon as it gets announcements again', async () => {
    const { redis, gateways, key } = await startPeers(2, { config: { tokensFreshMs: 600_000 } });
    const [active, deaf] = gateways as [TestGateway, TestGateway];
    await expect.poll(() => gateways.every((each) => each.listings().tokens.state === 'FRESH')).toBe(true);
    await redis.client.acl('SETUSER', 'default', '-subscribe');
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const refused = async () =>
      String(await redis.client.call('CLIENT', 'LIST'))
        .split('\n')
        // Gateways ping every ten seconds.
        .filter((client) => / cmd=(subscribe|ping) /.test(client));
    await expect.poll(async () => (await refused()).length).toBe(2);
    const before = deaf.listings().tokens.takenAt;
    active.snapshots.refreshNow();
    await expect
      .poll(async () => Number(await redis.client.hget(key('tokens:snapshot'), 'takenAt')))
      .toBeGreaterThan(before ?? Number.NaN);
    expect(deaf.listings().tokens.takenAt).toBe(before);
    await redis.client.acl('SETUSER', 'default', '+subscribe');
    for (const client of await refused())
      await redis.client.call('CLIENT', 'KILL', 'ID', client.match(/^id=(\d+)/)?.[1] ?? '');
    await expect.poll(() => deaf.listings().tokens.takenAt).toBe(active.listings().tokens.takenAt);
  });

  it('gateways that share serve both listings of the successor, also if v1 still answers one of them during the switch', async () => {
    const successor = await startFakeSuccessor({
      chains: [successorChain(chainRow(CHAIN))],
      tokens: [successorToken(tokenRow(CHAIN, '0x1'))],
    });
    onTestFinished(successor.close);
    const { upstream, gateways, join } = await startPeers(1, {
      config: { ...UNGUARDED, upstreamProfile: 'auto', upstreamSuccessorUrl: successor.url },
    });
    const [late] = gateways as [TestGateway];
    await expect.poll(() => late.listings().tokens.state).toBe('FRESH');
    const eager = await join({ config: { tokensFreshMs: 200 } });
    await expect.poll(() => refreshes([eager], 'tokens', 'upstream')).toBeGreaterThan(0);
    upstream.plan('chains', async () => {
      await expect.poll(() => eager.listings().tokens.source).toBe('value-transfer');
      return json({ chains: [chainRow(CHAIN)] });
    });
    const { takenAt } = late.listings().tokens;
    late.snapshots.refreshNow();
    await expect.poll(() => late.listings().tokens.takenAt !== takenAt && upstream.count('chains')).toBe(2);
    upstream.plan('tokens', status(410));
    for (const gateway of [late, eager]) {
      const sourcesOfBoth = () => [gateway.listings().chains.source, gateway.listings().tokens.source];
      await expect.poll(sourcesOfBoth).toEqual(['value-transfer', 'value-transfer']);
    }
    expect(upstream.count('chains')).toBe(2);
  });

  it('a gateway whose clock was hours ahead shares again as soon as the clock is corrected', async () => {
    const date = stopDate();
    date.advance(6 * HOUR);
    const { upstream, gateways, join } = await startPeers(1, { config: { tokensFreshMs: 600_000 } });
    const [corrected] = gateways as [TestGateway];
    await expect.poll(() => refreshes([corrected], 'tokens', 'upstream')).toBe(1);
    date.setBack(6 * HOUR);
    await join();
    await expect.poll(() => refreshes([corrected], 'tokens', 'peer')).toBe(1);
    expect(upstream.count('tokens')).toBe(2);
  });

  it('gateways do not share with gateways of another upstream or another format', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const other = await startFakeUpstream({ tokens: [tokenRow('other', '0x1', { symbol: 'OTHER' })] });
    const foreign = ['tokens:snapshot', 'tokens:lease', 'places'].map(
      (name) => prefixOf(upstream.url, 2) + name,
    );
    await Promise.all(foreign.map((key) => redis.client.set(key, 'of another format')));
    const ours = await startPeers(2, { redis, upstream, config: { tokensFreshMs: 100 } });
    const theirs = await startPeers(2, { redis, upstream: other, config: { tokensFreshMs: 100 } });
    await expect.poll(() => refreshes(ours.gateways, 'tokens', 'peer')).toBeGreaterThan(3);
    await expect.poll(() => refreshes(theirs.gateways, 'tokens', 'peer')).toBeGreaterThan(3);
    for (const gateway of ours.gateways) expect(await symbolsOf(gateway)).toEqual(SYMBOLS);
    for (const gateway of theirs.gateways) expect(await symbolsOf(gateway)).toEqual(['OTHER']);
    expect(await redis.client.mget(foreign)).toEqual(foreign.map(() => 'of another format'));
  });

  it('gateways read a long listing as it was written, and write it again only if Redis has lost it', async () => {
    const tokens = Array.from({ length: 4_000 }, (_, index) =>
      tokenRow('a', `0x${index.toString(16)}`, { name: `Token ${index} ☃` }),
    );
    const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens });
    const config = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
    const { redis, gateways, key } = await startPeers(3, { upstream, config });
    await expect.poll(() => gateways.every((each) => each.listings().tokens.rows === 4_000)).toBe(true);
    expect(upstream.count('tokens')).toBe(1);
    const names = tokens.map(({ name }) => ({ name }));
    for (const { query } of gateways)
      expect(await query('{ tokens { name } }')).toEqual({ data: { tokens: names } });
    const written = async () =>
      Number(/cmdstat_hset:calls=(\d+)/.exec(await redis.client.info('commandstats'))?.[1] ?? 0);
    const reconnect = () => redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const before = await written();
    await reconnect();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await written()).toBe(before);
    await redis.client.del(key('tokens:snapshot'));
    await reconnect();
    await expect.poll(() => redis.client.exists(key('tokens:snapshot'))).toBe(1);
  });
});

describe.skipIf(isRedisMissing)('failures', () => {
  it('failures of one gateway count for all, so that all together try as often as one', async () => {
    const upstream = await startFakeUpstream({ tokens: status(500) });
    const { gateways } = await startPeers(3, { upstream, firstPauseMs: 300 });
    await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(3);
    // The length of a pause is random, between half of its value and all of it. Each failure doubles the
    // value for all gateways. Three gateways that counted only their own failures would try more often.
    for (const [nth, shortest] of [150, 300, 600].entries())
      expect(gapsBetween(upstream)[nth]).toBeGreaterThan(shortest - 2);
    await expect.poll(() => new Set(gateways.map((gateway) => failureOf(gateway)?.at)).size).toBe(1);
    for (const gateway of gateways) expect(failureOf(gateway)?.code).toBe('UPSTREAM_STATUS');
  });

  it('an upstream that is gone gets one attempt for each listing in a minute from all gateways, and one more on request', async () => {
    const upstream = await startFakeUpstream({ chains: status(410), tokens: status(410) });
    const { redis, gateways, join, key } = await startPeers(3, { upstream, firstPauseMs: 10 });
    const gone = { lastFailure: { code: 'UPSTREAM_GONE' } };
    // The one that joins can be the one that asks.
    const all = [...gateways, await join()];
    for (const gateway of all) {
      await expect.poll(() => gateway.listings()).toMatchObject({ chains: gone, tokens: gone });
      expect(codesOf(await gateway.query('{ chains { name } tokens { name } }'))).toEqual([
        'UPSTREAM_GONE',
        'UPSTREAM_GONE',
      ]);
    }
    expect([upstream.count('chains'), upstream.count('tokens')]).toEqual([1, 1]);
    const pauseMs = await redis.client.pttl(key('tokens:pause'));
    expect(pauseMs).toBeGreaterThan(30_000);
    expect(pauseMs).toBeLessThanOrEqual(60_000);
    upstream.plan('chains', json({ chains: [chainRow(CHAIN)] }));
    upstream.plan('tokens', moving());
    // A refresh on request at one gateway ends the pause, and all gateways get the answer.
    const wasTold = (gateway: TestGateway) => refreshes([gateway], 'tokens', 'UPSTREAM_GONE') > 0;
    const [told] = all.filter(wasTold) as [TestGateway];
    await all.find((gateway) => gateway !== told)?.refreshOnRequest();
    for (const gateway of all) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    expect([upstream.count('chains'), upstream.count('tokens')]).toEqual([2, 2]);
    // The gateway that got the 410 asks again, too, when its next refresh is due.
    await told.refresh();
    expect(upstream.count('tokens')).toBe(3);
  });

  it('failures end for all gateways when a request of one gateway succeeds', async () => {
    const upstream = await startFakeUpstream({ tokens: first(2, status(500), moving()) });
    const { redis, gateways, key } = await startPeers(3, { upstream, firstPauseMs: 100 });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(3);
    expect(await redis.client.exists(key('tokens:pause'), key('tokens:failure'))).toBe(0);
  });

  it('failures are counted over all gateways, also if an answer is held back', async () => {
    const { upstream, gateways } = await startPeers(3, { config: { tokensFreshMs: 250, holdBackTimes: 3 } });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    upstream.plan('tokens', json({ tokens: [tokenRow(CHAIN, '0x1', { symbol: 'ONE' })] }));
    await expect.poll(() => Promise.all(gateways.map(symbolsOf))).toEqual([['ONE'], ['ONE'], ['ONE']]);
    const taken = gateways
      .flatMap(({ logged }) => logged)
      .filter(({ msg }) => /held back is accepted/.test(msg));
    // Each gateway compares the listing with the one that it serves, and logs that it accepts the loss.
    expect(taken).toHaveLength(3);
    for (const gateway of gateways) expect(gateway.listings().tokens.isHeldBack).toBe(false);
    const heldBack = refreshes(gateways, 'tokens', 'held_back');
    expect(heldBack).toBeGreaterThanOrEqual(2);
    // On a busy machine a gateway may hold the listing back before it knows how often the others have done
    // so. Three gateways that counted alone would hold it back six times.
    expect(heldBack).toBeLessThan(6);
  });
});

describe.skipIf(isRedisMissing)('routes', () => {
  it('routes are swept once for all gateways if these start together', async () => {
    stopDate();
    const network = { 'a 0x1': ['b 0x1', 'c 0x1'], 'b 0x1': ['a 0x1'], 'c 0x2': ['b 0x1'] };
    const upstream = await startSweptUpstream(network);
    const config = { redisUrl: (await startRedis()).url, routesSweepMs: 2_000 };
    const gateways = await Promise.all([1, 2, 3].map(() => startSweeping(upstream, { config })));
    await Promise.all(gateways.map((gateway) => untilComplete(gateway)));
    for (const gateway of gateways) expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect([...upstream.asked()].sort()).toEqual(Object.keys(network));
  });

  const routeTo = (symbol: string) => json({ tokens: [tokenRow('degen', '0x9', { symbol })] });
  const ask = ({ query }: TestGateway) =>
    query(`{ tokens(srcChainKey: "${CHAIN}", srcToken: "0x1") { symbol } }`);
  const answered = (...symbols: string[]) => ({ data: { tokens: symbols.map((symbol) => ({ symbol })) } });
  /** Stops the clocks, so that a gateway waits for the request of another, however slow the machine is. */
  async function withRoutes(routes: Answer, config: { destinationsFreshMs?: number } = {}) {
    const sharing = await startPeers(3, { config: { tokensFreshMs: 600_000, ...config } });
    for (const gateway of sharing.gateways)
      await expect.poll(() => gateway.listings().tokens.state).toBe('FRESH');
    sharing.upstream.plan('routes', routes);
    const asked = () => sharing.upstream.routesAsked().length;
    return { ...sharing, asked, advance: stopClocks().advance };
  }

  it('routes that several gateways request at once cost one request', async () => {
    const { gateways, asked } = await withRoutes(late(300, routeTo('one')));
    expect(await Promise.all(gateways.map(ask))).toEqual(gateways.map(() => answered('one')));
    expect(asked()).toBe(1);
  });

  it('routes of one gateway are used by all, and expire at the same time everywhere', async () => {
    const { upstream, gateways, asked, advance } = await withRoutes(routeTo('one'), {
      destinationsFreshMs: 60_000,
    });
    const [one, other] = gateways;
    if (!one || !other) throw new Error('Expected gateways');
    await ask(one);
    upstream.plan('routes', routeTo('two'));
    advance(40_000);
    await until(async () => isDeepStrictEqual(await ask(other), answered('one')));
    advance(19_000);
    expect(await ask(other)).toEqual(answered('one'));
    expect(asked()).toBe(1);
    advance(1_001);
    // The cache of routes reads the clock once a millisecond.
    await until(async () => isDeepStrictEqual(await ask(other), answered('two')));
    expect(asked()).toBe(2);
  });

  it('routes of a token that the upstream does not know are empty for all gateways', async () => {
    const { gateways, asked } = await withRoutes(status(422));
    for (const gateway of gateways) expect(await ask(gateway)).toEqual(answered());
    expect(asked()).toBe(1);
  });

  it('routes that one gateway could not fetch are requested by the next', async () => {
    const { upstream, gateways, asked } = await withRoutes(status(500));
    const [one, ...others] = gateways;
    expect(one && codesOf(await ask(one))).toEqual(['UPSTREAM_STATUS']);
    upstream.plan('routes', routeTo('back'));
    for (const gateway of others) expect(await ask(gateway)).toEqual(answered('back'));
    expect(asked()).toBe(2);
  });
});

describe.skipIf(isRedisMissing)('the rate limit', () => {
  const askFor = (index: number) => `{ tokens(srcChainKey: "${CHAIN}", srcToken: "0xa${index}") { symbol } }`;
  async function startUpstreamWith(count: number) {
    return startFakeUpstream({ tokens: moving(sources(count)), routes: json({ tokens: [] }) });
  }

  it('the rate limit applies to all gateways together, in any second', async () => {
    const upstream = await startUpstreamWith(15);
    const config = { upstreamRequestsPerSecond: 3, tokensFreshMs: 600_000 };
    const { gateways } = await startPeers(3, { upstream, config });
    const answers = gateways.flatMap(({ query }, nth) =>
      Array.from({ length: 5 }, (_, index) => query(askFor(5 * nth + index))),
    );
    for (const answer of await Promise.all(answers)) expect(answer).toEqual({ data: { tokens: [] } });
    const { seen } = upstream;
    expect(seen).toHaveLength(17);
    // Every 1.2 s, three permits are given. On a busy machine some are used so late that they fall into one
    // second with the next three. Without a common limit, nine requests would be sent at once.
    expect(mostInASecond(seen, 300)).toBeLessThanOrEqual(6);
    expect((seen.at(-1)?.at ?? 0) - (seen[0]?.notBefore ?? 0)).toBeGreaterThan(5 * 1200 - 500);
  });

  it('the rate limit lets listings through while all gateways request many routes', async () => {
    const upstream = await startUpstreamWith(16);
    const { gateways } = await startPeers(4, {
      upstream,
      config: { tokensFreshMs: 1000, upstreamRequestsPerSecond: 3 },
    });
    for (const gateway of gateways) await expect.poll(() => gateway.listings().tokens.rows).toBe(20);
    const flood = gateways.flatMap(({ query }, nth) =>
      Array.from({ length: 4 }, (_, index) => query(askFor(4 * nth + index))),
    );
    await Promise.all(flood);
    const asked = upstream.seen.map(({ url }) => url.endsWith('/tokens'));
    // Sixteen routes take at least six seconds, and a listing is due in each second.
    expect(asked.filter(Boolean).length).toBeGreaterThanOrEqual(4);
  });

  it('the rate limit allows no requests while a Retry-After of one gateway lasts, and no client waits for its end', async () => {
    const upstream = await startUpstreamWith(2);
    const { gateways } = await startPeers(2, { upstream, config: { tokensFreshMs: 600_000 } });
    for (const gateway of gateways) await expect.poll(() => gateway.listings().tokens.rows).toBe(6);
    upstream.plan('routes', status(429, { 'retry-after': '60' }));
    const asked = upstream.count();
    for (const [index, { query }] of gateways.entries()) {
      const askedAt = performance.now();
      expect(codesOf(await query(askFor(index)))).toEqual(['UPSTREAM_RATE_LIMITED']);
      expect(performance.now() - askedAt).toBeLessThan(30_000);
    }
    expect(upstream.count() - asked).toBe(1);
  });
});

it.skipIf(isRedisMissing).each([
  ['a listing', 'a route', true],
  ['a route', 'a listing', false],
])(
  'the rate limit gives no second permit to %s while %s of another gateway waits',
  async (_one, _other, isListing) => {
    const { client } = await startRedis();
    const createLimiter = () => {
      const call = (command: string, ...args: readonly (string | number | Buffer)[]) =>
        client.callBuffer(command, ...args);
      return createSharedRateLimiter(createRateLimiter(5), 1, { call }, 'x');
    };
    const [one, other] = [createLimiter(), createLimiter()];
    expect(await one.acquire('v1', isListing)).toBe(0);
    const waitMs = await other.acquire('v1', !isListing);
    expect(waitMs).toBeGreaterThan(0);
    await sleep(waitMs + 10);
    expect(await one.acquire('v1', isListing)).toBe(50);
    expect(await other.acquire('v1', !isListing)).toBe(0);
  },
);

it('the rate limit counts a permit from the reply of Redis, however late that is, also beside permits of another service', async () => {
  const clock = stopClock();
  const replies: ((waitMs: number) => void)[] = [];
  const call = () => new Promise((resolve) => replies.push(resolve));
  const local = createRateLimiter(5);
  const limiter = createSharedRateLimiter(local, 5, { call }, 'x');
  const first = limiter.acquire('v1', false);
  clock.advance(1_700);
  const others = Array.from({ length: 4 }, () => limiter.acquire('value-transfer', false));
  for (const reply of replies) reply(0);
  expect(await Promise.all([first, ...others])).toEqual(Array(5).fill(0));
  expect(local.acquire()).toBe(1_050);
});

describe.skipIf(isRedisMissing)('the lease of a refresh', () => {
  it('the lease of a gateway that died delays the others until it expires, and no longer', async () => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const key = `${prefixOf(upstream.url)}tokens:lease`;
    const startedAt = performance.now();
    await redis.client.set(key, 'whoever', 'PX', 5_000);
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(4900);
    // After 16 s, the gateways would fetch without a lease.
    expect(tookMs).toBeLessThan(15_000);
  });

  it('the lease of a refresh is renewed while the refresh lasts', async () => {
    const upstream = await startMovingUpstream();
    upstream.plan('tokens', late(6500, moving()));
    const { gateways } = await startPeers(2, { upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
  });
});
