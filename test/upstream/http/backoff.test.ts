import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { stopClock } from '../../support/clock.js';
import { type Answer, first, json, reset, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { codesOf, createTestGateway, type TestGatewayOptions } from '../../support/test-gateway.js';

const addressOf = (index: number) => `0x${(index + 100).toString(16)}`;
const LISTED = Array.from({ length: 500 }, (_, index) => tokenRow('a', addressOf(index)));
const GOOD = json({ tokens: LISTED });
/** The time for which an open breaker lets nothing through. */
const OPEN_MS = 2000;
/** The longest time for which a pair whose routes have failed is not asked for again. */
const LONGEST_PAIR_PAUSE_MS = 60_000;

/** A gateway that has its listings for a while, and is asked for routes. */
async function serve(config: TestGatewayOptions['config'] = {}) {
  const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: LISTED });
  const gateway = await createTestGateway({
    upstream,
    config: { tokensFreshMs: 60_000, upstreamRetries: 0, ...config },
    firstPauseMs: 10,
  });
  await gateway.query('{ chains { chainKey } tokens { symbol } }');
  let requested = 0;
  const codeOfPair = async (index: number) =>
    codesOf(
      await gateway.query(`{ tokens(srcChainKey: "a", srcToken: "${addressOf(index)}") { symbol } }`),
    )[0];
  /** The code of the answer to a request for routes that was not asked before. */
  const routeCode = () => codeOfPair(requested++);
  return {
    ...gateway,
    codeOfPair,
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
    /** The states of the breakers that listings and routes open. */
    async breakers() {
      const { text } = await gateway.metrics.expose();
      return {
        listings: /^gateway_upstream_breaker_state\{upstream="v1",state="([\w-]+)"\} 1$/m.exec(text)?.[1],
        routes:
          /^gateway_upstream_route_breaker_state\{upstream="v1",tokens="listed",state="([\w-]+)"\} 1$/m.exec(
            text,
          )?.[1],
      };
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
    stopClock();
    const { upstream, routeCodes, from, breakers } = await serve();
    upstream.plan('tokens', answer);
    const asked = from();
    expect(new Set(await routeCodes(20))).toEqual(new Set([code]));
    expect(asked()).toBe(5);
    expect(await breakers()).toEqual({ listings: 'closed', routes: 'open' });
  });

  it('lets one request through each two seconds, and all of them once one is answered', async () => {
    const clock = stopClock();
    const { upstream, routeCode, routeCodes, from, breakers, logged } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    const asked = from();
    for (let probes = 1; probes <= 2; probes++) {
      clock.advance(OPEN_MS - 1);
      expect(await routeCodes(3)).not.toContain(undefined);
      expect(asked()).toBe(probes - 1);
      clock.advance(1);
      expect(await routeCodes(10)).not.toContain(undefined);
      expect(asked()).toBe(probes);
    }
    upstream.plan('tokens', GOOD);
    clock.advance(OPEN_MS);
    expect(await routeCode()).toBeUndefined();
    expect(await routeCodes(10)).toEqual(Array.from({ length: 10 }));
    expect(await breakers()).toEqual({ listings: 'closed', routes: 'closed' });
    const told = logged.filter(({ level, breaker }) => breaker !== undefined && Number(level) >= 30);
    expect(told.map((line) => line.breaker)).toEqual(['open', 'closed']);
  });

  it('lets nobody after the one that is tried, so that what waits does not leave all at once', async () => {
    const clock = stopClock();
    const { upstream, routeCode, routeCodes, from, breakers } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    let release = () => {};
    upstream.plan('tokens', (...asked) => {
      release = () => GOOD(...asked);
    });
    const asked = from();
    clock.advance(OPEN_MS);
    const tried = routeCode();
    await expect.poll(asked, { interval: 5 }).toBe(1);
    const codes = await Promise.all(Array.from({ length: 30 }, routeCode));
    expect(codes).toEqual(codes.map(() => 'UPSTREAM_STATUS'));
    expect(asked()).toBe(1);
    expect(await breakers()).toEqual({ listings: 'closed', routes: 'half-open' });
    release();
    expect(await tried).toBeUndefined();
  });

  it('lets one through in its time, though the clock was set back meanwhile', async () => {
    const monotonic = stopClock();
    const { upstream, routeCode, routeCodes, breakers } = await serve();
    upstream.plan('tokens', status(500));
    await routeCodes(5);
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 7_200_000);
    onTestFinished(() => clock.mockRestore());
    upstream.plan('tokens', GOOD);
    monotonic.advance(OPEN_MS);
    expect(await routeCode()).toBeUndefined();
    expect(await breakers()).toEqual({ listings: 'closed', routes: 'closed' });
  });

  it.each([400, 404, 409])('is not opened by HTTP %i, which is about one request', async (code) => {
    const { upstream, routeCodes, from } = await serve();
    upstream.plan('tokens', status(code));
    const asked = from();
    await routeCodes(8);
    expect(asked()).toBe(8);
  });

  it('opened by listings stops routes, too, with its code', async () => {
    // So that no probe of the listing is sent before the routes are asked for.
    const clock = stopClock();
    const { upstream, routeCodes, breakers } = await serve({ chainsFreshMs: 50 });
    upstream.plan('chains', status(500));
    await expect.poll(async () => (await breakers()).listings).toBe('open');
    const asked = upstream.count('tokens');
    expect(await routeCodes(5)).toEqual(Array.from({ length: 5 }, () => 'UPSTREAM_STATUS'));
    expect(upstream.count('tokens')).toBe(asked);
    expect((await breakers()).routes).toBe('closed');
    upstream.plan('chains', json({ chains: [chainRow('a')] }));
    clock.advance(OPEN_MS);
    await expect.poll(async () => (await breakers()).listings).toBe('closed');
    expect(await routeCodes(2)).toEqual([undefined, undefined]);
  });
});

