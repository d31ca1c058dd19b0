/** Listings are refreshed in the background, one refresh at a time. Their status says how old they are, and the age of an answer from a cache counts. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Chain } from '../../src/domain/listing.js';
import { resolveRules } from '../../src/domain/listing-rules.js';
import { createTokenSnapshot, type TokenSnapshot } from '../../src/snapshots/snapshot.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { createContexts } from '../graph/executor.js';
import { stopClock, stopClocks, stopDate, untilCachesSeeTheTime } from '../support/clock.js';
import {
  type Answer,
  first,
  gapsBetween,
  json,
  late,
  stall,
  startFakeSuccessor,
  status,
} from '../support/fake-upstream.js';
import { codesOf, createTestGateway, type Settings, type TestGateway } from '../support/test-gateway.js';
import { startServer, type TestServer } from '../support/test-server.js';

const PRICES = '{ tokens { symbol price { usd asOf } } }';
const STATUS = `{ listings {
  name source state takenAt ageSeconds rows rejectedRows version lastFailure { code message at }
} }`;

interface Tokens {
  readonly tokens: readonly { symbol: string; price: { usd: number; asOf: string } | null }[];
}
type Status = { readonly listings: readonly Record<string, unknown>[] };

const listingAt = (usd: number, age?: number) =>
  json({ tokens: [tokenRow('a', '0x1', { price: { usd } })] }, age === undefined ? {} : { age: `${age}` });

async function serve(tokens: Answer, config: Settings = {}, firstPauseMs = 1_000) {
  return createTestGateway({ listings: { chains: [chainRow('a')], tokens }, config, firstPauseMs });
}

it('refreshes run in the background, and requests are answered at once from the snapshots', async () => {
  let release = () => {};
  const held: Answer = () => new Promise((resolve) => (release = () => resolve(listingAt(2))));
  // Both answers are planned now, because the second request can be sent before the test continues.
  const { query, upstream, snapshots } = await serve(first(1, listingAt(1), held), { tokensFreshMs: 100 });
  await query(PRICES);
  await expect.poll(() => upstream.count('tokens')).toBe(2);
  const priceNow = async () => (await query<Tokens>(PRICES)).data?.tokens[0]?.price?.usd;
  expect(await priceNow()).toBe(1);
  const { loaders } = (await createContexts({ snapshots }))();
  const begun = await loaders.tokensListed(undefined);
  release();
  await expect.poll(priceNow).toBe(2);
  expect(await loaders.tokensListed(undefined)).toBe(begun);
  expect(begun[0]?.price?.usd).toBe(1);
});

it('refreshes run one at a time, at the configured interval, however many requests there are', async () => {
  let underWay = 0;
  let most = 0;
  const counted: Answer = (response) => {
    most = Math.max(most, ++underWay);
    response.once('close', () => underWay--);
    return late(10, listingAt(1));
  };
  const { query, upstream } = await serve(counted, { tokensFreshMs: 200 });
  while (upstream.count('tokens') < 4) {
    await Promise.all(Array.from({ length: 10 }, () => query(PRICES)));
    await setImmediate();
  }
  expect(most).toBe(1);
  // The pause is never shorter than half of the freshness, however slow the upstream is.
  for (const gap of gapsBetween(upstream)) expect(gap).toBeGreaterThan(99);
  expect(upstream.count('chains')).toBe(0);
});

it('refreshes count the interval from the request, so that a slow upstream does not make listings stale', async () => {
  const { query, upstream } = await serve(late(1000, listingAt(1)), { tokensFreshMs: 2000 });
  await query(PRICES);
  // Counted from the answer, each gap would be at least 3,000 ms. A busy machine is late only sometimes.
  await expect.poll(() => Math.min(...gapsBetween(upstream))).toBeLessThan(2800);
});

it('refreshes log once that the tokens are too many for the promised speed', async () => {
  const tokens = Array.from({ length: 5_001 }, (_none, nth) => tokenRow('a', `0x${nth.toString(16)}1`));
  const { query, linesWith, upstream } = await serve(json({ tokens }), { tokensFreshMs: 20 });
  await query(PRICES);
  await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(2);
  expect(linesWith('no speed is promised')).toHaveLength(1);
});

it('a failed refresh is repeated after growing pauses, until one succeeds', async () => {
  const { query, snapshots, upstream } = await serve(status(404), {}, 100);
  snapshots.start();
  await expect.poll(() => upstream.count('tokens')).toBeGreaterThanOrEqual(4);
  for (const [nth, shortest] of [49, 99, 199].entries())
    expect(gapsBetween(upstream)[nth]).toBeGreaterThanOrEqual(shortest);
  upstream.plan('tokens', listingAt(3));
  await expect.poll(async () => codesOf(await query(PRICES))).toEqual([]);
});

it('a failed refresh before the first snapshot gives its error to all requests, which cause no earlier refresh', async () => {
  const { query, upstream } = await serve(status(410), {}, 10_000);
  for (let asked = 0; asked < 20; asked++) expect(codesOf(await query(PRICES))).toEqual(['UPSTREAM_GONE']);
  expect(upstream.count('tokens')).toBe(1);
});

it.each([
  ['v1', true],
  ['value-transfer', false],
  // The successor is gone, too.
  ['auto', false],
] as const)(
  'a failed refresh with 410 and UPSTREAM_PROFILE=%s logs how the successor can take over: %s',
  async (upstreamProfile, isNamed) => {
    const successor = await startFakeSuccessor();
    onTestFinished(successor.close);
    successor.plan('tokens', status(410));
    const { query, linesWith } = await serve(status(410), {
      upstreamProfile,
      upstreamSuccessorUrl: successor.url,
    });
    await query(PRICES);
    const [line] = linesWith('The tokens listing could not be refreshed');
    expect(line?.msg.includes('set UPSTREAM_PROFILE=auto')).toBe(isNamed);
  },
);

it('a clock that is set back does not make a listing or a price younger', async () => {
  const { query } = await serve(listingAt(1), {
    tokensFreshMs: 300_000,
    priceMaxAgeMs: 900_000,
    upstreamRetries: 0,
  });
  const monotonic = stopClock();
  // The date is stopped, so that the age of the listing is 0 when the date is set back.
  const date = stopDate();
  date.advance(7_200_000);
  expect((await query<Tokens>(PRICES)).data?.tokens[0]?.price?.usd).toBe(1);
  date.setBack(7_200_000);
  monotonic.advance(301_500);
  const stale = { state: 'STALE', ageSeconds: 301 };
  expect((await query<Status>(STATUS)).data?.listings[1]).toMatchObject(stale);
  expect((await query<Tokens>(PRICES)).data?.tokens[0]?.price?.usd).toBe(1);
  monotonic.advance(600_000);
  expect((await query<Tokens>(PRICES)).data).toEqual({ tokens: [{ symbol: 'USDC', price: null }] });
});

it('listings have a status, before and after the first snapshot', async () => {
  const listings = { chains: [chainRow('a'), chainRow('a')], tokens: stall };
  const { query, snapshots, upstream } = await createTestGateway({ listings });
  const unknown = { takenAt: null, ageSeconds: null, version: null, lastFailure: null };
  const empty = { state: 'EMPTY', rows: 0, rejectedRows: 0, ...unknown };
  const both = ['chains', 'tokens'].map((name) => ({ name, source: 'v1', ...empty }));
  expect(await query(STATUS)).toEqual({ data: { listings: both } });
  expect(upstream.count()).toBe(0);
  snapshots.start();
  await expect
    .poll(async () => (await query<Status>(STATUS)).data?.listings[0])
    .toEqual({
      name: 'chains',
      source: 'v1',
      state: 'FRESH',
      takenAt: expect.stringMatching(/Z$/),
      ageSeconds: expect.any(Number),
      rows: 1,
      rejectedRows: 1,
      version: expect.stringMatching(/^[\w-]{22}$/),
      lastFailure: null,
    });
});

it.each<[string, (chain: Chain) => unknown]>([
  [
    'fetching',
    () => {
      throw new TypeError('a secret mistake');
    },
  ],
  ['guarding', (chain) => ({ ...chain, nativeCurrency: null })],
  ['indexing', (chain) => ({ ...chain, name: null })],
])('an unexpected exception in %s a listing is a failure with a stack', async (_name, broken) => {
  let isBroken = true;
  const { query, listings, logged, metrics } = await createTestGateway({
    decorate: (service) => ({
      ...service,
      async fetch(name) {
        const fetched = await service.fetch(name);
        if (name === 'tokens' || !isBroken) return fetched;
        return { ...fetched, rows: (fetched.rows as readonly Chain[]).map(broken) as never };
      },
    }),
    firstPauseMs: 50,
  });
  const chains = () => listings().chains;
  const answer = await query('{ chains { name } tokens { symbol } }');
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(JSON.stringify(answer.errors)).not.toMatch(/secret|TypeError|Cannot read/);
  expect(chains()).toMatchObject({ state: 'EMPTY', lastFailure: { code: 'UPSTREAM_MALFORMED' } });
  expect(chains().lastFailure?.message).toMatch(/internal error of the gateway/);
  await expect
    .poll(async () => {
      const failed =
        /^gateway_listing_refreshes_total\{listing="chains",outcome="UPSTREAM_MALFORMED"\} (\d+)$/m;
      const stacks = logged.filter(({ err }) => JSON.stringify(err)?.includes('TypeError'));
      return stacks.length - Number(failed.exec((await metrics.expose()).text)?.[1]);
    })
    .toBe(0);
  isBroken = false;
  await expect.poll(() => chains().state).toBe('FRESH');
});

async function tokensAt(index: number, before?: TokenSnapshot): Promise<TokenSnapshot> {
  const fetched = await TOKENS.parse([tokenRow('a', `0x${index}`)], { source: 'v1', takenAt: index });
  return createTokenSnapshot(fetched, resolveRules([], []), before);
}

it('the log of changes has the last 200 changes', async () => {
  let last = await tokensAt(0);
  const cursors = [last.history.changes.cursor];
  for (let index = 1; index <= 200; index++) {
    last = await tokensAt(index, last);
    cursors.push(last.history.changes.cursor);
  }
  expect(new Set(cursors).size).toBe(201);
  const changes = last.changesSince(cursors[0]);
  expect(changes).toMatchObject({ isReset: false, changed: last.rows });
  expect(changes.removed).toHaveLength(200);
  const later = await tokensAt(201, last);
  expect(later.changesSince(cursors[0])).toMatchObject({ isReset: true, changed: later.rows, removed: [] });
  expect(later.changesSince(cursors[1])).toMatchObject({ isReset: false });
});

const AGES = '{ tokens { price { usd } } listings { state takenAt ageSeconds lastFailure { code } } }';

const serveOld = (tokens: Answer, config: Settings = {}): Promise<TestServer> =>
  startServer({
    listings: { chains: [chainRow('a')], tokens },
    config: { tokensFreshMs: 300_000, ...config },
  });

async function seenBy({ query }: TestGateway) {
  const { data } = await query<Tokens & Status>(AGES);
  return { price: data?.tokens[0]?.price, listing: data?.listings[1] };
}

/** Starts refreshes, and expects the usual interval of 600 ms. After a slow answer it would be half as long. */
async function expectUsualGaps({ snapshots, upstream }: TestGateway): Promise<void> {
  snapshots.start();
  await expect.poll(() => upstream.count('tokens'), { timeout: 10_000 }).toBe(4);
  for (const gap of gapsBetween(upstream)) expect(gap).toBeGreaterThan(400);
}

