import { describe, expect, it } from 'vitest';
import { chainRow } from '../../fixtures/rows.js';
import { status } from '../../support/fake-upstream.js';
import {
  DAY,
  type GuardedGateway,
  HOUR,
  numbered,
  numberedRows,
  onDisk,
  restart,
  startGuarded,
} from '../../support/guarded-gateway.js';

const CHAINS = [chainRow('a')];
const start = (count: number, config = {}) =>
  startGuarded({ chains: CHAINS, tokens: numberedRows(count) }, { config });

const statusOf = ({ snapshots }: GuardedGateway) => snapshots.status(Date.now())[1];
/** Makes one refresh fetch these tokens. */
async function bring(gateway: GuardedGateway, rows: readonly unknown[], afterMs?: number) {
  await gateway.bring({ tokens: rows }, afterMs);
  return statusOf(gateway);
}
/** The counted reasons to hold a listing back. */
async function reasons({ metrics }: GuardedGateway) {
  const { text } = await metrics.expose();
  return [...text.matchAll(/^gateway_listing_hold_backs_total\{listing="\w+",reason="(\w+)"\} \d+$/gm)]
    .map(([, reason]) => reason)
    .sort();
}

describe('a refresh that loses more than half of the rows', () => {
  it('is held back whole, logged, and accepted the third time in a row', async () => {
    const gateway = await start(10);
    for (const times of [1, 2]) {
      expect(await bring(gateway, numberedRows(4))).toMatchObject({
        rows: 10,
        isHeldBack: true,
        lastFailure: {
          code: 'UPSTREAM_MALFORMED',
          message: `The upstream's tokens listing is held back: it lacks 6 of 10 known rows. It is accepted once the same rows have been missing 3 times in a row (so far: ${times}).`,
        },
      });
      expect(await gateway.sample('gateway_listing_held_back{listing="tokens"}')).toBe(1);
      expect(await gateway.tokens()).toHaveLength(10);
    }
    expect(await reasons(gateway)).toEqual(['shrink']);
    expect(await bring(gateway, numberedRows(4))).toMatchObject({ rows: 4, isHeldBack: false });
    expect(await gateway.sample('gateway_listing_held_back{listing="tokens"}')).toBe(0);
    const taking = 'The tokens listing that was held back is accepted: it lacks 6 of 10 known rows';
    expect(gateway.logged.map(({ msg }) => msg)).toContain(taking);
    // Rows that are removed like this do not count as changes of guarded values.
    expect(gateway.heldBackRows()).toEqual([0, 0]);
  });

  it.each<[string, number, object]>([
    ['half of the rows', 5, {}],
    ['more, where more may go', 1, { holdBackShrink: 0.9 }],
    ['more, where it need come only once', 1, { holdBackTimes: 1 }],
  ])('is not held back if it loses %s', async (_name, left, config) => {
    const gateway = await start(10, config);
    expect(await bring(gateway, numberedRows(left))).toMatchObject({ rows: left, isHeldBack: false });
  });

  it('is held back for any loss if no loss is allowed', async () => {
    const gateway = await start(10, { holdBackShrink: 0 });
    expect((await bring(gateway, numberedRows(9))).lastFailure?.message).toContain('it lacks 1 of 10');
  });

  it('is measured by the lost rows, however many new ones are sent', async () => {
    const gateway = await start(10);
    const { rows, lastFailure } = await bring(gateway, numberedRows(10, 101));
    expect(lastFailure?.message).toContain('it lacks 10 of 10 known rows');
    expect(rows).toBe(10);
  });

  it('is counted anew after another loss, and after a good listing', async () => {
    const gateway = await start(10, { holdBackTimes: 4 });
    for (const left of [4, 4, 3, 4, 4, 4, 10, 4, 4, 4]) {
      expect((await bring(gateway, numberedRows(left))).rows).toBe(10);
    }
    expect((await bring(gateway, numberedRows(4))).rows).toBe(4);
  });

  it('is still counted after failed refreshes, and with other rows and values', async () => {
    const gateway = await start(10);
    const left = (nth: number) => [
      ...numberedRows(4).map((row) => ({ ...row, name: `${nth}` })),
      numbered(20 + nth),
    ];
    await bring(gateway, left(1));
    gateway.upstream.plan('tokens', status(500));
    await gateway.bring({});
    expect(await bring(gateway, left(2))).toMatchObject({ rows: 10 });
    expect(await bring(gateway, left(3))).toMatchObject({ rows: 5 });
  });

  it('without any row is never accepted', async () => {
    const gateway = await start(10, { holdBackShrink: 1, holdBackTimes: 1, holdBackMs: 0 });
    for (let times = 0; times < 4; times++) {
      expect(await bring(gateway, [])).toMatchObject({
        rows: 10,
        isHeldBack: false,
        lastFailure: { code: 'UPSTREAM_MALFORMED' },
      });
    }
  });
});

