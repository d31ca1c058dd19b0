import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClock } from '../support/clock.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

describe('a refresh that waits because the other listing failed', () => {
  it('by a Retry-After is reported, and does not count as a failed attempt', async () => {
    const { snapshots, upstream, metrics } = await createTestGateway({
      upstream: await startFakeUpstream(),
      config: { upstreamRetries: 0, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 },
    });
    snapshots.start();
    const listings = () => snapshots.status(Date.now());
    await expect.poll(() => listings().map(({ state }) => state)).toEqual(['FRESH', 'FRESH']);
    const clock = stopClock();
    upstream.plan('chains', status(429, { 'retry-after': '3' }));
    snapshots.refreshNow();
    await expect.poll(() => listings()[0].lastFailure?.code).toBe('UPSTREAM_RATE_LIMITED');
    upstream.plan('chains', json({ chains: [chainRow('a')] }));
    const askedAt = Date.now();
    // The one that was asked for beside the chains may have been sent before their answer came.
    await expect
      .poll(() => {
        snapshots.refreshNow();
        return listings()[1].lastFailure?.code;
      })
      .toBe('UPSTREAM_RATE_LIMITED');
    const readAt = Date.now();
    const { message = '', at = 0 } = listings()[1].lastFailure ?? {};
    const [, until = ''] = /^The refresh of the tokens listing waits until (\S+Z): /.exec(message) ?? [];
    // The time of the pause stands still, and so does how much of it is left.
    expect(Date.parse(until)).toBeGreaterThanOrEqual(readAt + 3_000);
    expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + 3_000);
    expect(at).toBeGreaterThanOrEqual(askedAt);
    expect(at).toBeLessThanOrEqual(readAt);
    const { text } = await metrics.expose();
    expect(text).not.toContain('listing="tokens",outcome="UPSTREAM_RATE_LIMITED"');
    // Once nothing stands in the way any more, it has never failed.
    clock.advance(3_000);
    await expect.poll(() => listings()[1].lastFailure).toBeNull();
  });

  it('by an open circuit breaker is reported until it is sent, and does not count as a failed attempt', async () => {
    const rows = [tokenRow('a', '0x1')];
    const { snapshots, upstream, metrics } = await createTestGateway({
      upstream: await startFakeUpstream({ chains: [chainRow('a')], tokens: rows }),
      config: { upstreamRetries: 0, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 },
    });
    snapshots.start();
    const listings = () => snapshots.status(Date.now());
    await expect.poll(() => listings().map(({ state }) => state)).toEqual(['FRESH', 'FRESH']);
    // The breaker stays open until the clock goes on.
    const clock = stopClock();
    // Chains alone open the breaker: the request for tokens waits for its answer meanwhile.
    const answers: (() => void)[] = [];
    upstream.plan('tokens', (...exchange) => answers.push(() => json({ tokens: rows })(...exchange)));
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
    const failureNow = () => {
      snapshots.refreshNow();
      return listings()[1].lastFailure?.code;
    };
    const askedAt = Date.now();
    await expect.poll(failureNow, { interval: 5 }).toBe('UPSTREAM_STATUS');
    const readAt = Date.now();
    const { message = '', at = 0 } = listings()[1].lastFailure ?? {};
    const [, until = ''] = /^The refresh of the tokens listing waits until (\S+Z): .*503/.exec(message) ?? [];
    expect(Date.parse(until)).toBeGreaterThanOrEqual(readAt + 2_000);
    expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + 2_000);
    expect(at).toBeGreaterThanOrEqual(askedAt);
    expect(at).toBeLessThanOrEqual(readAt);
    expect(upstream.count('tokens')).toBe(sent);
    expect((await metrics.expose()).text).not.toContain('listing="tokens",outcome="UPSTREAM_STATUS"');
    // Once it has been answered, it has never failed.
    upstream.plan('tokens', json({ tokens: rows }));
    upstream.plan('chains', json({ chains: [chainRow('a')] }));
    clock.advance(2_000);
    await expect.poll(() => upstream.count('tokens')).toBe(sent + 1);
    await expect.poll(() => listings()[1].lastFailure).toBeNull();
  });
});
