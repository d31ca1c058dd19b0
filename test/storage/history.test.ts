/** The history of changes on disk gives each token list a version of its own, also after a restart. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { until } from '../support/clock.js';
import { address, changesSince, listOf, rows } from '../support/copies.js';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.js';
import { type GuardedGateway, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';
import { temporaryFile } from '../support/temporary-files.js';

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
  // The tokens are the same, and so is the version.
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
