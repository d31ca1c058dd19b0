import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { address, changesSince, listOf, rows } from '../support/copies.js';
import { stall, startFakeUpstream } from '../support/fake-upstream.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { createTestGateway } from '../support/test-gateway.js';
import { refreshWith } from '../support/test-server.js';

const CHAINS = [chainRow('a')];
const configFor = (snapshotDir: string) => ({
  snapshotDir,
  chainsFreshMs: 3_600_000,
  tokensFreshMs: 3_600_000,
  holdBackTimes: 1,
  holdBackMs: 0,
});

/** The file of a listing. Temporary files have longer names. */
async function fileOf(directory: string, listing: string): Promise<string> {
  const names = await readdir(directory);
  const isIts = (name: string) => name.startsWith(`${listing}-`) && name.endsWith('.snapshot');
  return join(directory, names.find(isIts) ?? '');
}

/** A gateway that served three listings, and wrote the last one to disk. */
async function lived() {
  const directory = temporaryDirectory();
  const upstream = await startFakeUpstream({ chains: CHAINS, tokens: rows(1, 2) });
  const gateway = await createTestGateway({ upstream, config: configFor(directory) });
  await gateway.query('{ chains { chainKey } tokens { symbol } }');
  const first = await changesSince(gateway, null);
  await refreshWith(gateway, rows(1), CHAINS);
  await refreshWith(gateway, rows(1, 3), CHAINS);
  const since = first.cursor;
  const state = { changes: await changesSince(gateway, since), list: await listOf(gateway) };
  const written = async (listing: string) => readFile(await fileOf(directory, listing), 'utf8');
  await expect.poll(() => written('chains')).toContain('"name":"chains"');
  await expect.poll(() => written('tokens')).toContain(address(3));
  const restart = (config: object = {}) =>
    createTestGateway({ upstream, config: { ...configFor(directory), ...config } });
  return { directory, upstream, since, state, restart };
}

describe('with SNAPSHOT_DIR', () => {
  it('the changes and the version of the token list survive a restart', async () => {
    const { upstream, since, state, restart } = await lived();
    expect(state.changes).toMatchObject({ isReset: false, changed: [{ address: address(3) }] });
    expect(state.list.list.version).toEqual({ major: 2, minor: 1, patch: 0 });
    for (const path of ['chains', 'tokens'] as const) upstream.plan(path, stall);
    await expect
      .poll(async () => {
        const again = await restart();
        return { changes: await changesSince(again, since), list: await listOf(again) };
      })
      .toEqual(state);
    const again = await restart();
    await refreshWith(again, rows(1, 3, 4), CHAINS);
    expect((await listOf(again)).list.version).toEqual({ major: 2, minor: 2, patch: 0 });
    expect(await changesSince(again, since)).toMatchObject({
      isReset: false,
      changed: [{ address: address(3) }, { address: address(4) }],
    });
  });
});
