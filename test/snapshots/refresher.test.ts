import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClock } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const CHAINS = [chainRow('a')];
const TOKENS = [tokenRow('a', '0x1')];

/** A gateway with both listings, with its clock stopped. */
async function start() {
  const gateway = await createTestGateway({
    listings: { chains: CHAINS, tokens: TOKENS },
    config: { upstreamRetries: 0, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 },
  });
  const { snapshots, metrics } = gateway;
  snapshots.start();
  const listings = () => snapshots.status(Date.now());
  await expect.poll(() => listings().map(({ state }) => state)).toEqual(['FRESH', 'FRESH']);
  const clock = stopClock();
  return {
    ...gateway,
    clock,
    listings,
    /** Refreshes until the tokens wait for this long (milliseconds), for the reason of this code. */
    async expectWait(code: string, ms: number, reason = /.*/) {
      const askedAt = Date.now();
      // A refresh that began beside the failure of the chains may have been sent before it.
      await expect
        .poll(
          () => {
            snapshots.refreshNow();
            return listings()[1].lastFailure?.code;
          },
          { interval: 5 },
        )
        .toBe(code);
      const readAt = Date.now();
      const { message = '', at = 0 } = listings()[1].lastFailure ?? {};
      const [, until = '', why] =
        /^The refresh of the tokens listing waits until (\S+Z): (.*)/.exec(message) ?? [];
      // The clock of the pause is stopped, so the time that is left does not change.
      expect(Date.parse(until)).toBeGreaterThanOrEqual(readAt + ms);
      expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + ms);
      expect(why).toMatch(reason);
      expect(at).toBeGreaterThanOrEqual(askedAt);
      expect(at).toBeLessThanOrEqual(readAt);
      expect((await metrics.expose()).text).not.toContain(`listing="tokens",outcome="${code}"`);
    },
    /** Once nothing stands in the way any more, the tokens have never failed. */
    async expectNoFailureAfter(ms: number) {
      clock.advance(ms);
      await expect.poll(() => listings()[1].lastFailure).toBeNull();
    },
  };
}

describe('a refresh that waits because the other listing failed is reported, and does not count as failed:', () => {
  it('by a Retry-After', async () => {
    const { snapshots, upstream, listings, expectWait, expectNoFailureAfter } = await start();
    upstream.plan('chains', status(429, { 'retry-after': '3' }));
    snapshots.refreshNow();
    await expect.poll(() => listings()[0].lastFailure?.code).toBe('UPSTREAM_RATE_LIMITED');
    upstream.plan('chains', json({ chains: CHAINS }));
    await expectWait('UPSTREAM_RATE_LIMITED', 3_000);
    await expectNoFailureAfter(3_000);
  });

  it('by an open circuit breaker, until it is sent', async () => {
    const { snapshots, upstream, metrics, clock, listings, expectWait, expectNoFailureAfter } = await start();
    // Chains alone open the breaker: the request for tokens waits for its answer meanwhile.
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
    await expectWait('UPSTREAM_STATUS', 2_000, /503/);
    expect(upstream.count('tokens')).toBe(sent);
    upstream.plan('tokens', json({ tokens: TOKENS }));
    upstream.plan('chains', json({ chains: CHAINS }));
    clock.advance(2_000);
    await expect.poll(() => upstream.count('tokens')).toBe(sent + 1);
    await expectNoFailureAfter(0);
  });
});
