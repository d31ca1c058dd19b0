import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RouteMap } from '../../src/snapshots/sources.js';
import { type StoppedClock, stopClock, untilCachesSeeTheTime } from '../support/clock.js';
import { type Answer, json, stall, status } from '../support/fake-upstream.js';
import {
  askSources,
  type Network,
  routesOf,
  rowOf,
  type SweptUpstream,
  sourcesOf,
  startSweeping,
  startSweptUpstream,
  stopDate,
  untilComplete,
} from '../support/sweep.js';
import {
  codesOf,
  createTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/test-gateway.js';

/** Only the first two go both ways. */
const NETWORK: Network = {
  'a 0x1': ['b 0x1', 'c 0x1'],
  'b 0x1': ['a 0x1'],
  'c 0x1': [],
  'c 0x2': ['b 0x1', 'c 0x1'],
};
const TOKENS = Object.keys(NETWORK);
const HOUR = 3_600_000;

/** Waits until all tasks that wait only for the event loop have run. */
async function settle(): Promise<void> {
  for (let round = 0; round < 300; round++) await setImmediate();
}

/** GraphQL Yoga is loaded at the first operation, from files; those after it begin in the next rounds of the event loop. */
const untilOperationsBegin = (gateway: TestGateway) => gateway.query('{ __typename }');

/** Waits for this many requests, and advances the clock by this time in each round. */
const untilAsked = (upstream: SweptUpstream, count: number, clock: StoppedClock, ms: number) =>
  expect
    .poll(
      () => {
        clock.advance(ms);
        return upstream.asked().length;
      },
      { interval: 20 },
    )
    .toBeGreaterThanOrEqual(count);

/** A gateway that has swept the network, with its date stopped. */
async function startSwept(options: TestGatewayOptions = {}, routes?: (token: string) => Answer) {
  const date = stopDate();
  const upstream = await startSweptUpstream(NETWORK);
  if (routes) upstream.planRoutes(routes);
  const gateway = await startSweeping(upstream, options);
  const { asOf } = await untilComplete(gateway);
  return { date, upstream, gateway, asOf };
}

const linesOf = ({ logged }: TestGateway, text: string) => logged.filter(({ msg }) => msg.includes(text));

describe('sources', () => {
  it('are null without an error, and cost nothing, if routes are not swept', async () => {
    const upstream = await startSweptUpstream(NETWORK);
    const gateway = await createTestGateway({ upstream });
    expect(await askSources(gateway, 'a 0x1')).toEqual({ data: { sources: null } });
    expect(upstream.count()).toBe(0);
  });

  it('are the inverted answers of the upstream, with one request for each bridgeable token', async () => {
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    upstream.planNetwork(NETWORK, [rowOf('b 0x9', { isBridgeable: false })]);
    const gateway = await startSweeping(upstream);
    await untilComplete(gateway);
    await expect.poll(() => linesOf(gateway, 'are known'), { interval: 10 }).toHaveLength(1);
    expect(await sourcesOf(gateway, 'a 0x1')).toEqual(['b 0x1']);
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect(await sourcesOf(gateway, 'c 0x1')).toEqual(['a 0x1', 'c 0x2']);
    expect(await sourcesOf(gateway, 'c 0x2')).toEqual([]);
    expect(await sourcesOf(gateway, 'b 0x9')).toEqual([]);
    expect(await sourcesOf(gateway, 'nowhere 0x1')).toEqual([]);
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
    expect(linesOf(gateway, 'routes of all bridgeable tokens')).toMatchObject([
      { msg: 'A sweep of the routes of all bridgeable tokens begins', tokens: 4 },
      { msg: 'The routes of all bridgeable tokens are known', known: 4, pairs: 5 },
    ]);
  });

  it('tell that they are incomplete, and how old they are, while requests are missing', async () => {
    const clock = stopClock();
    const date = stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const gateway = await startSweeping(upstream);
    await expect
      .poll(() => askSources(gateway, 'b 0x1'))
      .toMatchObject({ data: { sources: { isComplete: false, chains: [{ chainKey: 'a' }] } } });
    const firstAt = new Date(Date.now()).toISOString();
    date.advance(20);
    clock.advance(50);
    await expect.poll(() => upstream.asked().length, { interval: 10 }).toBe(2);
    await settle();
    // The oldest of all answers counts.
    expect((await askSources(gateway, 'a 0x1')).data?.sources).toMatchObject({
      isComplete: false,
      asOf: firstAt,
    });
    clock.advance(50);
    await expect.poll(() => upstream.asked().length, { interval: 10 }).toBe(3);
    clock.advance(50);
    expect(await untilComplete(gateway)).toMatchObject({ asOf: firstAt });
  });

  it('have the time of each answer minus its Age, with one request for each token', async () => {
    const { upstream, gateway } = await startSwept({}, (token) =>
      json(
        { tokens: (NETWORK[token] ?? []).map((destination) => rowOf(destination)) },
        { age: token === 'a 0x1' ? '7200' : '60' },
      ),
    );
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
    expect(
      await gateway.query(
        `{ sources(dstChainKey: "b", dstToken: "0x1") { asOf isComplete chains { chainKey asOf again: asOf } }
          destinations(srcChainKey: "a", srcToken: "0x1") { asOf } }`,
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
      },
    });
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
  });

  it('are swept again after the interval, and then show changes', async () => {
    const { date, upstream, gateway, asOf } = await startSwept();
    upstream.planRoutes(routesOf({ ...NETWORK, 'a 0x1': ['c 0x1'], 'c 0x1': ['b 0x1'] }));
    date.advance(200);
    await expect.poll(() => upstream.asked().length).toBe(8);
    await expect.poll(() => sourcesOf(gateway, 'b 0x1'), { interval: 10 }).toEqual(['c 0x1', 'c 0x2']);
    await expect.poll(async () => (await untilComplete(gateway)).asOf).not.toBe(asOf);
    expect([...upstream.asked()].slice(4).sort()).toEqual(TOKENS);
  });

  it('follow the listing: removed tokens are not sources, and new ones are requested', async () => {
    const { date, upstream, gateway } = await startSwept();
    const { 'c 0x2': gone, ...rest } = NETWORK;
    expect(gone).toHaveLength(2);
    date.advance(10);
    upstream.planNetwork({ ...rest, 'c 0x3': ['a 0x1'] });
    gateway.snapshots.refreshNow();
    await expect.poll(() => sourcesOf(gateway, 'a 0x1'), { interval: 10 }).toEqual(['b 0x1', 'c 0x3']);
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
    expect(upstream.asked().slice(4)).toEqual(['c 0x3']);
    expect(await untilComplete(gateway)).toMatchObject({ isComplete: true });
    const { text } = await gateway.metrics.expose();
    expect(text).toContain('gateway_sweep_tokens_known 4\n');
  });

  it('leave out rows with other decimals than the listing, as destinations do', async () => {
    const { gateway } = await startSwept({}, (token) =>
      json({
        tokens:
          token === 'c 0x2' ? [rowOf('b 0x1', { decimals: 18 })] : token === 'a 0x1' ? [rowOf('b 0x1')] : [],
      }),
    );
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
  });

  it('count as rows: above the limit there is an error and no data', async () => {
    const { gateway } = await startSwept({ config: { maxRows: 3 } });
    expect(await sourcesOf(gateway, 'a 0x1')).toEqual(['b 0x1']);
    const answer = await askSources(gateway, 'b 0x1');
    expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
    expect(answer.data).toBeUndefined();
    const { errors } = await gateway.query(
      `{ sources(dstChainKey: "a", dstToken: "${'x'.repeat(513)}") { isComplete } }`,
    );
    expect(errors?.[0]?.extensions?.code).toBe('BAD_USER_INPUT');
  });
});