describe('a loss of rows', () => {
  it('step by step is measured against the largest listing of the last day', async () => {
    const gateway = await start(64);
    expect(await bring(gateway, numberedRows(32))).toMatchObject({ rows: 32, isHeldBack: false });
    expect((await bring(gateway, numberedRows(31))).lastFailure?.message).toContain(
      "it lacks 33 of the 64 rows of the last day's largest listing",
    );
    expect((await bring(gateway, numberedRows(16))).rows).toBe(32);
    // A day later the smaller listing is the measure.
    await bring(gateway, numberedRows(32), DAY + HOUR);
    expect(await bring(gateway, numberedRows(20))).toMatchObject({ rows: 20, isHeldBack: false });
  });

  it('is noticed also if as many new rows are sent', async () => {
    const gateway = await start(60);
    expect((await bring(gateway, numberedRows(60, 21))).isHeldBack).toBe(false);
    expect((await bring(gateway, numberedRows(60, 41))).isHeldBack).toBe(true);
  });

  it('is measured against it also after a restart from disk', async () => {
    const before = await startGuarded({ chains: CHAINS, tokens: numberedRows(64) }, onDisk());
    expect((await bring(before, numberedRows(32))).rows).toBe(32);
    const after = await restart(before);
    expect(statusOf(after).rows).toBe(32);
    expect((await bring(after, numberedRows(31))).lastFailure?.message).toContain(
      "it lacks 33 of the 64 rows of the last day's largest listing",
    );
  });

  it('that is accepted becomes the new measure', async () => {
    const gateway = await start(64);
    await bring(gateway, numberedRows(32));
    for (const _ of [1, 2, 3]) await bring(gateway, numberedRows(16));
    expect(await bring(gateway, numberedRows(8))).toMatchObject({ rows: 8, isHeldBack: false });
    expect((await bring(gateway, numberedRows(4))).isHeldBack).toBe(true);
  });

  it('ends when the rows are sent again', async () => {
    const gateway = await start(64);
    for (const count of [40, 64, 40, 64, 40]) {
      expect(await bring(gateway, numberedRows(count))).toMatchObject({ rows: count, isHeldBack: false });
    }
  });
});