describe('routes that fail', () => {
  it.each([500, 403])(
    'with HTTP %i all the time do not keep the listings from being refreshed',
    async (code) => {
      // The time of the routes' open breaker never ends.
      stopClock();
      const { upstream, routeCode, routeCodes, breakers, snapshots } = await serve({ chainsFreshMs: 100 });
      upstream.plan('tokens', status(code));
      await routeCodes(6);
      expect(await breakers()).toEqual({ listings: 'closed', routes: 'open' });
      const openSince = Date.now();
      const refreshed = upstream.count('chains');
      while (upstream.count('chains') < refreshed + 5) {
        await routeCode();
        await sleep(5);
      }
      expect(await breakers()).toEqual({ listings: 'closed', routes: 'open' });
      await expect.poll(() => snapshots.status(Date.now())[0].takenAt).toBeGreaterThan(openSince);
    },
  );

  it('for one pair alone do not stop the routes from others, however often it is asked', async () => {
    const clock = stopClock();
    const { upstream, codeOfPair, breakers } = await serve();
    const bad = addressOf(400);
    upstream.plan('tokens', (response, request, nth) =>
      (request.url?.includes(bad) ? status(500) : GOOD)(response, request, nth),
    );
    for (let pauses = 0; pauses < 7; pauses++) {
      // A first failure is tried again at once.
      for (let asked = 0; asked < 15; asked++) expect(await codeOfPair(400)).toBe('UPSTREAM_STATUS');
      expect(upstream.seen.filter(({ url }) => url.includes(bad))).toHaveLength(2 + pauses);
      clock.advance(LONGEST_PAIR_PAUSE_MS);
    }
    expect(await breakers()).toEqual({ listings: 'closed', routes: 'closed' });
    expect(await codeOfPair(1)).toBeUndefined();
  });
});

