import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { address, changesSince, listOf, rows } from '../support/copies.js';
import { type GuardedGateway, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

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