describe('destinations', () => {
  const OF_BOTH = `{
    destinations(srcChainKey: "a", srcToken: "0x1") { chainKey tokens { address } }
    token(chainKey: "c", address: "0x2") { destinations { __typename } }
  }`;

  it('are answered from the sweep while its answer is fresh, without a request', async () => {
    const { upstream, gateway } = await startSwept();
    expect(await gateway.query(OF_BOTH)).toMatchObject({
      data: {
        destinations: [
          { chainKey: 'b', tokens: [{ address: '0x1' }] },
          { chainKey: 'c', tokens: [{ address: '0x1' }] },
        ],
        token: { destinations: [{}] },
      },
    });
    expect(upstream.asked()).toHaveLength(4);
  });

  it('are requested when it is no longer fresh, and answers for clients are entered into the map', async () => {
    const clock = stopClock();
    const date = stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const gateway = await startSweeping(upstream, {
      config: { destinationsFreshMs: 1_000, routesSweepMs: HOUR },
    });
    await expect
      .poll(() => askSources(gateway, 'b 0x1'))
      .toMatchObject({ data: { sources: { isComplete: false } } });
    expect(upstream.asked()).toEqual(['a 0x1']);
    await gateway.query('{ destinations(srcChainKey: "a", srcToken: "0x1") { chainKey } }');
    expect(upstream.asked()).toHaveLength(1);
    date.advance(1_001);
    clock.advance(1_001);
    await untilCachesSeeTheTime();
    upstream.planRoutes(routesOf({ ...NETWORK, 'a 0x1': ['c 0x2'] }));
    await gateway.query('{ destinations(srcChainKey: "a", srcToken: "0x1") { chainKey } }');
    expect(upstream.asked()).toHaveLength(2);
    expect(await sourcesOf(gateway, 'c 0x2')).toEqual(['a 0x1']);
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual([]);
    await gateway.query('{ destinations(srcChainKey: "c", srcToken: "0x2") { chainKey } }');
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['c 0x2']);
  });
});

