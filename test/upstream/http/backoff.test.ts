/** After failures the gateway pauses only the requests that it must, and for no longer than necessary. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { stopClock, stopDate, untilCachesSeeTheTime } from '../../support/clock.js';
import { type Answer, first, json, reset, stall, status } from '../../support/fake-upstream.js';
import { codesOf, createTestGateway, isAtLeast, type Settings } from '../../support/test-gateway.js';

const addressOf = (index: number) => `0x${(index + 100).toString(16)}`;
const LISTED = Array.from({ length: 500 }, (_, index) => tokenRow('a', addressOf(index)));
const GOOD = json({ tokens: LISTED });
const OPEN_MS = 2000;
const PAIR_PAUSE_MS = 5_001;

const forUrls =
  (texts: readonly string[], answer: Answer, others: Answer = GOOD): Answer =>
  (_response, { url }) =>
    texts.some((each) => url?.includes(each)) ? answer : others;
const allWith = (code: string, count: number) => Array.from({ length: count }, () => code);

/** A gateway for tests of routes. Its listings stay fresh during the test, unless `config` says otherwise. */
async function serve(config: Settings = {}) {
  const gateway = await createTestGateway({
    listings: { chains: [chainRow('a')], tokens: LISTED },
    config: { tokensFreshMs: 60_000, upstreamRetries: 0, ...config },
    firstPauseMs: 10,
    hasListings: true,
  });
  const { query, upstream } = gateway;
  let requested = 0;
  /** The code of the answer to a request for the routes from an address, or from the listed token with an index. */
  const codeOfPair = async (token: number | string) => {
    const address = typeof token === 'number' ? addressOf(token) : token;
    return codesOf(await query(`{ tokens(srcChainKey: "a", srcToken: "${address}") { symbol } }`))[0];
  };
  const routeCode = () => codeOfPair(requested++);
  const stateIn = (text: string, breaker: string) =>
    new RegExp(`^gateway_upstream_${breaker}_state\\{.*state="([\\w-]+)"\\} 1$`, 'm').exec(text)?.[1];
  return {
    ...gateway,
    codeOfPair,
    routeCode,
    async routeCodes(count: number) {
      const codes: (string | undefined)[] = [];
      while (codes.length < count) codes.push(await routeCode());
      return codes;
    },
    from() {
      const before = upstream.count();
      return () => upstream.count() - before;
    },
    routes: upstream.routesAsked,
    async breakers() {
      const { text } = await gateway.metrics.expose();
      return [stateIn(text, 'breaker'), stateIn(text, 'route_breaker')];
    },
  };
}

it.each<[string, Answer, code: string, requests: number]>([
  ['HTTP 500', status(500), 'UPSTREAM_STATUS', 5],
  ['HTTP 403', status(403), 'UPSTREAM_STATUS', 5],
  ['HTTP 429', status(429), 'UPSTREAM_RATE_LIMITED', 5],
  ['broken connection', reset, 'UPSTREAM_UNREACHABLE', 5],
  ['HTML page', (response) => response.end('<html>'), 'UPSTREAM_MALFORMED', 5],
  ...[400, 404, 409].map((code): [string, Answer, string, number] => [
    `HTTP ${code}, which is about one request`,
    status(code),
    'UPSTREAM_STATUS',
    20,
  ]),
])('the breaker opens at the fifth fault of the service: %s', async (_name, answer, code, requests) => {
  stopClock();
  const { upstream, routeCodes, from, breakers } = await serve();
  upstream.plan('tokens', answer);
  const asked = from();
  expect(new Set(await routeCodes(20))).toEqual(new Set([code]));
  expect(asked()).toBe(requests);
  expect(await breakers()).toEqual(['closed', requests === 5 ? 'open' : 'closed']);
});

it('the breaker sends one probe every two seconds, and all requests after a probe succeeded', async () => {
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
  // It does not matter that the date was set back.
  stopDate().setBack(7_200_000);
  expect(await routeCode()).toBeUndefined();
  expect(await routeCodes(10)).toEqual(Array.from({ length: 10 }));
  expect(await breakers()).toEqual(['closed', 'closed']);
  const told = logged.filter((line) => line.breaker !== undefined && isAtLeast(line, 'info'));
  expect(told.map((line) => line.breaker)).toEqual(['open', 'closed']);
});

