import { describe, expect, it } from 'vitest';
import { demoChains } from '../fixtures/demo.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { createTestGateway, type TestGatewayOptions } from '../support/test-gateway.js';

interface Rows {
  readonly tokens: readonly { readonly address: string; readonly decimals: number }[];
}

const address = (index: number) => `0x${(index + 1).toString(16)}`;
const rows = (count: number, changes: object = {}) =>
  Array.from({ length: count }, (_, index) => tokenRow('a', address(index), changes));
const listing = (count: number, changes?: object) => json({ tokens: rows(count, changes) });
/** Ten rows, and the first of them with other decimals. */
const flipped = (decimals: number, usd = 1) =>
  json({ tokens: [tokenRow('a', address(0), { decimals, price: { usd } }), ...rows(10).slice(1)] });

/** Refreshes only when a test says so. */
const SELDOM = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };

/** A gateway that serves ten tokens, and asks for them often. */
async function serveTen(config: TestGatewayOptions['config'] = {}, firstPauseMs = 10) {
  const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens: rows(10) });
  const gateway = await createTestGateway({
    upstream,
    config: { tokensFreshMs: 30, upstreamRetries: 0, ...config },
    firstPauseMs,
  });
  const served = async () => (await gateway.query<Rows>('{ tokens { address decimals } }')).data?.tokens;
  await served();
  await gateway.query('{ chains { chainKey } }');
  const ended = async () => {
    const { text } = await gateway.metrics.expose();
    const counts = text.matchAll(/^gateway_listing_refreshes_total\{listing="tokens".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  return {
    ...gateway,
    /** Has one refresh run to its end. */
    async refresh() {
      const before = await ended();
      gateway.snapshots.refreshNow();
      await expect.poll(ended, { interval: 5 }).toBeGreaterThan(before);
    },
    served,
    count: async () => (await served())?.length,
    /** How often the upstream was asked for tokens since the call. */
    from() {
      const before = upstream.count('tokens');
      return () => upstream.count('tokens') - before;
    },
    tokens: () => gateway.snapshots.status(Date.now())[1],
    heldBack: async () => {
      const { text } = await gateway.metrics.expose();
      const read = (line: RegExp) => Number(line.exec(text)?.[1] ?? 0);
      return {
        now: read(/^gateway_listing_held_back\{listing="tokens"\} (\d+)$/m),
        times: read(/^gateway_listing_refreshes_total\{listing="tokens",outcome="held_back"\} (\d+)$/m),
      };
    },
  };
}

describe('a refresh that loses more than half of the rows', () => {
  it('is held back, said to be so, and taken when it has come three times in a row', async () => {
    const { upstream, count, refresh, tokens, heldBack, logged } = await serveTen(SELDOM);
    upstream.plan('tokens', listing(4));
    for (const times of [1, 2]) {
      await refresh();
      expect(await heldBack()).toEqual({ now: 1, times });
      expect(tokens()).toMatchObject({
        rows: 10,
        isHeldBack: true,
        lastFailure: { code: 'UPSTREAM_MALFORMED' },
      });
      expect(tokens().lastFailure?.message).toBe(
        `The upstream's tokens listing is held back: it lacks 6 of 10 known rows. It is taken once it has come 3 times in a row (so far: ${times}).`,
      );
      expect(await count()).toBe(10);
    }
    await refresh();
    expect(await count()).toBe(4);
    expect(await heldBack()).toEqual({ now: 0, times: 2 });
    expect(logged.some(({ msg }) => msg.includes('that was held back: it lacks 6 of 10'))).toBe(true);
  });

  it('is counted by the rows that are lost, however many others come', async () => {
    const { upstream, tokens, served, from } = await serveTen();
    const others = Array.from({ length: 10 }, (_, index) => tokenRow('b', address(index)));
    const asked = from();
    upstream.plan('tokens', (response, request, nth) => {
      (asked() < 3 ? json({ tokens: others }) : listing(10))(response, request, nth);
    });
    await expect.poll(() => tokens().lastFailure?.message).toContain('it lacks 10 of 10');
    expect((await served())?.[0]?.address).toBe(address(0));
  });

  it.each([
    ['half of the rows', 5, {}],
    ['more, where more may go', 1, { holdBackShrink: 0.9 }],
    ['more, where it need come only once', 1, { holdBackTimes: 1 }],
  ])('is not one that loses %s', async (_name, left, config) => {
    const { upstream, count, heldBack } = await serveTen(config);
    upstream.plan('tokens', listing(left));
    await expect.poll(count).toBe(left);
    expect(await heldBack()).toEqual({ now: 0, times: 0 });
  });

  it('is any loss where none may go', async () => {
    const { upstream, tokens } = await serveTen({ holdBackShrink: 0 });
    upstream.plan('tokens', listing(9));
    await expect.poll(() => tokens().lastFailure?.message).toContain('it lacks 1 of 10');
  });

  it('is counted anew when another comes between, and when a good one does', async () => {
    const { upstream, count, heldBack, from } = await serveTen({ holdBackTimes: 4 });
    const asked = from();
    const answers = [listing(4), listing(4), listing(3), listing(4), listing(4), listing(10), listing(4)];
    upstream.plan('tokens', (response, request, nth) => {
      (answers[asked() - 1] ?? listing(10))(response, request, nth);
    });
    await expect.poll(asked).toBeGreaterThan(9);
    expect(await count()).toBe(10);
    expect((await heldBack()).times).toBe(6);
  });

  it('is counted on through refreshes that fail', async () => {
    const { upstream, count, refresh } = await serveTen(SELDOM, 3_600_000);
    for (const answer of [listing(4), status(500), listing(4), status(500)]) {
      upstream.plan('tokens', answer);
      await refresh();
      expect(await count()).toBe(10);
    }
    upstream.plan('tokens', listing(4));
    await refresh();
    expect(await count()).toBe(4);
  });

  it('without any row is never taken', async () => {
    const { upstream, count, from, tokens } = await serveTen({ holdBackShrink: 1, holdBackTimes: 1 });
    const asked = from();
    upstream.plan('tokens', json({ tokens: [] }));
    await expect.poll(asked).toBeGreaterThan(4);
    expect(await count()).toBe(10);
    expect(tokens()).toMatchObject({ isHeldBack: false, lastFailure: { code: 'UPSTREAM_MALFORMED' } });
  });
});

describe('a refresh that changes decimals', () => {
  const decimalsOf = (served: Rows['tokens'] | undefined) => served?.[0]?.decimals;

  it('of one known token is held back, and taken when it has come three times, whatever its prices', async () => {
    const { upstream, served, refresh, tokens } = await serveTen(SELDOM);
    upstream.plan('tokens', (response, request, nth) => flipped(18, nth)(response, request, nth));
    for (const decimals of [6, 6]) {
      await refresh();
      expect(tokens().lastFailure?.message).toContain('changes the decimals of 1 of ');
      expect(decimalsOf(await served())).toBe(decimals);
    }
    await refresh();
    expect(decimalsOf(await served())).toBe(18);
  });

  it('to others each time is never taken', async () => {
    const { upstream, served, from } = await serveTen();
    const asked = from();
    upstream.plan('tokens', (response, request, nth) => flipped(7 + (nth % 2))(response, request, nth));
    await expect.poll(asked).toBeGreaterThan(6);
    expect(decimalsOf(await served())).toBe(6);
  });

  it('is one, too, where the row was away meanwhile', async () => {
    const { upstream, served, from, tokens, count } = await serveTen();
    upstream.plan('tokens', json({ tokens: rows(10).slice(1) }));
    await expect.poll(count).toBe(9);
    const asked = from();
    upstream.plan('tokens', (response, request, nth) => {
      (asked() < 3 ? flipped(18) : listing(10))(response, request, nth);
    });
    await expect.poll(() => tokens().lastFailure?.message).toContain('changes the decimals of 1 of ');
    await expect.poll(count).toBe(10);
    expect(decimalsOf(await served())).toBe(6);
  });

  it('is not one with new rows, other prices, names or another order', async () => {
    const { upstream, count, heldBack } = await serveTen();
    upstream.plan('tokens', json({ tokens: rows(12, { name: 'new', price: { usd: 7 } }).reverse() }));
    await expect.poll(count).toBe(12);
    expect(await heldBack()).toEqual({ now: 0, times: 0 });
  });

  it("is one of a chain's native currency, too", async () => {
    const { upstream, snapshots } = await serveTen({ chainsFreshMs: 30 });
    const nativeCurrency = { ...demoChains[0]?.nativeCurrency, decimals: 6 };
    upstream.plan('chains', json({ chains: [chainRow('a', { nativeCurrency })] }));
    await expect
      .poll(() => snapshots.status(Date.now())[0].lastFailure?.message)
      .toContain("The upstream's chains listing is held back: it changes the decimals of 1 of ");
  });
});