describe('the requests of the sweep', () => {
  it('are sent after those of clients', async () => {
    const clock = stopClock();
    stopDate();
    const many: Network = Object.fromEntries(Array.from({ length: 8 }, (_, nth) => [`a 0x${nth + 10}`, []]));
    const upstream = await startSweptUpstream(many);
    const gateway = await startSweeping(upstream, {
      config: { upstreamRequestsPerSecond: 4, routesSweepMs: 1 },
    });
    // Together with the listings these are all requests of a second.
    await untilAsked(upstream, 2, clock, 1);
    await untilOperationsBegin(gateway);
    const wanted = ['a 0x15', 'a 0x16', 'a 0x17'];
    const answers = wanted.map((token) =>
      gateway.query(`{ destinations(srcChainKey: "a", srcToken: "${token.slice(2)}") { chainKey } }`),
    );
    await settle();
    await untilAsked(upstream, 5, clock, 1_050);
    await Promise.all(answers);
    expect([...upstream.asked()].slice(2, 5).sort()).toEqual(wanted);
    await untilAsked(upstream, 8, clock, 1_050);
    await untilComplete(gateway, 'a 0x10');
    expect([...upstream.asked()].sort()).toEqual(Object.keys(many).sort());
  });

  it('are shared with a client that requests the same routes while they are in progress', async () => {
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    let answerNow: (() => void) | undefined;
    const held: Answer = (...asked) => {
      answerNow = () => routesOf(NETWORK)('a 0x1')(...asked);
    };
    upstream.planRoutes((token) => (token === 'a 0x1' ? held : routesOf(NETWORK)(token)));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => upstream.asked()).toEqual(['a 0x1']);
    await untilOperationsBegin(gateway);
    const answer = gateway.query('{ destinations(srcChainKey: "a", srcToken: "0x1") { chainKey } }');
    await settle();
    answerNow?.();
    expect(await answer).toEqual({ data: { destinations: [{ chainKey: 'b' }, { chainKey: 'c' }] } });
    await untilComplete(gateway);
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
  });

  it('are not sent while the upstream has asked for a pause', async () => {
    const clock = stopClock();
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const gateway = await startSweeping(upstream);
    await expect.poll(() => upstream.asked()).toEqual(['a 0x1']);
    upstream.plan('chains', status(503, { 'retry-after': '60' }));
    gateway.snapshots.refreshNow();
    await expect
      .poll(() => gateway.snapshots.status(Date.now())[0].lastFailure?.code)
      .toBe('UPSTREAM_STATUS');
    clock.advance(30_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(upstream.asked()).toHaveLength(1);
    clock.advance(31_000);
    await expect.poll(() => upstream.asked()).toHaveLength(2);
  });

  it('leave the permit to a client that requests the same routes', async () => {
    const clock = stopClock();
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const gateway = await startSweeping(upstream, {
      config: { upstreamRequestsPerSecond: 3, routesSweepMs: 1 },
    });
    // Together with the listings these are all requests of a second.
    await expect.poll(() => upstream.asked()).toEqual(['a 0x1']);
    await untilOperationsBegin(gateway);
    const answer = gateway.query('{ destinations(srcChainKey: "b", srcToken: "0x1") { chainKey } }');
    await settle();
    await untilAsked(upstream, 4, clock, 100);
    expect(await answer).toEqual({ data: { destinations: [{ chainKey: 'a' }] } });
    expect([...upstream.asked()].sort()).toEqual(TOKENS);
  });

  it.each([
    ['429', status(429, { 'retry-after': '90' }), 'UPSTREAM_RATE_LIMITED', 90_000, 'b 0x1'],
    ['429 without Retry-After', status(429), 'UPSTREAM_RATE_LIMITED', 60_000, 'b 0x1'],
    ['410, and continue with other tokens', status(410), 'UPSTREAM_GONE', 60_000, 'c 0x1'],
  ])('stop for a while at a %s, and known routes stay', async (_name, answer, code, pauseMs, next) => {
    const clock = stopClock();
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const good = routesOf(NETWORK);
    upstream.planRoutes((token) => (token === 'b 0x1' ? answer : good(token)));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
    const known = (await askSources(gateway, 'b 0x1')).data;
    clock.advance(50);
    await expect
      .poll(() => linesOf(gateway, `stops for ${pauseMs / 1_000} seconds`))
      .toMatchObject([{ code, known: 1 }]);
    upstream.planRoutes(good);
    clock.advance(pauseMs - 1_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(upstream.asked()).toEqual(['a 0x1', 'b 0x1']);
    expect((await askSources(gateway, 'b 0x1')).data).toEqual(known);
    expect(known?.sources?.isComplete).toBe(false);
    clock.advance(1_001);
    await expect.poll(() => upstream.asked()[2]).toBe(next);
    await untilAsked(upstream, 5, clock, 50);
    expect(await untilComplete(gateway)).toMatchObject({ isComplete: true });
    expect(upstream.asked().filter((token) => token === 'b 0x1')).toHaveLength(2);
  });

  it('stop for growing pauses while all tokens are gone; without known routes, sources have that code', async () => {
    const clock = stopClock();
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    upstream.planRoutes(() => status(410));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['UPSTREAM_GONE']);
    expect((await askSources(gateway, 'b 0x1')).data).toEqual({ sources: null });
    for (const [index, seconds] of [60, 120, 240].entries()) {
      await expect.poll(() => linesOf(gateway, `stops for ${seconds} seconds`)).toHaveLength(1);
      expect(upstream.asked()).toEqual(TOKENS.slice(0, index + 1));
      expect((await gateway.metrics.expose()).text).toContain('gateway_sweep_stopped 1\n');
      clock.advance(seconds * 1_000);
    }
    upstream.planRoutes(routesOf(NETWORK));
    clock.advance(HOUR);
    await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual(['c 0x2']);
    const { text } = await gateway.metrics.expose();
    expect(text).toContain('gateway_sweep_stopped 0\n');
    expect(text).toMatch(/^gateway_sweep_interval_seconds \d/m);
  });

  it.each([
    ['fail', status(500), 'UPSTREAM_STATUS'],
    ['are not answered yet', stall, 'UPSTREAM_TIMEOUT'],
  ])(
    'that %s give sources an error with that code while no routes are known',
    async (_name, answer, code) => {
      const upstream = await startSweptUpstream(NETWORK);
      upstream.planRoutes(() => answer);
      const gateway = await startSweeping(upstream);
      await expect.poll(() => upstream.asked().length).toBeGreaterThan(0);
      await expect.poll(() => sourcesOf(gateway, 'b 0x1')).toEqual([code]);
    },
  );

  it('are repeated once after the others if they fail; without an answer the sources are incomplete', async () => {
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    upstream.planRoutes((token) => (token === 'b 0x1' ? status(500) : routesOf(NETWORK)(token)));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => upstream.asked().length).toBeGreaterThanOrEqual(5);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(upstream.asked()).toEqual(['a 0x1', 'b 0x1', 'c 0x1', 'c 0x2', 'b 0x1']);
    expect(linesOf(gateway, 'are known')).toEqual([]);
    expect((await askSources(gateway, 'b 0x1')).data?.sources).toMatchObject({ isComplete: false });
    const { text } = await gateway.metrics.expose();
    expect(text).toContain('gateway_sweep_requests_total{outcome="ok"} 3\n');
    expect(text).toContain('gateway_sweep_requests_total{outcome="UPSTREAM_STATUS"} 2\n');
    expect(text).toContain('gateway_sweep_tokens_left 1\n');
    expect(text).toContain('gateway_sweep_pairs 4\n');
    expect(text).toMatch(/^gateway_sweep_age_seconds \d/m);
  });

  it('stop if the map is full, with a line in the log', async () => {
    stopDate();
    const upstream = await startSweptUpstream(NETWORK);
    const tooMany = json({ tokens: Array.from({ length: 50_001 }, (_, nth) => rowOf(`b 0x${nth}`)) });
    upstream.planRoutes((token) => (token === 'c 0x2' ? tooMany : routesOf(NETWORK)(token)));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => linesOf(gateway, 'The map of routes is full')).toHaveLength(1);
    expect(upstream.asked()).toEqual(TOKENS);
    expect(await sourcesOf(gateway, 'b 0x1')).toEqual(['a 0x1']);
    expect((await askSources(gateway, 'b 0x1')).data?.sources).toMatchObject({ isComplete: false });
  });
});

