/** The age of an answer from a cache counts: for the listing, for its prices, and for which answer is newer. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClock, stopDate } from '../support/clock.js';
import { type Answer, first, gapsBetween, json, startFakeUpstream } from '../support/fake-upstream.js';
import { refresh, type Settings, type TestGateway } from '../support/test-gateway.js';
import { startServer, type TestServer } from '../support/test-server.js';

const TOKENS = '{ tokens { price { usd } } listings { state takenAt ageSeconds lastFailure { code } } }';

interface Data {
  readonly tokens: readonly { readonly price: { readonly usd: number } | null }[];
  readonly listings: readonly {
    readonly state: string;
    readonly takenAt: string;
    readonly ageSeconds: number;
    readonly lastFailure: object | null;
  }[];
}

const listingAt = (usd: number, age?: number) =>
  json({ tokens: [tokenRow('a', '0x1', { price: { usd } })] }, age === undefined ? {} : { age: `${age}` });

async function serve(tokens: Answer, config: Settings = {}): Promise<TestServer> {
  const upstream = await startFakeUpstream({ chains: [chainRow('a')] });
  upstream.plan('tokens', tokens);
  return startServer({ upstream, config: { tokensFreshMs: 300_000, ...config } });
}

async function seenBy({ query }: TestGateway) {
  const { data } = await query<Data>(TOKENS);
  return { price: data?.tokens[0]?.price, listing: data?.listings[1] };
}

/** Starts refreshes, and expects the usual interval of 600 ms. After a slow answer it would be half as long. */
async function expectUsualGaps({ snapshots, upstream }: TestGateway): Promise<void> {
  snapshots.start();
  await expect.poll(() => upstream.count('tokens'), { timeout: 10_000 }).toBe(4);
  for (const gap of gapsBetween(upstream)) expect(gap).toBeGreaterThan(400);
}

const linesOf = ({ logged }: TestGateway, text: string) => logged.filter(({ msg }) => msg.includes(text));

it('an answer that a cache has stored for two hours makes the listing stale and its price null', async () => {
  const gateway = await serve(listingAt(1, 7_200));
  const { price, listing } = await seenBy(gateway);
  expect(price).toBeNull();
  expect(listing).toMatchObject({ state: 'STALE', lastFailure: null });
  expect(listing?.ageSeconds).toBeGreaterThanOrEqual(7_200);
  expect(Date.now() - Date.parse(listing?.takenAt ?? '')).toBeGreaterThanOrEqual(7_200_000);
  const { headers } = await gateway.ask({ query: '{ tokens { name } }' });
  expect(headers['x-stale-listings']).toMatch(/^tokens;age=72\d\d$/);
});

it('an old answer is requested as often as a fresh one, and the log says once why it is old', async () => {
  const gateway = await serve(listingAt(1, 7_200), { tokensFreshMs: 600 });
  await expectUsualGaps(gateway);
  expect(linesOf(gateway, 'carries "Age: 7200"')).toEqual([
    expect.objectContaining({ level: 'warn', listing: 'tokens', upstreamAgeSeconds: 7_200 }),
  ]);
});

it('an answer older than the served listing does not replace it, does not count as a failure, and is logged', async () => {
  const gateway = await serve(first(1, listingAt(1), listingAt(2, 60)));
  const before = await seenBy(gateway);
  await refresh(gateway);
  expect(await seenBy(gateway)).toEqual({
    ...before,
    listing: { ...before.listing, ageSeconds: expect.any(Number) },
  });
  expect(linesOf(gateway, 'Kept the tokens listing')).toEqual([
    expect.objectContaining({ level: 'info', upstreamAgeSeconds: 60 }),
  ]);
  expect((await gateway.metrics.expose()).text).toContain(
    'gateway_listing_refreshes_total{listing="tokens",outcome="older"} 1',
  );
  // The answer is accepted once the served listing is older.
  const clock = stopClock();
  clock.advance(40_000);
  await refresh(gateway);
  expect((await seenBy(gateway)).price?.usd).toBe(1);
  clock.advance(25_000);
  await refresh(gateway);
  expect((await seenBy(gateway)).price?.usd).toBe(2);
});

it('an answer older than the served listing is followed by the next refresh after the usual interval', async () => {
  const gateway = await serve(first(1, listingAt(1), listingAt(2, 60)), { tokensFreshMs: 600 });
  await expectUsualGaps(gateway);
  const { price, listing } = await seenBy(gateway);
  expect([price?.usd, listing?.state]).toEqual([1, 'STALE']);
});

it('an older answer is recognised by its age, and not by its time, which is wrong after the clock was set back', async () => {
  const monotonic = stopClock();
  const date = stopDate();
  date.advance(7_200_000);
  const gateway = await serve(first(1, listingAt(1), listingAt(2, 5)));
  await seenBy(gateway);
  date.setBack(7_200_000);
  monotonic.advance(30_000);
  await refresh(gateway);
  expect((await seenBy(gateway)).price?.usd).toBe(2);
});