it('an answer that a cache has stored for two hours makes the listing stale and its price null', async () => {
  const gateway = await serveOld(listingAt(1, 7_200));
  const { price, listing } = await seenBy(gateway);
  expect(price).toBeNull();
  expect(listing).toMatchObject({ state: 'STALE', lastFailure: null });
  expect(listing?.ageSeconds).toBeGreaterThanOrEqual(7_200);
  expect(Date.now() - Date.parse(String(listing?.takenAt))).toBeGreaterThanOrEqual(7_200_000);
  const { headers } = await gateway.ask({ query: '{ tokens { name } }' });
  expect(headers['x-stale-listings']).toMatch(/^tokens;age=72\d\d$/);
});

it('an old answer is requested as often as a fresh one, and the log says once why it is old', async () => {
  const gateway = await serveOld(listingAt(1, 7_200), { tokensFreshMs: 600 });
  await expectUsualGaps(gateway);
  expect(gateway.linesWith('carries "Age: 7200"')).toEqual([
    expect.objectContaining({ level: 'warn', listing: 'tokens', upstreamAgeSeconds: 7_200 }),
  ]);
});

it('an answer older than the served listing does not replace it, does not count as a failure, and is logged', async () => {
  const gateway = await serveOld(first(1, listingAt(1), listingAt(2, 60)));
  const before = await seenBy(gateway);
  await gateway.refresh();
  expect(await seenBy(gateway)).toEqual({
    ...before,
    listing: { ...before.listing, ageSeconds: expect.any(Number) },
  });
  expect(gateway.linesWith('Kept the tokens listing')).toEqual([
    expect.objectContaining({ level: 'info', upstreamAgeSeconds: 60 }),
  ]);
  expect((await gateway.metrics.expose()).text).toContain(
    'gateway_listing_refreshes_total{listing="tokens",outcome="older"} 1',
  );
  // The answer is accepted once the served listing is older.
  const clock = stopClock();
  clock.advance(40_000);
  await gateway.refresh();
  expect((await seenBy(gateway)).price?.usd).toBe(1);
  clock.advance(25_000);
  await gateway.refresh();
  expect((await seenBy(gateway)).price?.usd).toBe(2);
});