it('the breaker sends only the probe while it is in progress, and answers other requests with the last error', async () => {
  const clock = stopClock();
  const { upstream, routeCode, routeCodes, from, breakers } = await serve();
  upstream.plan('tokens', status(500));
  await routeCodes(5);
  const release = upstream.hold('tokens', GOOD);
  const asked = from();
  clock.advance(OPEN_MS);
  const tried = routeCode();
  await expect.poll(asked, { interval: 5 }).toBe(1);
  const codes = await Promise.all(Array.from({ length: 30 }, routeCode));
  expect(codes).toEqual(codes.map(() => 'UPSTREAM_STATUS'));
  expect(asked()).toBe(1);
  expect(await breakers()).toEqual(['closed', 'half-open']);
  release();
  expect(await tried).toBeUndefined();
});

it('if the breaker opens before a retry, the answer is the fault of the first attempt', async () => {
  const { upstream, codeOfPair } = await serve({ upstreamRetries: 1 });
  upstream.plan('tokens', forUrls([addressOf(0)], reset, status(403)));
  const codes = await Promise.all([0, 1, 2, 3, 4].map(codeOfPair));
  expect(codes).toEqual(['UPSTREAM_UNREACHABLE', ...allWith('UPSTREAM_STATUS', 4)]);
  expect(upstream.routesAsked()).toHaveLength(5);
});

it('a breaker that is opened by listings stops routes, too, with the same code', async () => {
  // With a stopped clock, the listing sends no probe before the request for routes.
  const clock = stopClock();
  const { upstream, routeCodes, breakers } = await serve({ chainsFreshMs: 50 });
  upstream.plan('chains', status(500));
  await expect.poll(async () => (await breakers())[0]).toBe('open');
  const asked = upstream.count('tokens');
  expect(await routeCodes(5)).toEqual(allWith('UPSTREAM_STATUS', 5));
  expect(upstream.count('tokens')).toBe(asked);
  expect((await breakers())[1]).toBe('closed');
  upstream.plan('chains', json({ chains: [chainRow('a')] }));
  clock.advance(OPEN_MS);
  await expect.poll(async () => (await breakers())[0]).toBe('closed');
  expect(await routeCodes(2)).toEqual([undefined, undefined]);
});

it.each([500, 403])('routes that fail with HTTP %i do not stop refreshes', async (code) => {
  // The breaker of routes stays open.
  stopClock();
  const { upstream, routeCode, routeCodes, breakers, listings } = await serve({ chainsFreshMs: 100 });
  upstream.plan('tokens', status(code));
  await routeCodes(6);
  expect(await breakers()).toEqual(['closed', 'open']);
  const openSince = Date.now();
  const refreshed = upstream.count('chains');
  while (upstream.count('chains') < refreshed + 5) {
    await routeCode();
    await sleep(5);
  }
  expect(await breakers()).toEqual(['closed', 'open']);
  await expect.poll(() => listings().chains.takenAt).toBeGreaterThan(openSince);
});

it('routes that fail for one token do not stop the routes from other tokens, however often they are requested', async () => {
  const clock = stopClock();
  const { upstream, codeOfPair, breakers } = await serve();
  const bad = addressOf(400);
  upstream.plan('tokens', forUrls([bad], status(500)));
  for (let pauses = 0; pauses < 7; pauses++) {
    for (let asked = 0; asked < 15; asked++) expect(await codeOfPair(400)).toBe('UPSTREAM_STATUS');
    expect(upstream.seen.filter(({ url }) => url.includes(bad))).toHaveLength(1 + pauses);
    clock.advance(PAIR_PAUSE_MS);
    await untilCachesSeeTheTime();
  }
  expect(await breakers()).toEqual(['closed', 'closed']);
  expect(await codeOfPair(1)).toBeUndefined();
});

const BAD = [400, 401, 402, 403, 404];
const forBad = (answer: Answer) => forUrls(BAD.map(addressOf), answer);

