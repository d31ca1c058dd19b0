import { describe, expect, it } from 'vitest';
import { fingerprint, type ServiceFingerprints } from '../../src/domain/digests.js';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';
import { type ListingKind, TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import {
  CHAIN,
  prefixOf,
  SYMBOLS,
  startMovingUpstream,
  startPeers,
  statusOf,
  symbolsOf,
  watchAnswers,
} from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { codesOf } from '../support/test-gateway.js';

const HOUR = 3_600_000;

function servicesAt(url: string): ServiceFingerprints {
  return { v1: fingerprint(url) };
}

/** A valid stored token listing whose rows are not from the upstream. */
async function record(url: string, takenAt: number): Promise<string> {
  const rows = [tokenRow(CHAIN, '0xbad', { symbol: 'BAD' })];
  const taken = { source: 'v1' as const, takenAt, rows, rejected: { count: 0, first: [] } };
  return (await encodeListing(TOKENS as ListingKind<unknown>, taken, servicesAt(url))).toString();
}

describe.skipIf(isRedisMissing)('invalid data in Redis', () => {
  const at = (upstream: FakeUpstream, offset: number) => record(upstream.url, Date.now() + offset);
  const TEXTS: readonly [
    string,
    (upstream: FakeUpstream) => Promise<{ takenAt: number | string; text: string }>,
  ][] = [
    [
      'altered',
      async (upstream) => ({ takenAt: Date.now(), text: (await at(upstream, 0)).replace('BAD', 'BED') }),
    ],
    ['from the future', async (upstream) => ({ takenAt: Date.now() + HOUR, text: await at(upstream, HOUR) })],
    [
      'from the future, as only its text says',
      async (upstream) => ({ takenAt: Date.now(), text: await at(upstream, HOUR) }),
    ],
  ];

  it.each(TEXTS)('a snapshot that is %s is refused by all, and replaced', async (_name, rubbish) => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const key = `${prefixOf(upstream.url)}tokens:snapshot`;
    await redis.client.hset(key, await rubbish(upstream));
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    const refused = gateways.flatMap(({ logged }) => logged).filter(({ msg }) => msg.includes('is refused'));
    expect(refused.length).toBeLessThan(7);
    await expect
      .poll(async () => {
        const text = await redis.client.hget(key, 'text');
        const { rows } = await decodeListing(
          TOKENS,
          Buffer.from(text ?? ''),
          servicesAt(upstream.url),
          Date.now(),
        );
        return rows.map(({ symbol }) => symbol);
      })
      .toEqual(SYMBOLS);
  });

  it('a snapshot that is older than its takenAt in Redis does not replace a newer one', async () => {
    const { redis, upstream, gateways, key } = await startPeers(3, { config: { tokensFreshMs: 200 } });
    for (const gateway of gateways) await expect.poll(() => symbolsOf(gateway)).toEqual(SYMBOLS);
    const seen = watchAnswers(gateways);
    await redis.client.hset(key('tokens:snapshot'), {
      takenAt: Date.now() + 30_000,
      text: await at(upstream, -HOUR),
    });
    const count = upstream.count('tokens');
    await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(count + 3);
    expect(seen.wrong).toEqual([]);
  });

  it.each([
    ['not JSON', '{"code":'],
    ['of another form', '{"code":"UPSTREAM_NONSENSE","message":"x","at":1,"failuresInARow":1}'],
    ['before all time', '{"code":"UPSTREAM_STATUS","message":"x","at":-9e15,"failuresInARow":1}'],
  ])('a failure that is %s does not stop refreshes', async (_name, failure) => {
    const redis = await startRedis();
    const upstream = await startMovingUpstream();
    const prefix = prefixOf(upstream.url);
    await redis.client.set(`${prefix}tokens:failure`, failure, 'PX', HOUR);
    await redis.client.set(`${prefix}tokens:pause`, '1', 'PX', HOUR);
    const { gateways } = await startPeers(3, { redis, upstream });
    for (const answer of await Promise.all(gateways.map(symbolsOf))) expect(answer).toEqual(SYMBOLS);
    expect(upstream.count('tokens')).toBe(1);
    for (const gateway of gateways) {
      expect(codesOf(await gateway.query('{ listings { lastFailure { at } } }'))).toEqual([]);
      expect(statusOf(gateway).tokens.lastFailure).toBeNull();
    }
  });
});
