import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor } from '../support/fake-successor.js';
import { type FakeUpstream, json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from '../support/test-gateway.js';

const NATIVE = { chainKey: 'a', name: 'Ether', symbol: 'ETH', decimals: 18, address: '0xEe' };
const CHAIN = chainRow('a', { nativeCurrency: NATIVE });
const token = (number: number, changes: object = {}) =>
  tokenRow('a', `0x${number.toString(16)}`, { symbol: `S${number}`, ...changes });
const tokens = (count: number) => Array.from({ length: count }, (_, index) => token(index + 1));

type Rows = readonly unknown[];

/** A gateway that serves these rows, and asks for new ones each time that a test says so. */
async function serve(
  before: { chains?: Rows; tokens?: Rows },
  { config, ...options }: TestGatewayOptions = {},
) {
  const upstream = await startFakeUpstream({ chains: [CHAIN], tokens: tokens(10), ...before });
  const gateway = await createTestGateway({
    upstream,
    config: { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000, upstreamRetries: 0, ...config },
    firstPauseMs: 3_600_000,
    ...options,
  });
  await gateway.query('{ chains { chainKey } tokens { address } }');
  return { ...gateway, ...refreshesOf(gateway, upstream) };
}

function refreshesOf({ snapshots, metrics, logged }: TestGateway, upstream: FakeUpstream) {
  const statusOf = (name: 'chains' | 'tokens') => snapshots.status(Date.now())[name === 'chains' ? 0 : 1];
  /** How many have ended. */
  async function refreshes(name: 'chains' | 'tokens') {
    const { text } = await metrics.expose();
    const counts = text.matchAll(
      new RegExp(`^gateway_listing_refreshes_total{listing="${name}".*} (\\d+)$`, 'gm'),
    );
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  /** Has one refresh bring these rows. */
  async function bring(name: 'chains' | 'tokens', rows: Rows, from = upstream) {
    from.plan(name, json({ [name]: rows }));
    const before = await refreshes(name);
    snapshots.refreshNow();
    await expect.poll(() => refreshes(name), { interval: 5 }).toBeGreaterThan(before);
    return statusOf(name);
  }
  return {
    bring,
    statusOf,
    async reasons() {
      const { text } = await metrics.expose();
      return [...text.matchAll(/^gateway_listing_hold_backs_total\{listing="\w+",reason="(\w+)"\} \d+$/gm)]
        .map(([, reason]) => reason)
        .sort();
    },
    details: () => logged.filter(({ heldBackFor }) => heldBackFor).map(({ detail }) => String(detail)),
  };
}

describe('a change that costs money is held back, said, and taken when it has come three times', () => {
  it.each<[string, 'chains' | 'tokens', Rows, string, string, RegExp]>([
    [
      'another symbol at the same address',
      'tokens',
      [token(1, { symbol: 'OTHER' }), ...tokens(10).slice(1)],
      'symbol',
      'it changes the symbol of 1 of 10 known rows',
      /S1 → OTHER/,
    ],
    [
      'other decimals',
      'tokens',
      [token(1, { decimals: 18 }), ...tokens(10).slice(1)],
      'decimals',
      'it changes the decimals of 1 of 10 known rows',
      /6 → 18/,
    ],
    [
      'another address behind a symbol',
      'tokens',
      [token(99, { symbol: 'S1' }), ...tokens(10).slice(1)],
      'address',
      'it replaces the address of 1 of the symbols that a chain has',
      /0x1.* → .*0x63/,
    ],
    [
      'another chainId',
      'chains',
      [{ ...CHAIN, chainId: 8 }],
      'chain_id',
      'it changes the chainId of 1 of 1 known rows',
      /7 → 8/,
    ],
    [
      "another symbol of a chain's native currency",
      'chains',
      [{ ...CHAIN, nativeCurrency: { ...NATIVE, symbol: 'ETC' } }],
      'native_currency',
      'it changes the native currency of 1 of 1 known rows',
      /ETH.* → .*ETC/,
    ],
    [
      "another address of a chain's native currency",
      'chains',
      [{ ...CHAIN, nativeCurrency: { ...NATIVE, address: '0xEf' } }],
      'native_currency',
      'it changes the native currency of 1 of 1 known rows',
      /0xee.* → .*0xef/,
    ],
    [
      "other decimals of a chain's native currency",
      'chains',
      [{ ...CHAIN, nativeCurrency: { ...NATIVE, decimals: 6 } }],
      'decimals',
      'it changes the decimals of 1 of 1 known rows',
      /18 → 6/,
    ],
  ])('%s', async (_name, name, rows, reason, said, detail) => {
    const { bring, statusOf, reasons, details } = await serve({});
    const { version } = statusOf(name);
    for (const times of [1, 2]) {
      expect(await bring(name, rows)).toMatchObject({
        version,
        isHeldBack: true,
        lastFailure: {
          code: 'UPSTREAM_MALFORMED',
          message: `The upstream's ${name} listing is held back: ${said}. It is taken once it has come 3 times in a row (so far: ${times}).`,
        },
      });
    }
    expect(details()).toEqual([expect.stringMatching(detail), expect.stringMatching(detail)]);
    expect(await reasons()).toEqual([reason]);
    const after = await bring(name, rows);
    expect(after.isHeldBack).toBe(false);
    expect(after.version).not.toBe(version);
  });

  it('also where it comes from the successor', async () => {
    const successor = await startFakeSuccessor({
      chains: [successorChain({ ...CHAIN, chainId: 8 })],
      tokens: tokens(10).map((row, index) =>
        successorToken({ ...row, symbol: index === 0 ? 'OTHER' : row.symbol }),
      ),
    });
    onTestFinished(successor.close);
    const { upstream, snapshots, statusOf } = await serve(
      {},
      { config: { upstreamProfile: 'auto', upstreamSuccessorUrl: successor.url } },
    );
    for (const name of ['chains', 'tokens'] as const) upstream.plan(name, status(410));
    snapshots.refreshNow();
    await expect.poll(() => statusOf('chains').lastFailure?.message).toContain('changes the chainId of 1');
    await expect.poll(() => statusOf('tokens').lastFailure?.message).toContain('changes the symbol of 1');
    expect(statusOf('tokens')).toMatchObject({ source: 'v1', rows: 10 });
  });

  it('is another one where a fact of another row changes', async () => {
    const { bring } = await serve({});
    const changed = (nth: number) =>
      tokens(10).map((row, index) => (index === nth ? { ...row, symbol: 'X' } : row));
    for (const nth of [0, 0, 1, 0, 0]) {
      expect((await bring('tokens', changed(nth))).isHeldBack).toBe(true);
    }
  });

  it.each<[string, 'chains' | 'tokens', Rows]>([
    [
      'prices, names and bridgeability',
      'tokens',
      tokens(10).map((row) => ({ ...row, price: { usd: 7 }, name: 'N', isBridgeable: false })),
    ],
    [
      'another writing of the address',
      'tokens',
      tokens(10).map((row) => ({ ...row, address: String(row.address).toUpperCase().replace('X', 'x') })),
    ],
    ['a chain by other names', 'chains', [{ ...CHAIN, name: 'N', shortName: 'n', chainType: 'other' }]],
    [
      'another writing of a native address',
      'chains',
      [{ ...CHAIN, nativeCurrency: { ...NATIVE, address: '0xEE', name: 'N' } }],
    ],
  ])('but not %s', async (_name, name, rows) => {
    const { bring } = await serve({});
    expect((await bring(name, rows)).isHeldBack).toBe(false);
  });

  it('also of a row that was away meanwhile', async () => {
    const { bring } = await serve({});
    expect((await bring('tokens', tokens(10).slice(1))).rows).toBe(9);
    const back = [token(1, { symbol: 'OTHER' }), ...tokens(10).slice(1)];
    expect((await bring('tokens', back)).lastFailure?.message).toContain('changes the symbol of 1 of 9');
    expect(await bring('tokens', tokens(10))).toMatchObject({ rows: 10, isHeldBack: false });
  });
});

describe('another address for a symbol', () => {
  const ONE = token(1, { symbol: 'USDC' });
  const TWO = token(2, { symbol: 'USDC' });
  const THREE = token(3, { symbol: 'USDC' });
  const REST = tokens(20).slice(10);

  it.each<[string, Rows, Rows]>([
    ['in another letter case', [ONE], [{ ...THREE, symbol: 'usdc' }]],
    ['with what cannot be seen', [ONE], [{ ...THREE, symbol: 'USDC\u200b' }]],
    ['that two addresses share', [ONE, TWO], [TWO, THREE]],
    ['of which two addresses become one', [ONE, TWO], [THREE]],
    ['of which one address becomes two', [ONE], [TWO, THREE]],
  ])('%s is held back', async (_name, before, after) => {
    const { bring } = await serve({ tokens: [...before, ...REST] });
    const { lastFailure } = await bring('tokens', [...after, ...REST]);
    expect(lastFailure?.message).toContain('it replaces the address of 1 of the symbols');
  });

  it.each<[string, Rows, Rows]>([
    ['a second one beside it', [ONE], [ONE, TWO]],
    ['one of two that leaves', [ONE, TWO], [TWO]],
    ['one on another chain', [ONE, TWO], [TWO, { ...ONE, chainKey: 'b' }]],
    ['one of another symbol', [ONE], [{ ...TWO, symbol: 'DAI' }]],
    ['one without a symbol', [{ ...ONE, symbol: '' }], [{ ...TWO, symbol: '' }]],
  ])('is not %s', async (_name, before, after) => {
    const { bring } = await serve({ tokens: [...before, ...REST] });
    expect(await bring('tokens', [...after, ...REST])).toMatchObject({
      isHeldBack: false,
      lastFailure: null,
    });
  });

  it('is held back also where the new one comes first, or the old one leaves first', async () => {
    const { bring } = await serve({ tokens: [ONE, ...REST] });
    expect((await bring('tokens', [ONE, TWO, ...REST])).isHeldBack).toBe(false);
    expect((await bring('tokens', [TWO, ...REST])).isHeldBack).toBe(true);

    const other = await serve({ tokens: [ONE, ...REST] });
    expect((await other.bring('tokens', REST)).isHeldBack).toBe(false);
    expect((await other.bring('tokens', [TWO, ...REST])).isHeldBack).toBe(true);
  });

  it('is settled once it is taken, and going back is another', async () => {
    const { bring } = await serve({ tokens: [ONE, ...REST] });
    for (const _ of [1, 2, 3]) await bring('tokens', [TWO, ...REST]);
    expect(await bring('tokens', [TWO, THREE, ...REST])).toMatchObject({ rows: 12, isHeldBack: false });
    expect((await bring('tokens', [ONE, THREE, ...REST])).isHeldBack).toBe(true);
  });
});

describe('a loss of rows', () => {
  it('in halvings is measured against the largest listing of the last day', async () => {
    const { bring } = await serve({ tokens: tokens(64) });
    expect(await bring('tokens', tokens(32))).toMatchObject({ rows: 32, isHeldBack: false });
    expect((await bring('tokens', tokens(31))).lastFailure?.message).toContain(
      "it lacks 33 of the 64 rows of the last day's largest listing",
    );
    expect((await bring('tokens', tokens(16))).rows).toBe(32);
  });

  it('is one, too, where as many others come', async () => {
    const { bring } = await serve({ tokens: tokens(60) });
    expect((await bring('tokens', tokens(80).slice(20))).isHeldBack).toBe(false);
    expect((await bring('tokens', tokens(100).slice(40))).isHeldBack).toBe(true);
  });

  it('is measured by that also after a restart from disk', async () => {
    const snapshotDir = mkdtempSync(join(tmpdir(), 'snapshots-'));
    onTestFinished(() => rmSync(snapshotDir, { recursive: true, force: true }));
    const upstream = await startFakeUpstream({ chains: [CHAIN], tokens: tokens(64) });
    const start = async () => {
      const gateway = await createTestGateway({
        upstream,
        config: { snapshotDir, tokensFreshMs: 3_600_000, chainsFreshMs: 3_600_000 },
      });
      return { ...gateway, ...refreshesOf(gateway, upstream) };
    };
    const before = await start();
    await before.query('{ tokens { symbol } }');
    expect((await before.bring('tokens', tokens(32))).rows).toBe(32);
    const kept = () =>
      readdirSync(snapshotDir)
        .filter((name) => /^tokens-.*snapshot$/.test(name))
        .map((name) => readFileSync(join(snapshotDir, name), 'utf8'));
    await expect.poll(kept).toEqual([expect.not.stringContaining('"S33"')]);
    before.snapshots.stop();

    const after = await start();
    expect(after.statusOf('tokens').rows).toBe(32);
    expect((await after.bring('tokens', tokens(31))).lastFailure?.message).toContain(
      "it lacks 33 of the 64 rows of the last day's largest listing",
    );
  });

  it('that is the truth becomes the new measure', async () => {
    const { bring } = await serve({ tokens: tokens(64) });
    await bring('tokens', tokens(32));
    for (const _ of [1, 2, 3]) await bring('tokens', tokens(16));
    expect(await bring('tokens', tokens(8))).toMatchObject({ rows: 8, isHeldBack: false });
    expect((await bring('tokens', tokens(4))).isHeldBack).toBe(true);
  });

  it('is over where the rows are back', async () => {
    const { bring } = await serve({ tokens: tokens(64) });
    for (const count of [40, 64, 40, 64, 40]) {
      expect(await bring('tokens', tokens(count))).toMatchObject({ rows: count, isHeldBack: false });
    }
  });
});

describe('rows that cannot be read', () => {
  const unreadable = (row: object) => ({ ...row, decimals: '6' });
  const half = (from: number, count = 10) =>
    tokens(count).map((row, index) => (index < from ? row : unreadable(row)));

  it('are never the truth, however often they come', async () => {
    const { bring, reasons, details } = await serve({});
    for (let times = 0; times < 7; times++) {
      expect(await bring('tokens', half(4))).toMatchObject({
        rows: 10,
        isHeldBack: true,
        lastFailure: {
          code: 'UPSTREAM_MALFORMED',
          message:
            "The upstream's tokens listing is held back: it lacks 6 of 10 known rows, and 6 of the rows that it lacks cannot be read. It is not taken, however often it comes, until its rows can be read.",
        },
      });
    }
    expect(await reasons()).toEqual(['rejected_rows', 'shrink']);
    expect(details()[0]).toContain('tokens[4]: decimals');
    // What is left of them is the truth only where it comes without them, from the first time on.
    for (const isHeldBack of [true, true, false]) {
      expect(await bring('tokens', tokens(4))).toMatchObject({ isHeldBack });
    }
  });

  it('are not, either, where they do not say which rows they are', async () => {
    const { bring } = await serve({});
    const rows = [...tokens(4), ...Array.from({ length: 6 }, () => ({ decimals: 6 }))];
    for (let times = 0; times < 5; times++) {
      expect(await bring('tokens', rows)).toMatchObject({ rows: 10, isHeldBack: true });
    }
  });

  it('are not, either, where they become more step by step', async () => {
    const { bring } = await serve({});
    expect(await bring('tokens', half(6))).toMatchObject({ rows: 6, rejectedRows: 4, isHeldBack: false });
    for (let times = 0; times < 5; times++) {
      expect(await bring('tokens', half(4))).toMatchObject({ rows: 6, isHeldBack: true });
    }
    expect(await bring('tokens', tokens(10))).toMatchObject({ rows: 10, isHeldBack: false });
  });

  it('are harmless where they are few', async () => {
    const { bring } = await serve({});
    expect(await bring('tokens', half(5))).toMatchObject({ rows: 5, rejectedRows: 5, isHeldBack: false });
  });

  it('do not keep a true loss from being taken, where they are few of what is left', async () => {
    const { bring } = await serve({ tokens: tokens(40) });
    const left = [...tokens(10), unreadable(token(11)), null];
    for (const isHeldBack of [true, true, false]) {
      expect((await bring('tokens', left)).isHeldBack).toBe(isHeldBack);
    }
  });

  it('of which none was known are no loss', async () => {
    const { bring } = await serve({});
    const strange = Array.from({ length: 300 }, (_, index) => unreadable(token(index + 100)));
    expect(await bring('tokens', [...tokens(10), ...strange])).toMatchObject({
      rows: 10,
      rejectedRows: 300,
      isHeldBack: false,
    });
  });
});