it('routes that fail for five tokens do not stop the routes from other tokens, however often they are requested', async () => {
  const clock = stopClock();
  const { upstream, codeOfPair, routeCode, from, breakers } = await serve();
  upstream.plan('tokens', forBad(status(500)));
  for (const token of BAD) expect(await codeOfPair(token)).toBe('UPSTREAM_STATUS');
  expect(await breakers()).toEqual(['closed', 'open']);
  expect(await routeCode()).toBe('UPSTREAM_STATUS');
  // First, one of them is sent as a probe. When another token has closed the breaker, all are sent.
  for (const requests of [1, 5, 5]) {
    clock.advance(PAIR_PAUSE_MS);
    await untilCachesSeeTheTime();
    const asked = from();
    for (const token of [...BAD, ...BAD]) expect(await codeOfPair(token)).toBe('UPSTREAM_STATUS');
    expect(asked()).toBe(requests);
    expect(await routeCode()).toBeUndefined();
    expect(await breakers()).toEqual(['closed', 'closed']);
  }
});

it('a probe for a token whose routes have failed before does not delay the routes from other tokens', async () => {
  const clock = stopClock();
  const { upstream, codeOfPair, routeCode, from } = await serve();
  upstream.plan('tokens', forBad(status(500)));
  for (const token of BAD) await codeOfPair(token);
  upstream.plan('tokens', forBad(stall));
  clock.advance(PAIR_PAUSE_MS);
  await untilCachesSeeTheTime();
  const asked = from();
  void codeOfPair(400);
  await expect.poll(asked, { interval: 5 }).toBe(1);
  expect(await codeOfPair(401)).toBe('UPSTREAM_STATUS');
  expect(asked()).toBe(1);
  expect(await routeCode()).toBeUndefined();
});

it('after an outage, routes that all failed in it close the breaker, by one probe every two seconds', async () => {
  const clock = stopClock();
  const { upstream, codeOfPair, from, breakers } = await serve();
  const tokens = [0, 1, 2, 3, 4];
  upstream.plan('tokens', status(500));
  for (const each of tokens) await codeOfPair(each);
  const asked = from();
  clock.advance(PAIR_PAUSE_MS);
  await untilCachesSeeTheTime();
  for (const each of tokens) expect(await codeOfPair(each)).toBe('UPSTREAM_STATUS');
  expect(asked()).toBe(1);
  upstream.plan('tokens', GOOD);
  clock.advance(OPEN_MS - 1);
  for (const each of tokens) expect(await codeOfPair(each)).toBe('UPSTREAM_STATUS');
  expect(asked()).toBe(1);
  expect(await breakers()).toEqual(['closed', 'open']);
  clock.advance(1);
  for (const each of tokens.slice(1)) expect(await codeOfPair(each)).toBeUndefined();
  expect(await breakers()).toEqual(['closed', 'closed']);
  // These URLs have succeeded, so their failures count again.
  upstream.plan('tokens', status(500));
  clock.advance(60_001);
  await untilCachesSeeTheTime();
  for (const each of [...tokens.slice(1), 5]) await codeOfPair(each);
  expect(await breakers()).toEqual(['closed', 'open']);
});

it('routes that fail for many unlisted tokens while the listing is stale do not stop those from listed tokens', async () => {
  const { upstream, codeOfPair, routeCode, routeCodes, breakers, listings } = await serve({
    tokensFreshMs: 50,
  });
  upstream.plan('tokens', status(404));
  upstream.plan('routes', forUrls(['0xbad'], status(500)));
  await expect.poll(() => listings().tokens.state, { interval: 10 }).toBe('STALE');
  for (let nth = 0; nth < 8; nth++) expect(await codeOfPair(`0xbad${nth}`)).toBe('UPSTREAM_STATUS');
  expect(await breakers()).toEqual(['closed', 'closed']);
  expect(await routeCode()).toBeUndefined();
  // They do not keep an open breaker open either.
  const clock = stopClock();
  upstream.plan('routes', status(500));
  await routeCodes(5);
  expect(await breakers()).toEqual(['closed', 'open']);
  upstream.plan('routes', forUrls(['0xbad'], status(500)));
  clock.advance(OPEN_MS);
  for (const nth of [8, 9]) expect(await codeOfPair(`0xbad${nth}`)).toBe('UPSTREAM_STATUS');
  expect(await routeCode()).toBeUndefined();
});