describe('the loss of all tokens of a chain, five or more, at once', () => {
  const ofChain = (chainKey: string, count: number) =>
    numberedRows(count, 1000).map((row) => ({ ...row, chainKey }));
  const REST = numberedRows(100);
  const serveChain = (count: number) =>
    startGuarded({ chains: CHAINS, tokens: [...REST, ...ofChain('b', count), ...ofChain('c', 1)] });

  it('is held back, and accepted the third time in a row', async () => {
    const gateway = await serveChain(5);
    for (const _ of [1, 2]) {
      const { rows, lastFailure } = await bring(gateway, [...REST, ...ofChain('c', 1)]);
      expect(lastFailure?.message).toContain(
        'is held back: it lacks all tokens of 1 of the known chains. It is accepted once',
      );
      expect(rows).toBe(106);
    }
    expect(await reasons(gateway)).toEqual(['shrink']);
    expect(await bring(gateway, [...REST, ...ofChain('c', 1)])).toMatchObject({
      rows: 101,
      isHeldBack: false,
    });
  });

  it('is accepted if they were four, or if one of them is left', async () => {
    const four = await serveChain(4);
    expect(await bring(four, [...REST, ...ofChain('c', 1)])).toMatchObject({ rows: 101, isHeldBack: false });
    const gateway = await startGuarded(
      { chains: CHAINS, tokens: [...REST, ...ofChain('b', 5)] },
      { clock: four.clock },
    );
    expect(await bring(gateway, [...REST, ...ofChain('b', 1)])).toMatchObject({
      rows: 101,
      isHeldBack: false,
    });
  });

  it('is never accepted if their rows are sent and cannot be read', async () => {
    const gateway = await serveChain(5);
    const broken = ofChain('b', 5).map((row) => ({ ...row, decimals: '6' }));
    for (let times = 0; times < 5; times++) {
      expect(await bring(gateway, [...REST, ...broken, ...ofChain('c', 1)])).toMatchObject({
        rows: 106,
        isHeldBack: true,
      });
    }
    expect(await reasons(gateway)).toEqual(['rejected_rows', 'shrink']);
  });
});

describe('rows that cannot be read', () => {
  const unreadable = (row: object) => ({ ...row, decimals: '6' });
  const half = (from: number, count = 10) =>
    numberedRows(count).map((row, index) => (index < from ? row : unreadable(row)));

  it('never cause an accepted loss, however often they are sent', async () => {
    const gateway = await start(10);
    for (let times = 0; times < 7; times++) {
      expect(await bring(gateway, half(4))).toMatchObject({
        rows: 10,
        isHeldBack: true,
        lastFailure: {
          code: 'UPSTREAM_MALFORMED',
          message:
            "The upstream's tokens listing is held back: it lacks 6 of 10 known rows, and 6 of the rows that it lacks cannot be read. It is accepted only when its rows can be read.",
        },
      });
    }
    expect(await reasons(gateway)).toEqual(['rejected_rows', 'shrink']);
    const [detail] = gateway.logged.flatMap((line) => (line.heldBackFor ? String(line.detail) : []));
    expect(detail).toContain('tokens[4]: decimals');
    // What is left of them is the truth only where it comes without them, from the first time on.
    for (const isHeldBack of [true, true, false]) {
      expect(await bring(gateway, numberedRows(4))).toMatchObject({ isHeldBack });
    }
  });

  it('never do, either, if they cannot be identified', async () => {
    const gateway = await start(10);
    const rows = [...numberedRows(4), ...Array.from({ length: 6 }, () => ({ decimals: 6 }))];
    for (let times = 0; times < 5; times++) {
      expect(await bring(gateway, rows)).toMatchObject({ rows: 10, isHeldBack: true });
    }
  });

  it('never do, either, if they become more step by step', async () => {
    const gateway = await start(10);
    expect(await bring(gateway, half(6))).toMatchObject({ rows: 6, rejectedRows: 4, isHeldBack: false });
    for (let times = 0; times < 5; times++) {
      expect(await bring(gateway, half(4))).toMatchObject({ rows: 6, isHeldBack: true });
    }
    expect(await bring(gateway, numberedRows(10))).toMatchObject({ rows: 10, isHeldBack: false });
  });

  it('do not matter if they are few', async () => {
    expect(await bring(await start(10), half(5))).toMatchObject({
      rows: 5,
      rejectedRows: 5,
      isHeldBack: false,
    });
  });

  it('do not prevent that a true loss is accepted, if they are few of the rest', async () => {
    const gateway = await start(40);
    const left = [...numberedRows(10), unreadable(numbered(11)), null];
    for (const isHeldBack of [true, true, false]) {
      expect((await bring(gateway, left)).isHeldBack).toBe(isHeldBack);
    }
  });

  it('that were not known before are not a loss', async () => {
    const strange = Array.from({ length: 300 }, (_, index) => unreadable(numbered(index + 100)));
    expect(await bring(await start(10), [...numberedRows(10), ...strange])).toMatchObject({
      rows: 10,
      rejectedRows: 300,
      isHeldBack: false,
    });
  });
});