it('an answer older than the served listing is followed by the next refresh after the usual interval', async () => {
  const gateway = await serveOld(first(1, listingAt(1), listingAt(2, 60)), { tokensFreshMs: 600 });
  await expectUsualGaps(gateway);
  const { price, listing } = await seenBy(gateway);
  expect([price?.usd, listing?.state]).toEqual([1, 'STALE']);
});

it('routes older than the cached ones do not replace them; the next request for them comes after the usual time', async () => {
  const clock = stopClocks();
  const gateway = await serveOld(json({ tokens: [tokenRow('a', '0x1'), tokenRow('a', '0x2')] }), {
    destinationsFreshMs: 60_000,
  });
  const { upstream, query } = gateway;
  const routes = (address: string, age: number) =>
    json({ tokens: [tokenRow('a', address)] }, { age: `${age}` });
  upstream.plan('routes', routes('0x2', 0));
  const seen = async () => {
    await untilCachesSeeTheTime();
    const { data } = await query<{ destinations: readonly { asOf: string; tokens: readonly object[] }[] }>(
      '{ destinations(srcChainKey: "a", srcToken: "0x1", includeSourceChain: true) { asOf tokens { address } } }',
    );
    return data?.destinations;
  };
  const asOf = new Date(Date.now()).toISOString();
  const expected = [{ asOf, tokens: [{ address: '0x2' }] }];
  expect(await seen()).toEqual(expected);
  upstream.plan('routes', routes('0x1', 70));
  clock.advance(61_000);
  expect([await seen(), await seen()]).toEqual([expected, expected]);
  expect(upstream.routesAsked()).toHaveLength(2);
  // The answer is now younger than the cached routes.
  clock.advance(61_000);
  expect(await seen()).toEqual([expect.objectContaining({ tokens: [{ address: '0x1' }] })]);
});

it('an older answer is recognised by its age, and not by its time, which is wrong after the clock was set back', async () => {
  const monotonic = stopClock();
  const date = stopDate();
  date.advance(7_200_000);
  const gateway = await serveOld(first(1, listingAt(1), listingAt(2, 5)));
  await seenBy(gateway);
  date.setBack(7_200_000);
  monotonic.advance(30_000);
  await gateway.refresh();
  expect((await seenBy(gateway)).price?.usd).toBe(2);
});