it.each<[string, Answer, number]>([
  ['with HTTP 500', status(500), 6],
  ['with Retry-After, which stops the sweep', status(503, { 'retry-after': '600' }), 1],
])('requests of the sweep that fail %s do not stop those of clients', async (_name, answer, count) => {
  const { upstream, codeOfPair, breakers, snapshots, routes } = await serve({ routesSweepMs: 500 });
  upstream.plan('tokens', forUrls([addressOf(499)], GOOD, answer));
  const failed = () => routes().filter(({ url }) => !url.includes(addressOf(499))).length;
  snapshots.start();
  await expect.poll(failed).toBeGreaterThanOrEqual(count);
  expect(await codeOfPair(499)).toBeUndefined();
  expect(await breakers()).toEqual(['closed', 'closed']);
  if (count > 1) return;
  await sleep(300);
  expect(failed()).toBe(1);
});

it('Retry-After for routes from an unlisted token stops only routes from unlisted tokens', async () => {
  const { upstream, codeOfPair, routeCode, listings, routes } = await serve({ tokensFreshMs: 50 });
  const pause = status(429, { 'retry-after': '600' });
  upstream.plan('tokens', status(404));
  upstream.plan('routes', forUrls(['0xbad'], pause));
  await expect.poll(() => listings().tokens.state, { interval: 10 }).toBe('STALE');
  for (const address of ['0xbad1', '0xbad2', '0xbad3'])
    expect(await codeOfPair(address)).toBe('UPSTREAM_RATE_LIMITED');
  expect(routes()).toHaveLength(1);
  expect(await routeCode()).toBeUndefined();
});

it('Retry-After for routes stops all routes and no listing; requests wait through a short pause', async () => {
  const { upstream, routeCode, routes } = await serve({ chainsFreshMs: 50 });
  // Long enough for some refreshes on a busy machine.
  upstream.plan('tokens', first(2, status(429, { 'retry-after': '5' }), GOOD));
  expect(await routeCode()).toBe('UPSTREAM_RATE_LIMITED');
  expect(await routeCode()).toBeUndefined();
  expect(routes()).toHaveLength(2);
  const [refusedAt = 0, answeredAt = 0] = routes().map(({ at }) => at);
  expect(answeredAt - refusedAt).toBeGreaterThanOrEqual(5000);
  const meanwhile = upstream.seen.filter(
    ({ at, path }) => path === 'chains' && at > refusedAt && at < answeredAt,
  );
  expect(meanwhile.length).toBeGreaterThan(2);
});

