/** A refresh that has to wait does not count as failed, and an unexpected exception counts like any failure. */
import { describe, expect, it } from 'vitest';
import type { Chain } from '../../src/domain/listing.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClocks, until } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const CHAINS = [chainRow('a')];
const TOKENS = [tokenRow('a', '0x1')];

/** A gateway with both listings, with its clocks stopped. */
async function start() {
  const gateway = await createTestGateway({
    listings: { chains: CHAINS, tokens: TOKENS },
    config: { upstreamRetries: 0, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 },
  });
  const { snapshots, metrics } = gateway;
  snapshots.start();
  const listings = () => snapshots.status(Date.now());
  await expect.poll(() => listings().map(({ state }) => state)).toEqual(['FRESH', 'FRESH']);
  const clock = stopClocks();
  return {
    ...gateway,
    clock,
    /** The status of the chains and of the tokens. */
    listings,
    /**
     * Refreshes until the tokens wait because of an error with this code, and checks that they wait for `ms`
     * milliseconds.
     */
    async expectWait(code: string, ms: number, reason = '') {
      // The first refresh may have begun before the chains failed: repeat it.
      await until(async () => {
        snapshots.refreshNow();
        return listings()[1].lastFailure?.code === code;
      });
      const at = Date.now();
      const end = new Date(at + ms).toISOString();
      const message = new RegExp(`^The refresh of the tokens listing waits until ${end}: .*${reason}`);
      expect(listings()[1].lastFailure).toMatchObject({ at, message: expect.stringMatching(message) });
      expect((await metrics.expose()).text).not.toContain(`listing="tokens",outcome="${code}"`);
    },
  };
}

describe('a refresh that waits because the other listing failed', () => {
  it('a refresh that waits because of a Retry-After is reported, and does not count as failed', async () => {
    const { snapshots, upstream, clock, listings, expectWait } = await start();
    upstream.plan('chains', status(429, { 'retry-after': '3' }));
    snapshots.refreshNow();
    await expect.poll(() => listings()[0].lastFailure?.code).toBe('UPSTREAM_RATE_LIMITED');
    upstream.plan('chains', json({ chains: CHAINS }));
    await expectWait('UPSTREAM_RATE_LIMITED', 3_000);
    clock.advance(3_000);
    await expect.poll(() => listings()[1].lastFailure).toBeNull();
  });

  it('a refresh that waits for an open circuit breaker is reported until it is sent, and does not count as failed', async () => {
    const { snapshots, upstream, metrics, clock, listings, expectWait } = await start();
    // Only failed requests for chains open the breaker. Meanwhile the upstream does not answer the request
    // for tokens.
    const answers: (() => void)[] = [];
    upstream.plan('tokens', (...exchange) => answers.push(() => json({ tokens: TOKENS })(...exchange)));
    upstream.plan('chains', status(503));
    const isOpen = async () => {
      snapshots.refreshNow();
      return (await metrics.expose()).text.includes(
        'gateway_upstream_breaker_state{upstream="v1",state="open"} 1',
      );
    };
    await expect.poll(isOpen, { interval: 5 }).toBe(true);
    const { takenAt } = listings()[1];
    answers[0]?.();
    await expect.poll(() => listings()[1].takenAt, { interval: 5 }).not.toBe(takenAt);
    const sent = upstream.count('tokens');
    await expectWait('UPSTREAM_STATUS', 2_000, '503');
    expect(upstream.count('tokens')).toBe(sent);
    upstream.plan('tokens', json({ tokens: TOKENS }));
    upstream.plan('chains', json({ chains: CHAINS }));
    clock.advance(2_000);
    await expect.poll(() => upstream.count('tokens')).toBe(sent + 1);
    await expect.poll(() => listings()[1].lastFailure).toBeNull();
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
])(
  'an unexpected exception in %s a listing is handled like any failure, and logged with its stack',
  async (_name, broken) => {
    let isBroken = true;
    const { query, snapshots, logged, metrics } = await createTestGateway({
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
    const chains = () => snapshots.status(Date.now())[0];
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
  },
);