describe('Retry-After', () => {
  it('to a route holds for all routes, is waited for where it is short, and stops no listing', async () => {
    const { upstream, routeCodes, routeCode } = await serve({ chainsFreshMs: 50 });
    // Long enough for some refreshes on a busy machine.
    upstream.plan('tokens', first(2, status(429, { 'retry-after': '5' }), GOOD));
    expect(await routeCodes(1)).toEqual(['UPSTREAM_RATE_LIMITED']);
    expect(await routeCode()).toBeUndefined();
    const routes = upstream.seen.filter(({ url }) => url.includes('srcToken')).map(({ at }) => at);
    expect(routes).toHaveLength(2);
    const [refusedAt = 0, answeredAt = 0] = routes;
    expect(answeredAt - refusedAt).toBeGreaterThanOrEqual(5000);
    const meanwhile = upstream.seen.filter(
      ({ at, path }) => path === 'chains' && at > refusedAt && at < answeredAt,
    );
    expect(meanwhile.length).toBeGreaterThan(2);
  });

  it('to a listing holds for every request of the process', async () => {
    const { upstream, routeCode, snapshots } = await serve();
    upstream.plan('chains', first(2, status(429, { 'retry-after': '2' }), json({ chains: [chainRow('a')] })));
    snapshots.refreshNow();
    await expect.poll(() => snapshots.status(Date.now())[0].lastFailure?.code).toBe('UPSTREAM_RATE_LIMITED');
    const [, refused] = upstream.seen.filter(({ path }) => path === 'chains');
    expect(await routeCode()).toBeUndefined();
    const routes = upstream.seen.filter(({ url }) => url.includes('srcToken'));
    expect(routes).toHaveLength(1);
    for (const { at } of routes) expect(at - (refused?.at ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  it('that is long refuses all requests for routes at once, with what the upstream said', async () => {
    const { upstream, routeCodes, from } = await serve();
    upstream.plan('tokens', status(503, { 'retry-after': '600' }));
    const asked = from();
    expect(await routeCodes(10)).toEqual(Array.from({ length: 10 }, () => 'UPSTREAM_STATUS'));
    expect(asked()).toBe(1);
  });

  it('to one pair stops the routes from others for half a minute at most, to two for as long as it says', async () => {
    const { upstream, codeOfPair } = await serve();
    const isOdd = (url = '') => [400, 401].some((index) => url.includes(addressOf(index)));
    upstream.plan('tokens', (response, request, nth) =>
      (isOdd(request.url) ? status(429, { 'retry-after': '3600' }) : GOOD)(response, request, nth),
    );
    const clock = stopClock();
    expect(await codeOfPair(400)).toBe('UPSTREAM_RATE_LIMITED');
    expect(await codeOfPair(1)).toBe('UPSTREAM_RATE_LIMITED');
    clock.advance(31_000);
    expect(await codeOfPair(1)).toBeUndefined();
    // That pair itself is left alone for as long as it says.
    const asked = upstream.count('tokens');
    expect(await codeOfPair(400)).toBe('UPSTREAM_RATE_LIMITED');
    expect(upstream.count('tokens')).toBe(asked);
    expect(await codeOfPair(401)).toBe('UPSTREAM_RATE_LIMITED');
    clock.advance(31_000);
    clock.advance(3_638_000);
    expect(await codeOfPair(400)).toBe('UPSTREAM_RATE_LIMITED');
    clock.advance(32_000);
    expect(await codeOfPair(401)).toBe('UPSTREAM_RATE_LIMITED');
    clock.advance(68_000);
    expect(await codeOfPair(2)).toBe('UPSTREAM_RATE_LIMITED');
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
    for (let index = 0; index < 5; index++) snapshots.refreshNow();
    const routes = await query('{ tokens(srcChainKey: "a", srcToken: "0x64") { symbol } }');
    expect(codesOf(routes)).toEqual(['UPSTREAM_GONE']);
    expect(upstream.count('tokens')).toBe(asked);
    expect(await query('{ token(chainKey: "a", address: "0x64") { symbol } }')).toEqual({
      data: { token: { symbol: 'USDC' } },
    });
  });

  it('is asked again when the hour is over', async () => {
    const { upstream, snapshots } = await serve();
    upstream.plan('tokens', status(410));
    snapshots.refreshNow();
    await expect.poll(() => snapshots.status(Date.now())[1].lastFailure?.code).toBe('UPSTREAM_GONE');
    upstream.plan('tokens', GOOD);
    const asked = upstream.count('tokens');
    const clock = stopClock();
    clock.advance(3_590_000);
    snapshots.refreshNow();
    await sleep(100);
    expect(upstream.count('tokens')).toBe(asked);
    clock.advance(20_000);
    snapshots.refreshNow();
    await expect.poll(() => upstream.count('tokens')).toBe(asked + 1);
  });

  it('for one request is there for all others', async () => {
    const { upstream, routeCodes, snapshots, from } = await serve();
    upstream.plan('tokens', status(410));
    const asked = from();
    expect(await routeCodes(8)).toEqual(Array.from({ length: 8 }, () => 'UPSTREAM_GONE'));
    expect(asked()).toBe(8);
    upstream.plan('tokens', GOOD);
    snapshots.refreshNow();
    await expect.poll(() => upstream.count('tokens')).toBe(10);
    expect(snapshots.status(Date.now())[1].lastFailure).toBeNull();
    expect(await routeCodes(2)).toEqual([undefined, undefined]);
  });
});
