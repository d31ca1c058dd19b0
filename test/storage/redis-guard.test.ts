import { describe, expect, it, vi } from 'vitest';
import { fingerprint } from '../../src/domain/digests.js';
import { parseListingRules } from '../../src/domain/listing-rules.js';
import { encodeListing } from '../../src/storage/stored-listing.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { successorChain, successorToken } from '../fixtures/rows.js';
import { stopClocks, until } from '../support/clock.js';
import { startFakeSuccessor } from '../support/fake-successor.js';
import {
  DAY,
  type GuardedGateway,
  HOUR,
  LISTINGS,
  rowOf,
  startGuarded,
  WRONG,
} from '../support/guarded-gateway.js';
import { prefixOf } from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';

const { chains: CHAINS, tokens: RIGHT } = LISTINGS;
const [, ...REST] = RIGHT;
const takenAtOf = ({ snapshots }: GuardedGateway) => snapshots.status(Date.now())[1].takenAt;
/** Redis refuses snapshots from the future of its clock, so the tests use the last days. */
function stopPastClocks() {
  const clock = stopClocks();
  vi.setSystemTime(Date.now() - 20 * DAY);
  return clock;
}

describe.skipIf(isRedisMissing)('gateways that share', () => {
  it('guard shared listings: wrong values from a peer without a guard are held back here', async () => {
    const redis = await startRedis();
    const gateway = await startGuarded(LISTINGS, {
      clock: stopPastClocks(),
      config: { redisUrl: redis.url },
    });
    await until(
      async () => (await redis.client.exists(`${prefixOf(gateway.upstream.url)}tokens:snapshot`)) === 1,
    );
    gateway.clock.advance(HOUR);
    // As gateways of the previous version wrote it.
    const taken = await TOKENS.parse(WRONG, { source: 'v1', takenAt: Date.now() });
    const services = { v1: fingerprint(gateway.upstream.url) };
    const text = await encodeListing(TOKENS, taken, services);
    const key = prefixOf(gateway.upstream.url);
    await redis.client.hset(`${key}tokens:snapshot`, { takenAt: taken.takenAt, text });
    await redis.client.publish(`${key}news`, 'tokens');
    await until(async () => takenAtOf(gateway) === taken.takenAt);
    expect(await rowOf(gateway)).toMatchObject({
      decimals: 6,
      price: null,
      heldBack: [{ fact: 'decimals', served: '6', upstream: '18' }],
    });
    expect(gateway.heldBackRows()).toEqual([0, 1]);
    expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="decimals"}')).toBe(1);
  });

  it('accept at once a change that one of them has accepted', async () => {
    const redis = await startRedis();
    const options = { clock: stopPastClocks(), config: { redisUrl: redis.url } };
    const one = await startGuarded(LISTINGS, options);
    const key = `${prefixOf(one.upstream.url)}tokens:snapshot`;
    await until(async () => (await redis.client.exists(key)) === 1);
    const other = await startGuarded({}, { ...options, upstream: one.upstream });
    await one.snapshots.applyRules(parseListingRules('accept a:0x1 decimals 6 18'));
    await one.bring({ tokens: WRONG }, HOUR);
    await until(async () => takenAtOf(other) === takenAtOf(one));
    expect(await rowOf(other)).toMatchObject({ decimals: 18, heldBack: [] });
  });

  it('continue hold-back periods and remember removed rows after all of them restart', async () => {
    const redis = await startRedis();
    const config = { redisUrl: redis.url };
    const before = await startGuarded(LISTINGS, { clock: stopPastClocks(), config });
    await before.bring({ tokens: [...WRONG.slice(0, 10)] });
    const key = `${prefixOf(before.upstream.url)}tokens:snapshot`;
    await until(async () => Number(await redis.client.hget(key, 'takenAt')) === takenAtOf(before));
    before.snapshots.stop();
    const { clock, upstream } = before;
    const after = await startGuarded({}, { clock, upstream, config });
    await after.bring({ tokens: [...WRONG.slice(0, 10), { ...REST.at(-1), decimals: 3 }] }, DAY);
    const served = await after.tokens();
    expect(served[0]).toMatchObject({ decimals: 18, heldBack: [] });
    expect(served.at(-1)).toMatchObject({
      address: REST.at(-1)?.address,
      decimals: 6,
      heldBack: [{ upstream: '3' }],
    });
  });

  it('guard accepted values also after a change of UPSTREAM_PROFILE and UPSTREAM_URL', async () => {
    const redis = await startRedis();
    const config = { redisUrl: redis.url };
    const before = await startGuarded(LISTINGS, { clock: stopPastClocks(), config });
    const key = `${prefixOf(before.upstream.url)}tokens:snapshot`;
    await until(async () => Number(await redis.client.hget(key, 'takenAt')) === takenAtOf(before));
    before.snapshots.stop();
    before.clock.advance(HOUR);
    const upstream = await startFakeSuccessor({
      chains: CHAINS.map((row) => successorChain(row)),
      tokens: WRONG.map(successorToken),
    });
    const after = await startGuarded(
      {},
      { clock: before.clock, upstream, config: { ...config, upstreamProfile: 'value-transfer' } },
    );
    expect(await rowOf(after)).toMatchObject({
      decimals: 6,
      price: null,
      heldBack: [{ fact: 'decimals', served: '6', upstream: '18' }],
    });
    expect(after.snapshots.status(Date.now())[1]).toMatchObject({ source: 'value-transfer', rows: 11 });
  });
});
