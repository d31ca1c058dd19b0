import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import {
  type Answer,
  first,
  json,
  late,
  reset,
  startFakeUpstream,
  status,
} from '../support/fake-upstream.js';
import { codesOf, createTestGateway, type TestGatewayOptions } from '../support/test-gateway.js';

const GOOD = json({ tokens: [tokenRow('a', '0x1')] });
/** The time for which an open breaker lets nothing through. */
const OPEN_MS = 2000;

/** A gateway that has its listings for a while, and is asked for routes. */
async function serve(config: TestGatewayOptions['config'] = {}) {
  const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] });
  const gateway = await createTestGateway({
    upstream,
    config: { tokensFreshMs: 60_000, upstreamRetries: 0, ...config },
    firstPauseMs: 10,
  });
  await gateway.query('{ chains { chainKey } tokens { symbol } }');
  let questions = 0;
  /** The code of the answer to a question for routes that was not asked before. */
  const routeCode = async () => {
    const srcToken = `0x${(++questions + 100).toString(16)}`;
    return codesOf(
      await gateway.query(`{ tokens(srcChainKey: "a", srcToken: "${srcToken}") { symbol } }`),
    )[0];
  };
  return {
    ...gateway,
    routeCode,
    async routeCodes(count: number) {
      const codes: (string | undefined)[] = [];
      while (codes.length < count) codes.push(await routeCode());
      return codes;
    },
    /** How many requests came since the call. */
    from() {
      const before = upstream.count();
      return () => upstream.count() - before;
    },
    async breaker() {
      const { text } = await gateway.metrics.expose();
      return /^upstream_breaker_state\{upstream="v1",state="([\w-]+)"\} 1$/m.exec(text)?.[1];
    },
  };
}

describe('the breaker', () => {
  it.each<[string, Answer, string]>([
    ['HTTP 500', status(500), 'UPSTREAM_STATUS'],
    ['HTTP 403', status(403), 'UPSTREAM_STATUS'],
    ['HTTP 429', status(429), 'UPSTREAM_RATE_LIMITED'],
    ['a broken connection', reset, 'UPSTREAM_UNREACHABLE'],
    ['rubbish', (response) => response.end('<html>'), 'UPSTREAM_MALFORMED'],
  ])('opens at the fifth %s in a row, and gives its code from then on', async (_name, answer, code) => {
    const { upstream, routeCodes, from, breaker } = await serve();
    upstream.plan('tokens', answer);
    const asked = from();
    expect(new Set(await routeCodes(20))).toEqual(new Set([code]));
    expect(asked()).toBe(5);
    expect(await breaker()).toBe('open');
  });

  it('lets one question through each two seconds, and all of them once one is answered', async () => {
    const { upstream, routeCode, routeCodes, from, breaker, logged } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    const openedAt = performance.now();
    const asked = from();
    await expect
      .poll(
        async () => {
          await routeCode();
          return asked();
        },
        { interval: 20 },
      )
      .toBe(1);
    expect(performance.now() - openedAt).toBeGreaterThanOrEqual(OPEN_MS - 150);
    expect(await routeCodes(10)).not.toContain(undefined);
    expect(asked()).toBe(1);
    upstream.plan('tokens', GOOD);
    await expect.poll(routeCode).toBeUndefined();
    expect(await routeCodes(10)).toEqual(Array.from({ length: 10 }));
    expect(await breaker()).toBe('closed');
    const told = logged.filter(({ level, breaker }) => breaker !== undefined && Number(level) >= 30);
    expect(told.map((line) => line.breaker)).toEqual(['open', 'closed']);
  });

  it('lets nobody after the one that is tried, so that what waits does not leave all at once', async () => {
    const { upstream, routeCode, routeCodes, from } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    upstream.plan('tokens', late(500, GOOD));
    const asked = from();
    let tried: Promise<string | undefined> | undefined;
    await expect
      .poll(
        () => {
          tried = routeCode();
          return asked();
        },
        { interval: 20 },
      )
      .toBe(1);
    const codes = await Promise.all(Array.from({ length: 30 }, routeCode));
    expect(codes).toEqual(codes.map(() => 'UPSTREAM_STATUS'));
    expect(asked()).toBe(1);
    await tried;
  });

  it('lets one through in its time, though the clock was set back meanwhile', async () => {
    const { upstream, routeCode, routeCodes, breaker } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 7_200_000);
    onTestFinished(() => clock.mockRestore());
    upstream.plan('tokens', GOOD);
    await expect.poll(routeCode).toBeUndefined();
    expect(await breaker()).toBe('closed');
  });

  it.each([400, 404, 409])('is not opened by HTTP %i, which is about one question', async (code) => {
    const { upstream, routeCodes, from } = await serve();
    upstream.plan('tokens', status(code));
    const asked = from();
    await routeCodes(8);
    expect(asked()).toBe(8);
  });

  it('opened by routes puts the refreshes off for no more than its time', async () => {
    const { upstream, routeCodes, snapshots } = await serve({ chainsFreshMs: 200 });
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    const openedAt = Date.now();
    await expect
      .poll(() => snapshots.status(Date.now())[0].takenAt)
      .toBeGreaterThan(openedAt + OPEN_MS - 300);
    expect(Date.now() - openedAt).toBeLessThan(OPEN_MS + 2000);
  });
});