describe('a listing that cannot be fetched', () => {
  it('gives sources the code of its error', async () => {
    const upstream = await startSweptUpstream(NETWORK);
    upstream.plan('tokens', status(503));
    const gateway = await startSweeping(upstream);
    await expect.poll(() => sourcesOf(gateway, 'a 0x1')).toEqual(['UPSTREAM_STATUS']);
    upstream.plan('tokens', json({ tokens: [rowOf('a 0x1')] }));
    await expect.poll(() => sourcesOf(gateway, 'a 0x1')).toEqual(['a 0x1']);
  });
});

describe('the map of routes', () => {
  const ROWS = (...decimals: number[]) =>
    new Map(decimals.map((each, index) => [`3 dst 0x${index}`, { decimals: each }]));

  it('keeps to its limits of pairs and destinations', () => {
    const map = new RouteMap({ pairs: 4, destinations: 6 });
    expect(map.set('a', { takenAt: 1 }, ROWS(1, 2, 3))).toBe(true);
    expect(map.set('a', { takenAt: 2 }, ROWS(4, 5))).toBe(true);
    expect(map.set('b', { takenAt: 2 }, ROWS(4, 5, 3))).toBe(false);
    expect(map.set('b', { takenAt: 2 }, ROWS(6, 7))).toBe(false);
    expect(map.set('b', { takenAt: 2 }, ROWS(4, 6))).toBe(true);
    expect(map.sourcesOf('3 dst 0x0', 4)).toEqual(['a', 'b']);
    expect(map.sourcesOf('3 dst 0x1', undefined)).toEqual(['a', 'b']);
    expect(map.sourcesOf('3 dst 0x1', 6)).toEqual(['b']);
    expect(map.sourcesOf('3 dst 0x0', 1)).toEqual([]);
    expect([map.pairs, map.size, map.oldestAt]).toEqual([4, 2, 2]);
    map.removeUnless((key) => key === 'b');
    expect([map.pairs, map.size, map.sourcesOf('3 dst 0x0', 4)]).toEqual([2, 1, ['b']]);
  });

  it('accepts newer answers, and any answer in place of one from the future', () => {
    const map = new RouteMap();
    map.set('a', { takenAt: 5, upstreamAgeMs: 5 }, ROWS(1));
    map.set('a', { takenAt: 9 }, ROWS(2));
    expect(map.sourcesOf('3 dst 0x0', 1)).toEqual(['a']);
    map.set('a', { takenAt: Date.now() + HOUR }, ROWS(3));
    map.set('a', { takenAt: 9 }, ROWS(4));
    expect(map.sourcesOf('3 dst 0x0', 4)).toEqual(['a']);
    const { changeCount, answerCount } = map;
    map.set('a', { takenAt: 10 }, ROWS(4));
    expect([map.changeCount, map.answerCount]).toEqual([changeCount, answerCount + 1]);
  });
});
