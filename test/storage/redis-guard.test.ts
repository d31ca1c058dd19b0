/** Gateways that share a Redis also share guarded values and hold-back periods. */
import { describe, expect, it } from 'vitest';
import { chainRow, PLACEHOLDER, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { DAY, HOUR, MINUTE, stopClocks, until } from '../support/clock.js';
import { changesSince, listOf, rows } from '../support/copies.js';
import { type FakeListings, json, late, startFakeSuccessor } from '../support/fake-upstream.js';
import { LISTINGS, numbered, onDisk, startGuarded, WRONG } from '../support/guarded-gateway.js';
import { prefixOf, snapshotOf } from '../support/peers.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';

const [, ...REST] = LISTINGS.tokens;
type Listed = Pick<TestGateway, 'listings'>;
const takenAtOf = ({ listings }: Listed) => listings().tokens.takenAt;
const untilEqual = (one: Listed, other: Listed) => until(async () => takenAtOf(one) === takenAtOf(other));
const HELD = { decimals: 6, price: null, heldBack: [{ fact: 'decimals', served: '6', upstream: '18' }] };

/** A gateway whose listings are in Redis. Its clock starts 20 days behind, and stays behind Redis. */
async function startSharing(listings: FakeListings = LISTINGS) {
  const { client, url, freeze } = await startRedis();
  const clock = stopClocks();
  clock.setBack(20 * DAY);
  const options = { clock, config: { redisUrl: url } };
  const gateway = await startGuarded(listings, options);
  const prefix = prefixOf(gateway.upstream.url);
  const isShared = async () =>
    Number(await client.hget(`${prefix}tokens:snapshot`, 'takenAt')) === takenAtOf(gateway);
  await until(isShared);
  return { client, clock, freeze, options, gateway, prefix, isShared };
}

describe.skipIf(isRedisMissing)('gateways that share', () => {
  it('gateways guard shared listings: wrong values from a peer without a guard are held back', async () => {
    const { client, clock, gateway, prefix } = await startSharing();
    clock.advance(HOUR);
    const taken = await snapshotOf(gateway.upstream.url, WRONG, Date.now());
    await client.hset(`${prefix}tokens:snapshot`, taken);
    await client.publish(`${prefix}news`, 'tokens');
    await until(async () => takenAtOf(gateway) === taken.takenAt);
    expect(await gateway.row()).toMatchObject(HELD);
    expect(gateway.heldBackRows()).toEqual([0, 1]);
    expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="decimals"}')).toBe(1);
  });

  it('a gateway reads the chains of its peers before it guards their first tokens, which depend on the chains', async () => {
    const tokens = [tokenRow('a', PLACEHOLDER), numbered(1, { address: `0x${'1'.repeat(40)}` })];
    const { clock, options, gateway, isShared } = await startSharing({ chains: [chainRow('a')], tokens });
    await gateway.bring({});
    await until(isShared);
    clock.advance(MINUTE);
    const config = { ...options.config, tokensFreshMs: HOUR };
    const other = await createTestGateway({ upstream: gateway.upstream, config });
    const served = ({ query }: Pick<TestGateway, 'query'>) =>
      query('{ tokens { address price { usd } heldBack { fact since } } }');
    const first = await served(other);
    expect(first).toMatchObject({
      data: { tokens: [{ price: null, heldBack: [{ fact: 'decimals' }] }, {}] },
    });
    expect(first).toEqual(await served(gateway));
    expect(await listOf(other)).toEqual(await listOf(gateway));
  });

  it('gateways accept at once a change that one of them has accepted', async () => {
    const { options, gateway } = await startSharing();
    const other = await startGuarded({}, { ...options, upstream: gateway.upstream });
    await gateway.apply('accept a:0x1 decimals 6 18');
    await gateway.bring({ tokens: WRONG }, HOUR);
    await untilEqual(other, gateway);
    expect(await other.row()).toMatchObject({ decimals: 18, heldBack: [] });
  });

  it('a gateway that was stopped while another one accepted a change adopts this change, also if the other one holds back the row again', async () => {
    const { options, gateway } = await startSharing();
    const config = { ...options.config, ...onDisk().config };
    const before = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    await before.stop();
    await gateway.bring({ tokens: WRONG }, HOUR);
    await gateway.bring({}, DAY);
    await gateway.bring({ tokens: [{ ...WRONG[0], symbol: 'OTHER' }, ...REST] }, HOUR);
    const held = { decimals: 18, heldBack: [{ fact: 'symbol', served: 'S1', upstream: 'OTHER' }] };
    expect(await gateway.row()).toMatchObject(held);
    const after = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    expect(await after.row()).toMatchObject({ decimals: 6, heldBack: [] });
    await gateway.bring({}, HOUR);
    await untilEqual(after, gateway);
    expect(await after.row()).toMatchObject(held);
    // Both go on with the accepted value, whichever of them asks the upstream.
    await after.bring({}, HOUR);
    await untilEqual(after, gateway);
    for (const each of [gateway, after]) expect(await each.row()).toMatchObject(held);
  });

  it('a gateway that doubted a price before it was stopped doubts it for ten minutes more if others have seen another one', async () => {
    const high = [{ ...LISTINGS.tokens[0], price: { usd: 1000 } }, ...REST];
    const { options, gateway } = await startSharing();
    const config = { ...options.config, ...onDisk().config };
    const before = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    await gateway.bring({ tokens: high }, HOUR);
    await untilEqual(before, gateway);
    expect(await before.row()).toMatchObject({ price: null });
    await before.stop();
    await gateway.bring({ tokens: LISTINGS.tokens }, MINUTE);
    await gateway.bring({ tokens: high }, 19 * MINUTE);
    const after = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    await gateway.bring({}, MINUTE);
    await untilEqual(after, gateway);
    for (const each of [gateway, after]) expect(await each.row()).toMatchObject({ price: null });
    await gateway.bring({}, 9 * MINUTE - 1);
    await untilEqual(after, gateway);
    expect(await after.row()).toMatchObject({ price: null });
    await gateway.bring({}, 1);
    await untilEqual(after, gateway);
    for (const each of [gateway, after]) expect(await each.row()).toMatchObject({ price: { usd: 1000 } });
  });

  it('a gateway that was stopped before a rule "accept" was undone by "keep" does not bring back the value', async () => {
    const { options, gateway } = await startSharing();
    const config = { ...options.config, ...onDisk().config };
    const before = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    await gateway.apply('accept a:0x1 decimals 6 18');
    await gateway.bring({ tokens: WRONG }, HOUR);
    await untilEqual(before, gateway);
    expect(await before.row()).toMatchObject({ decimals: 18, heldBack: [] });
    await before.stop();
    await gateway.apply('keep a:0x1 decimals 6');
    await gateway.bring({ tokens: LISTINGS.tokens }, HOUR);
    await gateway.apply('');
    await gateway.bring({ tokens: WRONG }, HOUR);
    expect(await gateway.row()).toMatchObject(HELD);
    const after = await startGuarded({}, { ...options, upstream: gateway.upstream, config });
    await after.bring({}, HOUR);
    await untilEqual(after, gateway);
    for (const each of [gateway, after]) expect(await each.row()).toMatchObject(HELD);
  });

  it('gateways know the guarded values of peers whose clock is minutes ahead, though they refuse their listings, which stay', async () => {
    const { client, clock, options, gateway, prefix } = await startSharing();
    gateway.snapshots.stop();
    const shared = () => client.hgetBuffer(`${prefix}tokens:snapshot`, 'text');
    const before = await shared();
    gateway.upstream.plan('tokens', json({ tokens: WRONG }));
    clock.setBack(10 * MINUTE);
    const behind = await startGuarded({}, { ...options, clock, upstream: gateway.upstream });
    expect(await behind.row()).toMatchObject(HELD);
    await behind.refresh();
    expect(await behind.row()).toMatchObject(HELD);
    expect(await shared()).toEqual(before);
  });

  it('a gateway that Redis does not answer at its start compares its first listing once Redis answers, and overwrites nothing before', async () => {
    const { client, clock, freeze, options, gateway, prefix } = await startSharing();
    await gateway.bring({ tokens: LISTINGS.tokens.slice(0, 10) }, HOUR);
    const before = await changesSince(gateway, null);
    const [ofTokens = ''] = before.cursor.split('.');
    gateway.snapshots.stop();
    const shared = () => client.hget(`${prefix}tokens:snapshot`, 'text');
    await until(async () => (await shared())?.includes(ofTokens) === true);
    freeze(true);
    clock.advance(HOUR);
    gateway.upstream.plan('tokens', json({ tokens: WRONG }));
    const alone = { ...options, upstream: gateway.upstream, redisTimeoutMs: 200 };
    const after = await startGuarded({}, alone);
    expect(await after.row()).toMatchObject({ decimals: 18, heldBack: [] });
    freeze(false);
    await until(async () => (await after.row())?.decimals === 6);
    expect(await after.row()).toMatchObject(HELD);
    const { isReset, changed } = await changesSince(after, before.cursor);
    expect([isReset, changed.map((row) => row.address)]).toEqual([false, ['0x1', '0x13']]);
    expect(await shared()).toContain(ofTokens);
    // This gateway continues the peer's hold-back period, and knows the rows that were removed there.
    await after.bring({ tokens: [...WRONG.slice(0, 10), { ...REST.at(-1), decimals: 3 }] }, DAY);
    const served = await after.tokens();
    expect(served[0]).toMatchObject({ decimals: 18, heldBack: [] });
    expect(served.at(-1)).toMatchObject({ decimals: 6, heldBack: [{ upstream: '3' }] });
    await until(async () => (await shared())?.includes('"decimals":3') === true);
  });

  it('a gateway that Redis does not answer at its start does not lower the version of its token list later', async () => {
    const { freeze, options, gateway } = await startSharing({ chains: [chainRow('a')], tokens: rows(1, 2) });
    gateway.snapshots.stop();
    freeze(true);
    const alone = { ...options, upstream: gateway.upstream, redisTimeoutMs: 200 };
    const after = await startGuarded({}, alone);
    for (const tokens of [rows(1), rows(1, 2), rows(1)]) await after.bring({ tokens });
    const major = async () => (await listOf(after)).list.version.major;
    expect(await major()).toBe(3);
    freeze(false);
    await until(async () => (await major()) !== 3);
    expect(await major()).toBe(4);
  });

  it('a hold-back period begins anew at all gateways after a listing without the new value, also if one of them held back this listing as a whole', async () => {
    const { client, clock, options, gateway, prefix } = await startSharing();
    const other = await startGuarded({}, { ...options, upstream: gateway.upstream });
    const hold = async (tokens: readonly unknown[], afterMs: number) => {
      await other.bring({ tokens }, afterMs);
      await untilEqual(gateway, other);
    };
    await hold(WRONG, HOUR);
    await gateway.bring({ tokens: LISTINGS.tokens.slice(0, 3) }, DAY - HOUR);
    expect(gateway.listings().tokens.isHeldBack).toBe(true);
    // The other gateways may ask again.
    await client.del(`${prefix}tokens:pause`);
    await hold(WRONG, HOUR);
    const since = new Date(Date.now() - HOUR).toISOString();
    for (const each of [gateway, other])
      expect(await each.row()).toMatchObject({ ...HELD, heldBack: [{ since }] });
    clock.advance(DAY - 2 * HOUR);
    await hold(WRONG, HOUR - 1);
    expect(await other.row()).toMatchObject(HELD);
    await hold(WRONG, 1);
    expect(await gateway.row()).toMatchObject({ decimals: 18, heldBack: [] });
  });

  it('a hold-back period from Redis that would begin in the future begins now', async () => {
    const { client, options, gateway, prefix } = await startSharing();
    const other = await startGuarded({}, { ...options, upstream: gateway.upstream });
    await other.bring({ tokens: WRONG }, HOUR);
    await untilEqual(gateway, other);
    await gateway.bring({ tokens: LISTINGS.tokens.slice(0, 3) }, HOUR);
    const failure = String(await client.get(`${prefix}tokens:failure`));
    await client.set(`${prefix}tokens:failure`, failure.replace(/(?<="periods":.*,)\d+/, '1e400'));
    await client.del(`${prefix}tokens:pause`);
    await other.bring({ tokens: [] }, MINUTE);
    const since = new Date(Date.now()).toISOString();
    expect(await other.row()).toMatchObject({ ...HELD, heldBack: [{ since }] });
  });

  it('gateways agree since when the two listings give a native asset different decimals, also after one restarts', async () => {
    const { client, options, gateway, prefix, isShared } = await startSharing();
    const native = tokenRow('a', PLACEHOLDER, { symbol: 'ETH', decimals: 6 });
    await gateway.bring({ tokens: [native, ...LISTINGS.tokens] }, HOUR);
    await gateway.bring({}, HOUR);
    await until(isShared);
    // This gateway gets the chains after the tokens, so it compares the two later than its peer did.
    await client.del(`${prefix}chains:snapshot`);
    gateway.upstream.plan('chains', late(200, json({ chains: LISTINGS.chains })));
    const other = await startGuarded({}, { ...options, upstream: gateway.upstream });
    await until(async () => other.heldBackRows()[1] === 1);
    await gateway.bring({}, HOUR);
    await untilEqual(other, gateway);
    const [before, after] = [await gateway.tokens(), await other.tokens()];
    expect(before[0]).toMatchObject({ decimals: 6, heldBack: [{ served: '6', upstream: '18' }] });
    expect(after).toEqual(before);
    expect(await changesSince(other, null)).toEqual(await changesSince(gateway, null));
  });

  it('gateways guard accepted values also after a change of UPSTREAM_PROFILE and UPSTREAM_URL', async () => {
    const { clock, options, gateway } = await startSharing();
    gateway.snapshots.stop();
    clock.advance(HOUR);
    const upstream = await startFakeSuccessor({
      chains: LISTINGS.chains.map((row) => successorChain(row)),
      tokens: WRONG.map(successorToken),
    });
    const config = { ...options.config, upstreamProfile: 'value-transfer' as const };
    const after = await startGuarded({}, { clock, upstream, config });
    expect(await after.row()).toMatchObject(HELD);
    expect(after.listings().tokens).toMatchObject({ source: 'value-transfer', rows: 11 });
  });
});