it('Retry-After for a listing stops every request of the process', async () => {
  const { upstream, routeCode, listings, snapshots, routes } = await serve();
  upstream.plan('chains', first(2, status(429, { 'retry-after': '2' }), json({ chains: [chainRow('a')] })));
  snapshots.refreshNow();
  await expect.poll(() => listings().chains.lastFailure?.code).toBe('UPSTREAM_RATE_LIMITED');
  const [, refused] = upstream.seen.filter(({ path }) => path === 'chains');
  expect(await routeCode()).toBeUndefined();
  expect(routes()).toHaveLength(1);
  expect((routes()[0]?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(2000);
});

it('Retry-After for one token stops other routes for at most half a minute, and for two tokens as long as it says', async () => {
  const { upstream, codeOfPair } = await serve();
  const odd = [400, 401].map(addressOf);
  upstream.plan('tokens', forUrls(odd, status(503, { 'retry-after': '3600' })));
  const clock = stopClock();
  const asked = () => upstream.count('tokens');
  const before = asked();
  // Requests that are not sent get the error of the upstream at once.
  for (const token of [400, 1, 2]) expect(await codeOfPair(token)).toBe('UPSTREAM_STATUS');
  expect(asked()).toBe(before + 1);
  clock.advance(31_000);
  expect(await codeOfPair(1)).toBeUndefined();
  // No request for token 400 is sent until its Retry-After is over.
  expect(await codeOfPair(400)).toBe('UPSTREAM_STATUS');
  expect(asked()).toBe(before + 2);
  expect(await codeOfPair(401)).toBe('UPSTREAM_STATUS');
  clock.advance(3_669_000);
  expect(await codeOfPair(400)).toBe('UPSTREAM_STATUS');
  clock.advance(32_000);
  expect(await codeOfPair(401)).toBe('UPSTREAM_STATUS');
  clock.advance(68_000);
  expect(await codeOfPair(2)).toBe('UPSTREAM_STATUS');
});

it('an upstream that is gone gets a request after a minute, then after growing pauses, which a success ends', async () => {
  const { upstream, listings, snapshots, query, logged, codeOfPair } = await serve();
  const clock = stopClock();
  upstream.plan('tokens', status(410));
  const failedAt = () => listings().tokens.lastFailure?.at ?? 0;
  const refresh = () => snapshots.refreshOnRequest();
  const asked = upstream.count('tokens');
  await refresh();
  expect(upstream.count('tokens')).toBe(asked + 1);
  expect(failedAt()).toBeGreaterThan(0);
  expect(logged.find(({ msg }) => msg.includes('could not be refreshed'))?.retryInMs).toBe(60_000);
  expect(await codeOfPair(1)).toBe('UPSTREAM_GONE');
  expect(await query('{ token(chainKey: "a", address: "0x64") { symbol } }')).toEqual({
    data: { token: { symbol: 'USDC' } },
  });
  expect(upstream.count('tokens')).toBe(asked + 1);
  // The last two are an hour, the longest pause.
  const pauses = [60, 120, 240, 480, 960, 1_920, 3_600, 3_600];
  for (const [index, seconds] of pauses.entries()) {
    clock.advance(seconds * 1_000 - 1);
    await refresh();
    expect(upstream.count('tokens'), `${seconds} s`).toBe(asked + 1 + index);
    clock.advance(1);
    await refresh();
    expect(upstream.count('tokens'), `${seconds} s`).toBe(asked + 2 + index);
  }
  expect(listings().tokens.isGone).toBe(true);
  clock.advance(3_600_000);
  upstream.plan('tokens', GOOD);
  await refresh();
  expect(listings().tokens.isGone).toBe(false);
  upstream.plan('tokens', status(410));
  await refresh();
  const again = upstream.count('tokens');
  clock.advance(60_000);
  await refresh();
  expect(upstream.count('tokens')).toBe(again + 1);
});

it('an upstream that is gone gets a request at once when the operator asks for a refresh, which ends no other pause', async () => {
  const { upstream, snapshots, refreshOnRequest } = await serve();
  stopClock();
  upstream.plan('tokens', status(410));
  await refreshOnRequest();
  const asked = upstream.count('tokens');
  await snapshots.refreshOnRequest();
  expect(upstream.count('tokens')).toBe(asked);
  upstream.plan('tokens', status(429, { 'retry-after': '600' }));
  expect((await refreshOnRequest())[1]).toMatchObject({ reason: { code: 'UPSTREAM_RATE_LIMITED' } });
  expect(upstream.count('tokens')).toBe(asked + 1);
  upstream.plan('tokens', GOOD);
  for (let times = 0; times < 5; times++) {
    const [, tokens] = await refreshOnRequest();
    expect(tokens).toMatchObject({ reason: { code: 'UPSTREAM_RATE_LIMITED' } });
  }
  expect(upstream.count('tokens')).toBe(asked + 1);
});

it('an upstream that is gone only for routes still gets all requests', async () => {
  const { upstream, routeCodes, listings, snapshots, from } = await serve();
  upstream.plan('tokens', status(410));
  const asked = from();
  expect(await routeCodes(8)).toEqual(allWith('UPSTREAM_GONE', 8));
  expect(asked()).toBe(8);
  upstream.plan('tokens', GOOD);
  snapshots.refreshNow();
  await expect.poll(() => upstream.count('tokens')).toBe(10);
  expect(listings().tokens.lastFailure).toBeNull();
  expect(await routeCodes(2)).toEqual([undefined, undefined]);
});
