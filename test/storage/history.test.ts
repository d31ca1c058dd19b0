/** The history of changes, on disk and in Redis, gives each token list a version of its own, the same at all gateways. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { until } from '../support/clock.js';
import { address, changesSince, listOf, rows } from '../support/copies.js';
import { temporaryDirectory, temporaryFile } from '../support/ends.js';
import { type FakeUpstream, json, startFakeUpstream } from '../support/fake-upstream.js';
import { type GuardedGateway, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';
import { startPeers } from '../support/peers.js';
import { isRedisMissing } from '../support/redis.js';
import type { TestGateway } from '../support/test-gateway.js';
import { UNGUARDED } from '../support/test-server.js';

it('two different token lists never have one version, although rules or upstream change between starts, also without a refresh', async () => {
  const rules = temporaryFile('');
  const config = { ...onDisk().config, listingRules: rules };
  const versions = new Map<string, string>();
  const note = async (gateway: GuardedGateway) => {
    const { list } = await listOf(gateway);
    const version = JSON.stringify(list.version);
    const tokens = JSON.stringify(list.tokens);
    expect(versions.get(version) ?? tokens).toBe(tokens);
    versions.set(version, tokens);
    return list.version;
  };
  let gateway = await startGuarded({ chains: [chainRow('a')], tokens: rows(1, 2, 3) }, { config });
  expect(await note(gateway)).toMatchObject({ major: 1 });
  for (const major of [2, 3]) {
    writeFileSync(rules, `hide a:${address(major)}`);
    gateway = await restart(gateway);
    expect(await note(gateway)).toEqual({ major, minor: 0, patch: 0 });
    const isStored = (file: string) =>
      file.endsWith('.snapshot') &&
      readFileSync(join(config.snapshotDir, file), 'utf8').includes(`"version":{"major":${major}`);
    await until(async () => readdirSync(config.snapshotDir).some(isStored));
  }
  gateway = await restart(gateway);
  expect(await note(gateway)).toMatchObject({ major: 3 });
  const first = gateway.upstream;
  const startWith = async (tokens: readonly object[], upstream?: FakeUpstream) => {
    gateway.clock.advance(1_000);
    const listings = { chains: [chainRow('a')], tokens };
    gateway = await restart(gateway, { upstream: upstream ?? (await startFakeUpstream(listings)) });
    return note(gateway);
  };
  expect(await startWith(rows(1, 2))).toMatchObject({ major: 3 });
  expect(await startWith(rows(1))).toMatchObject({ major: 4 });
  expect(await startWith([], first)).toMatchObject({ major: 5 });
});

it('after a start with another rule for a chain, the token list has the chainId that the graph has', async () => {
  const rules = temporaryFile('');
  const config = { ...onDisk().config, listingRules: rules };
  const before = await startGuarded({ chains: [chainRow('a')], tokens: rows(1) }, { config });
  expect((await listOf(before)).list).toMatchObject({ tokens: [{ chainId: 7 }], version: { major: 1 } });
  writeFileSync(rules, 'keep a chainId 8');
  const after = await restart(before);
  expect(await after.chains()).toMatchObject([{ chainId: 8 }]);
  expect((await listOf(after)).list).toMatchObject({ tokens: [{ chainId: 8 }], version: { major: 2 } });
});

it('the changes and the version of the token list survive a restart with SNAPSHOT_DIR', async () => {
  const config = { ...onDisk().config, holdBackTimes: 1, holdBackMs: 0 };
  const before = await startGuarded({ chains: [chainRow('a')], tokens: rows(1, 2) }, { config });
  const { cursor } = await changesSince(before, null);
  const stateOf = async (gateway: GuardedGateway) => ({
    changes: await changesSince(gateway, cursor),
    list: await listOf(gateway),
  });
  await before.bring({ tokens: rows(1) });
  await before.bring({ tokens: rows(1, 3) });
  const state = await stateOf(before);
  expect(state.changes).toMatchObject({ isReset: false, changed: [{ address: address(3) }] });
  expect(state.list.list.version).toEqual({ major: 2, minor: 1, patch: 0 });
  const after = await restart(before);
  expect(await stateOf(after)).toEqual(state);
  await after.bring({ tokens: rows(1, 3, 4) });
  expect(await stateOf(after)).toMatchObject({
    changes: { isReset: false, changed: [{ address: address(3) }, { address: address(4) }] },
    list: { list: { version: { major: 2, minor: 2, patch: 0 } } },
  });
});

async function startUpstream() {
  return startFakeUpstream({ chains: [chainRow('a')], tokens: rows(1, 2, 3) });
}

const isServed = (gateway: TestGateway) => gateway.listings().tokens.state === 'FRESH';

describe.skipIf(isRedisMissing)('gateways with one Redis', () => {
  it('gateways with one Redis give the same changes and token list, whichever of them refreshes, and so does a new one', async () => {
    const upstream = await startUpstream();
    const { gateways, join } = await startPeers(2, { upstream, config: UNGUARDED });
    await expect.poll(() => gateways.every(isServed)).toBe(true);
    const cursors: string[] = [];
    const expectSame = async (all: readonly TestGateway[]) => {
      const [first, ...others] = all as [TestGateway, ...TestGateway[]];
      for (const cursor of [null, 'nope', ...cursors]) {
        const changes = await changesSince(first, cursor);
        for (const other of others) expect(await changesSince(other, cursor)).toEqual(changes);
      }
      const list = await listOf(first);
      for (const other of others) expect(await listOf(other)).toEqual(list);
      const { cursor } = await changesSince(first, null);
      cursors.push(cursor);
      return list.list;
    };
    expect((await expectSame(gateways)).version).toEqual({ major: 1, minor: 0, patch: 0 });
    const steps = [rows(1, 2, 3, 4), rows(2, 3, 4), rows(2, 3, 4), rows(2, 3, 5)];
    for (const [nth, tokens] of steps.entries()) {
      upstream.plan('tokens', json({ tokens }));
      const before = gateways.map((gateway) => gateway.listings().tokens.takenAt);
      gateways[nth % 2]?.snapshots.refreshNow();
      await expect
        .poll(() => gateways.every((gateway, index) => gateway.listings().tokens.takenAt !== before[index]))
        .toBe(true);
      await expectSame(gateways);
    }
    const newcomer = await join();
    await expect.poll(() => isServed(newcomer)).toBe(true);
    const list = await expectSame([...gateways, newcomer]);
    expect(list.version).toEqual({ major: 3, minor: 0, patch: 0 });
    const all = await changesSince(newcomer, cursors[0] ?? null);
    expect(all.isReset).toBe(false);
    expect(all.changed.map((token) => token.address)).toEqual([address(5)]);
    expect(all.removedIds).toHaveLength(2);
    expect(upstream.count('tokens')).toBe(5);
  });

  it('a gateway that joins serves the token list of the others, also after a new chain listing and after new rules', async () => {
    const all = [chainRow('a'), chainRow('b', { chainId: 8 }), chainRow('c', { chainId: 9 })];
    const tokens = [...rows(1), tokenRow('b', address(2)), tokenRow('c', address(3))];
    const upstream = await startFakeUpstream({ chains: all.slice(0, 1), tokens });
    const config = { ...UNGUARDED, chainsFreshMs: 100, listingRules: temporaryFile('hide a:0x0') };
    const { redis, gateways, join, key } = await startPeers(1, { upstream, config });
    const [first] = gateways as [TestGateway];
    async function expectSame(size: number, version: string) {
      await expect.poll(async () => (await listOf(first)).list.tokens?.length).toBe(size);
      const shared = () => redis.client.hget(key('tokens:snapshot'), 'text');
      await expect.poll(shared).toContain(`"version":${version}`);
      const newcomer = await join();
      await newcomer.query('{ chains { chainKey } tokens { symbol } }');
      await expect.poll(() => listOf(newcomer)).toEqual(await listOf(first));
    }
    await expectSame(1, '{"major":1,"minor":0,"patch":0}');
    upstream.plan('chains', json({ chains: all.slice(0, 2) }));
    await expectSame(2, '{"major":1,"minor":1,"patch":0}');
    upstream.plan('chains', json({ chains: all }));
    await expectSame(3, '{"major":1,"minor":2,"patch":0}');
    writeFileSync(config.listingRules, `hide c:${address(3)}`);
    for (const gateway of gateways) await gateway.apply(`hide c:${address(3)}`);
    await expectSame(2, '{"major":2,"minor":0,"patch":0}');
    writeFileSync(config.listingRules, '');
    for (const gateway of gateways) await gateway.apply('');
    await expectSame(3, '{"major":2,"minor":1,"patch":0}');
    expect(upstream.count('tokens')).toBe(1);
  });

  it('gateways with one Redis agree again after a time apart, with a version that does not decrease', async () => {
    const upstream = await startUpstream();
    const { redis, gateways, join } = await startPeers(1, { upstream, config: UNGUARDED });
    const [first] = gateways as [TestGateway];
    await expect.poll(() => first.listings().tokens.state).toBe('FRESH');
    const { cursor } = await changesSince(first, null);
    await first.query('{ chains { chainKey } }');
    for (const tokens of [rows(1, 2), rows(1)]) {
      upstream.plan('tokens', json({ tokens }));
      await first.refresh();
    }
    expect((await listOf(first)).list.version).toEqual({ major: 3, minor: 0, patch: 0 });
    await redis.kill();
    upstream.plan('tokens', json({ tokens: rows(1, 7) }));
    const second = await join();
    await second.query('{ chains { chainKey } tokens { symbol } }');
    await redis.start();
    await expect.poll(async () => (await changesSince(first, null)).changed.length).toBe(2);
    expect((await listOf(first)).list.version).toEqual({ major: 3, minor: 1, patch: 0 });
    expect((await changesSince(first, cursor)).changed.map((token) => token.address)).toContain(address(7));
    const { takenAt } = second.listings().tokens;
    first.snapshots.refreshNow();
    await expect.poll(() => second.listings().tokens.takenAt).not.toBe(takenAt);
    expect(await listOf(second)).toEqual(await listOf(first));
    expect(await changesSince(second, null)).toEqual(await changesSince(first, null));
  });

  it('the token list of a gateway has the chainIds of its own chain listing, also when another gateway refreshes the tokens', async () => {
    const { gateways } = await startPeers(2, { upstream: await startUpstream(), config: UNGUARDED });
    const [first, second] = gateways as [TestGateway, TestGateway];
    await expect.poll(() => gateways.every(isServed)).toBe(true);
    // The operator's rules have changed, and only one gateway has read them.
    await second.query('{ chains { chainKey } }');
    await second.apply('keep a chainId 8');
    expect((await listOf(second)).list.tokens[0]).toMatchObject({ chainId: 8 });
    const { takenAt } = second.listings().tokens;
    first.snapshots.refreshNow();
    await expect.poll(() => second.listings().tokens.takenAt).not.toBe(takenAt);
    expect((await listOf(second)).list.tokens[0]).toMatchObject({ chainId: 8 });
    expect((await listOf(first)).list.tokens[0]).toMatchObject({ chainId: 7 });
  });

  it('after a restart, the version of the token list is the one on disk, if Redis has an earlier one of the same listing', async () => {
    const rules = temporaryFile('');
    const config = { ...UNGUARDED, listingRules: rules, snapshotDir: temporaryDirectory() };
    // So many rows that reading the file takes longer than the answer of Redis.
    const tokens = rows(...Array.from({ length: 2_000 }, (_, index) => index + 1));
    const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens });
    const { gateways, join } = await startPeers(1, { upstream, config });
    const [before] = gateways as [TestGateway];
    await before.query('{ chains { chainKey } tokens { symbol } }');
    for (const index of [1, 2]) {
      writeFileSync(rules, `hide a:${address(index)}`);
      await before.apply(`hide a:${address(index)}`);
    }
    const { version } = (await listOf(before)).list;
    expect(version).toEqual({ major: 3, minor: 0, patch: 0 });
    const isStored = (file: string) =>
      readFileSync(`${config.snapshotDir}/${file}`, 'utf8').includes('"version":{"major":3');
    await expect.poll(() => readdirSync(config.snapshotDir).some(isStored)).toBe(true);
    before.snapshots.stop();
    const after = await join();
    await after.query('{ chains { chainKey } tokens { symbol } }');
    expect((await listOf(after)).list.version).toEqual(version);
  });
});