describe('routes that fail', () => {
  it.each([500, 403])(
    'with HTTP %i all the time do not keep the listings from being refreshed',
    async (code) => {
      const { upstream, routeCode, snapshots } = await serve({ chainsFreshMs: 400 });
      upstream.plan('tokens', status(code));
      let oldest = 0;
      const until = performance.now() + 7_000;
      while (performance.now() < until) {
        await routeCode();
        oldest = Math.max(oldest, snapshots.status(Date.now())[0].ageMs ?? 0);
        await sleep(20);
      }
      // Its freshness, the time of an open breaker, and a try of a route that may be under way.
      expect(oldest).toBeLessThan(400 + OPEN_MS + 1500);
      expect(upstream.count('chains')).toBeGreaterThan(2);
    },
  );
});

describe('Retry-After', () => {
  it('holds for every question of the process, and is waited for where it is short', async () => {
    const { upstream, routeCodes, routeCode, snapshots } = await serve({ chainsFreshMs: 50 });
    upstream.plan('tokens', first(2, status(429, { 'retry-after': '2' }), GOOD));
    expect(await routeCodes(1)).toEqual(['UPSTREAM_RATE_LIMITED']);
    const pausedAt = performance.now();
    const seen = upstream.count();
    expect(await routeCode()).toBeUndefined();
    const after = upstream.seen.slice(seen);
    expect(after.map(({ path }) => path)).toEqual(expect.arrayContaining(['chains', 'tokens']));
    // A chain listing that was under way may have come just after.
    for (const { at } of after.slice(1)) expect(at - pausedAt).toBeGreaterThanOrEqual(1900);
    await expect.poll(() => snapshots.status(Date.now())[0].state).toBe('FRESH');
  });

  it('that is long refuses all questions at once, with what the upstream said', async () => {
    const { upstream, routeCodes, from } = await serve();
    upstream.plan('tokens', status(503, { 'retry-after': '600' }));
    const asked = from();
    expect(await routeCodes(10)).toEqual(Array.from({ length: 10 }, () => 'UPSTREAM_STATUS'));
    expect(asked()).toBe(1);
  });
});

describe('an upstream that is gone', () => {
  it('is asked once in an hour, and what is held is served', async () => {
    const { upstream, snapshots, query, logged } = await serve({ tokensFreshMs: 30 });
    upstream.plan('tokens', status(410));
    await expect
      .poll(() => snapshots.status(Date.now())[1].lastFailure?.code, { interval: 10 })
      .toBe('UPSTREAM_GONE');
    const asked = upstream.count('tokens');
    const line = logged.find(({ msg }) => msg.includes('could not be refreshed'));
    expect(line?.retryInMs).toBe(3_600_000);
    for (let index = 0; index < 5; index++) snapshots.hurry();
    const routes = await query('{ tokens(srcChainKey: "a", srcToken: "0x9") { symbol } }');
    expect(codesOf(routes)).toEqual(['UPSTREAM_GONE']);
    expect(upstream.count('tokens')).toBe(asked);
    expect(await query('{ tokens { symbol } }')).toEqual({ data: { tokens: [{ symbol: 'USDC' }] } });
  });

  it('is asked again when the hour is over', async () => {
    const { upstream, snapshots } = await serve();
    upstream.plan('tokens', status(410));
    snapshots.hurry();
    await expect.poll(() => snapshots.status(Date.now())[1].lastFailure?.code).toBe('UPSTREAM_GONE');
    upstream.plan('tokens', GOOD);
    const asked = upstream.count('tokens');
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now');
    onTestFinished(() => clock.mockRestore());
    clock.mockImplementation(() => now() + 3_590_000);
    snapshots.hurry();
    await sleep(100);
    expect(upstream.count('tokens')).toBe(asked);
    clock.mockImplementation(() => now() + 3_610_000);
    snapshots.hurry();
    await expect.poll(() => upstream.count('tokens')).toBe(asked + 1);
  });

  it('for one question is there for all others', async () => {
    const { upstream, routeCodes, snapshots, from } = await serve();
    upstream.plan('tokens', status(410));
    const asked = from();
    expect(await routeCodes(8)).toEqual(Array.from({ length: 8 }, () => 'UPSTREAM_GONE'));
    expect(asked()).toBe(8);
    upstream.plan('tokens', GOOD);
    snapshots.hurry();
    await expect.poll(() => upstream.count('tokens')).toBe(10);
    expect(snapshots.status(Date.now())[1].lastFailure).toBeNull();
    expect(await routeCodes(2)).toEqual([undefined, undefined]);
  });
});
