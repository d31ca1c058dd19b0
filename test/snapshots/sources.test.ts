/** Sources are the inverted routes of all bridgeable tokens, which a sweep requests after the requests of clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Token } from '../../src/domain/listing.js';
import { createRouteMap } from '../../src/snapshots/sources.js';
import { HOUR, manyRounds, stopClock, stopDate, untilCachesSeeTheTime } from '../support/clock.js';
import { type Answer, json, stall, status } from '../support/fake-upstream.js';
import {
  askSources,
  type Network,
  routesOf,
  rowOf,
  sourcesOf,
  startSweeping,
  startSweptUpstream,
  untilAsked,
  untilComplete,
} from '../support/sweep.js';
import { codesOf, createTestGateway, type TestGateway, type TestOptions } from '../support/test-gateway.js';

const NETWORK: Network = {
  'a 0x1': ['b 0x1', 'c 0x1'],
  'b 0x1': ['a 0x1'],
  'c 0x1': [],
  'c 0x2': ['b 0x1', 'c 0x1'],
};
const TOKENS = Object.keys(NETWORK);

async function sweep(answer: (token: string) => Answer | undefined = () => undefined, options = {}) {
  const date = stopDate();
  const upstream = await startSweptUpstream(NETWORK);
  upstream.planRoutes((token) => answer(token) ?? routesOf(NETWORK)(token));
  return { date, upstream, gateway: await startSweeping(upstream, options) };
}

async function startSwept(answer?: (token: string) => Answer | undefined, options: TestOptions = {}) {
  const swept = await sweep(answer, options);
  await untilComplete(swept.gateway);
  return swept;
}

const metricsOf = async ({ metrics }: TestGateway) => (await metrics.expose()).text;
const destinationsOf = ({ query }: TestGateway, token: string) => {
  const [chainKey, address] = token.split(' ');
  return query(`{ destinations(srcChainKey: "${chainKey}", srcToken: "${address}") { chainKey } }`);
};

it('sources are null without an error, and cost nothing, if routes are not swept', async () => {
  const upstream = await startSweptUpstream(NETWORK);
  const gateway = await createTestGateway({ upstream });
  expect(await askSources(gateway, 'a 0x1')).toEqual({ data: { sources: null } });
  expect(upstream.count()).toBe(0);
});

it('sources are the inverted answers of the upstream, without rows of other decimals than the listing', async () => {
  const others = (token: string) =>
    token === 'c 0x2'
      ? json({ tokens: [rowOf('b 0x1'), rowOf('c 0x1'), rowOf('a 0x1', { decimals: 18 })] })
      : undefined;
  const { upstream, gateway } = await sweep(others);
  await untilComplete(gateway);
  const found = await Promise.all(
    ['a 0x1', 'b 0x1', 'c 0x1', 'c 0x2', 'nowhere 0x1'].map((token) => sourcesOf(gateway, token)),
  );
  expect(found).toEqual([['b 0x1'], ['a 0x1', 'c 0x2'], ['a 0x1', 'c 0x2'], [], []]);
  expect([...upstream.asked()].sort()).toEqual(TOKENS);
});

it('sources include routes with other decimals if the token has held-back facts, as destinations do', async () => {
  const changed = { 'b 0x1': { decimals: 18 } } as Record<string, object>;
  const rowsOf = (tokens: readonly string[]) =>
    json({ tokens: tokens.map((token) => rowOf(token, changed[token])) });
  const { upstream, gateway } = await startSwept((token) => rowsOf(NETWORK[token] ?? []));
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual([]);
  upstream.plan('tokens', rowsOf(TOKENS));
  gateway.snapshots.refreshNow();
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
  expect(await destinationsOf(gateway, 'c 0x2')).toMatchObject({
    data: { destinations: [{ chainKey: 'b' }] },
  });
});

it('the sources of a token that the operator hides are empty, although the upstream has routes to it', async () => {
  const { gateway } = await startSwept();
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
  await gateway.apply('hide b:0x1');
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual([]);
});

it('sources tell that they are incomplete, and how old they are, while answers are missing', async () => {
  const clock = stopClock();
  const { date, upstream, gateway } = await sweep();
  await expect
    .poll(() => askSources(gateway, 'b 0x1'))
    .toMatchObject({ data: { sources: { isComplete: false, chains: [{ chainKey: 'a' }] } } });
  const asOf = new Date(Date.now()).toISOString();
  date.advance(20);
  clock.advance(50);
  await expect.poll(() => upstream.asked().length, { interval: 10 }).toBe(2);
  await manyRounds();
  expect((await askSources(gateway, 'a 0x1')).data?.sources).toMatchObject({ isComplete: false, asOf });
  await untilAsked(upstream, 4, clock, 50);
  expect(await untilComplete(gateway)).toMatchObject({ asOf });
});

it('asOf of sources is the time of the answer minus its Age, and destinations use the same answers', async () => {
  const { upstream, gateway } = await startSwept((token) =>
    json(
      { tokens: (NETWORK[token] ?? []).map((destination) => rowOf(destination)) },
      { age: token === 'a 0x1' ? '7200' : '60' },
    ),
  );
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  expect(
    await gateway.query(
      `{ sources(dstChainKey: "b", dstToken: "0x1") { asOf isComplete chains { chainKey asOf again: asOf } }
          destinations(srcChainKey: "a", srcToken: "0x1") { asOf }
          token(chainKey: "c", address: "0x2") { destinations { chainKey } } }`,
    ),
  ).toEqual({
    data: {
      sources: {
        asOf: ago(7_200),
        isComplete: true,
        chains: [
          { chainKey: 'a', asOf: ago(7_200), again: ago(7_200) },
          { chainKey: 'c', asOf: ago(60), again: ago(60) },
        ],
      },
      destinations: [{ asOf: ago(7_200) }, { asOf: ago(7_200) }],
      token: { destinations: [{ chainKey: 'b' }] },
    },
  });
  expect([...upstream.asked()].sort()).toEqual(TOKENS);
});

it('sources follow the listing: removed tokens are not sources, and new bridgeable ones are requested', async () => {
  const { date, upstream, gateway } = await startSwept();
  const { 'c 0x2': _gone, ...rest } = NETWORK;
  date.advance(10);
  upstream.planNetwork({ ...rest, 'c 0x3': ['a 0x1'] }, [rowOf('b 0x9', { isBridgeable: false })]);
  gateway.snapshots.refreshNow();
  await expect.poll(() => sourcesOf(gateway, 'a 0x1'), { interval: 10 }).toEqual(['b 0x1', 'c 0x3']);
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  expect(upstream.asked().slice(4)).toEqual(['c 0x3']);
  expect(await untilComplete(gateway)).toMatchObject({ isComplete: true });
  expect(await metricsOf(gateway)).toContain('gateway_sweep_tokens_known 4\n');
});

it('sources count as rows: above the limit there is an error and no data', async () => {
  const { gateway } = await startSwept(undefined, { config: { maxRows: 3 } });
  expect(await sourcesOf(gateway, 'a 0x1')).toEqual(['b 0x1']);
  const answer = await askSources(gateway, 'b 0x1');
  expect([codesOf(answer), answer.data]).toEqual([['LIMIT_EXCEEDED'], undefined]);
});

it('sources also use the routes that operations of clients request when swept routes are no longer fresh', async () => {
  const clock = stopClock();
  const config = { destinationsFreshMs: 1_000, routesSweepMs: HOUR };
  const { date, upstream, gateway } = await sweep(undefined, { config });
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  await destinationsOf(gateway, 'a 0x1');
  expect(upstream.asked()).toEqual(['a 0x1']);
  date.advance(1_001);
  clock.advance(1_001);
  await untilCachesSeeTheTime();
  upstream.planRoutes(routesOf({ ...NETWORK, 'a 0x1': ['c 0x2'] }));
  await destinationsOf(gateway, 'a 0x1');
  expect(upstream.asked()).toHaveLength(2);
  expect(await sourcesOf(gateway, 'c 0x2')).toEqual(['a 0x1']);
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual([]);
  await destinationsOf(gateway, 'c 0x2');
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['c 0x2']);
});

it('destinations have the last routes that the sweep has fetched, and not older ones that stayed cached while requests of clients failed', async () => {
  const clock = stopClock();
  const { date, upstream, gateway } = await sweep(undefined, { config: { destinationsFreshMs: HOUR } });
  await untilAsked(upstream, TOKENS.length, clock, 50);
  await untilComplete(gateway);
  const askWhileDown = async () => {
    upstream.planRoutes(() => status(404));
    date.advance(2 * HOUR);
    clock.advance(2 * HOUR);
    await untilCachesSeeTheTime();
    return (await destinationsOf(gateway, 'c 0x2')).data;
  };
  expect(await askWhileDown()).toEqual({ destinations: [{ chainKey: 'b' }] });
  upstream.planRoutes(routesOf({ ...NETWORK, 'c 0x2': ['a 0x1'] }));
  date.advance(HOUR / 2);
  await untilAsked(upstream, upstream.asked().length + TOKENS.length, clock, 50);
  await expect.poll(() => sourcesOf(gateway, 'a 0x1')).toEqual(['b 0x1', 'c 0x2']);
  expect(await askWhileDown()).toEqual({ destinations: [{ chainKey: 'a' }] });
});

it('the requests of the sweep are sent after those of clients', async () => {
  const clock = stopClock();
  stopDate();
  const many: Network = Object.fromEntries(Array.from({ length: 8 }, (_, nth) => [`a 0x${nth + 10}`, []]));
  const upstream = await startSweptUpstream(many);
  const gateway = await startSweeping(upstream, {
    config: { upstreamRequestsPerSecond: 4, routesSweepMs: 1 },
  });
  // These two requests and those for the two listings are all that one second allows.
  await untilAsked(upstream, 2, clock, 1);
  // GraphQL Yoga is loaded at the first operation; those after it begin in the next rounds of the event loop.
  await gateway.query('{ __typename }');
  const wanted = ['a 0x15', 'a 0x16', 'a 0x17'];
  const answers = wanted.map((token) => destinationsOf(gateway, token));
  await manyRounds();
  await untilAsked(upstream, 5, clock, 1_050);
  await Promise.all(answers);
  expect([...upstream.asked()].slice(2, 5).sort()).toEqual(wanted);
  await untilAsked(upstream, 8, clock, 1_050);
  await untilComplete(gateway, 'a 0x10');
  expect([...upstream.asked()].sort()).toEqual(Object.keys(many).sort());
});

it.each([
  ['429', status(429, { 'retry-after': '90' }), 'UPSTREAM_RATE_LIMITED', 90_000, 'b 0x1'],
  ['429 without Retry-After', status(429), 'UPSTREAM_RATE_LIMITED', 60_000, 'b 0x1'],
  ['410, and continue with other tokens', status(410), 'UPSTREAM_GONE', 60_000, 'c 0x1'],
])('the sweep stops for a while at a %s', async (_name, answer, code, pauseMs, next) => {
  const clock = stopClock();
  const { upstream, gateway } = await sweep((token) => (token === 'b 0x1' ? answer : undefined));
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  clock.advance(50);
  await expect
    .poll(() => gateway.linesWith(`stops for ${pauseMs / 1_000} seconds`))
    .toMatchObject([{ code, known: 1 }]);
  upstream.planRoutes(routesOf(NETWORK));
  clock.advance(pauseMs - 1_000);
  await sleep(300);
  expect(upstream.asked()).toEqual(['a 0x1', 'b 0x1']);
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  clock.advance(1_001);
  await expect.poll(() => upstream.asked()[2]).toBe(next);
  await untilAsked(upstream, 5, clock, 50);
  expect(await untilComplete(gateway)).toMatchObject({ isComplete: true });
  expect(upstream.asked().filter((token) => token === 'b 0x1')).toHaveLength(2);
});

it('the sweep stops for growing pauses while all requests get 410; sources without known routes have UPSTREAM_GONE', async () => {
  const clock = stopClock();
  const { upstream, gateway } = await sweep(() => status(410));
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['UPSTREAM_GONE']);
  expect((await askSources(gateway, 'b 0x1')).data).toEqual({ sources: null });
  for (const [index, seconds] of [60, 120, 240].entries()) {
    await expect.poll(() => gateway.linesWith(`stops for ${seconds} seconds`)).toHaveLength(1);
    expect(upstream.asked()).toEqual(TOKENS.slice(0, index + 1));
    expect(await metricsOf(gateway)).toContain('gateway_sweep_stopped 1\n');
    clock.advance(seconds * 1_000);
  }
  upstream.planRoutes(routesOf(NETWORK));
  clock.advance(HOUR);
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['c 0x2']);
  expect(await metricsOf(gateway)).toContain('gateway_sweep_stopped 0\n');
  expect(await metricsOf(gateway)).toMatch(/^gateway_sweep_interval_seconds \d/m);
});

it('sources have UPSTREAM_TIMEOUT while no request of the sweep is answered and no routes are known', async () => {
  const { upstream, gateway } = await sweep(() => stall);
  await expect.poll(() => upstream.asked().length).toBeGreaterThan(0);
  await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['UPSTREAM_TIMEOUT']);
});

it('failed requests of the sweep are repeated once after the others; without an answer the sources are incomplete', async () => {
  const { upstream, gateway } = await sweep((token) => (token === 'b 0x1' ? status(500) : undefined));
  await expect.poll(() => upstream.asked().length).toBeGreaterThanOrEqual(5);
  await sleep(300);
  expect(upstream.asked()).toEqual(['a 0x1', 'b 0x1', 'c 0x1', 'c 0x2', 'b 0x1']);
  expect((await askSources(gateway, 'b 0x1')).data?.sources).toMatchObject({ isComplete: false });
  const text = await metricsOf(gateway);
  expect(text).toContain('gateway_sweep_tokens_left 1\n');
  expect(text).toMatch(/^gateway_sweep_age_seconds \d/m);
});

it('the sweep stops if the map is full, with a line in the log', async () => {
  const tooMany = json({ tokens: Array.from({ length: 50_001 }, (_, nth) => rowOf(`b 0x${nth}`)) });
  const { upstream, gateway } = await sweep((token) => (token === 'c 0x2' ? tooMany : undefined));
  await expect.poll(() => gateway.linesWith('The map of routes is full')).toHaveLength(1);
  expect(upstream.asked()).toEqual(TOKENS);
  expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  expect((await askSources(gateway, 'b 0x1')).data?.sources).toMatchObject({ isComplete: false });
});

const rows = (...decimals: number[]) =>
  decimals.map((each, nth) => ({ chainKey: 'dst', address: `x${nth}`, decimals: each }) as Token);

it('the map of routes keeps to its bounds on pairs and destinations', () => {
  const map = createRouteMap();
  expect(map.set('a', { takenAt: 1, rows: rows(1, 2, 3) })).toBe(true);
  expect(map.set('a', { takenAt: 2, rows: rows(4, 5) })).toBe(true);
  // With the five from before, `many` makes 50,000 destinations.
  const [one, ...many] = rows(...Array.from({ length: 49_996 }, () => 9));
  expect(map.set('b', { takenAt: 2, rows: [...many, one as Token] })).toBe(false);
  for (let nth = 0; nth < 40; nth++) expect(map.set(`b${nth}`, { takenAt: 3, rows: many })).toBe(true);
  expect(map.set('c', { takenAt: 3, rows: many })).toBe(false);
  map.removeUnless((key) => !/^b\d/.test(key));
  expect(map.set('c', { takenAt: 3, rows: rows(4, 5) })).toBe(true);
  expect(map.sourcesOf('3 dst x0', 4)).toEqual(['a', 'c']);
  // A token that is not listed has no known decimals.
  expect(map.sourcesOf('3 dst x1', undefined)).toEqual(['a', 'c']);
  expect([map.pairs, map.size, map.oldestAt()]).toEqual([4, 2, 2]);
});

it('the map of routes accepts newer answers only, but any answer in place of one from the future', () => {
  const map = createRouteMap();
  map.set('a', { takenAt: 5, upstreamAgeMs: 5, rows: rows(1) });
  map.set('a', { takenAt: 9, rows: rows(2) });
  expect(map.sourcesOf('3 dst x0', 1)).toEqual(['a']);
  map.set('a', { takenAt: Date.now() + HOUR, rows: rows(3) });
  map.set('a', { takenAt: 9, rows: rows(4) });
  expect(map.sourcesOf('3 dst x0', 4)).toEqual(['a']);
});
