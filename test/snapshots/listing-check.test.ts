/** A refresh that lacks many rows is held back whole, until the same rows have been missing often enough in a row. */
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { DAY, HOUR } from '../support/clock.js';
import { status } from '../support/fake-upstream.js';
import { numbered, numberedRows, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

type Rows = readonly unknown[];

const CHAINS = [chainRow('a')];
const start = (count: number, config = {}) =>
  startGuarded({ chains: CHAINS, tokens: numberedRows(count) }, { config });

type Gateway = Awaited<ReturnType<typeof start>>;
const statusOf = ({ listings }: Gateway) => listings().tokens;
async function bring(gateway: Gateway, rows: Rows, afterMs?: number) {
  await gateway.bring({ tokens: rows }, afterMs);
  return statusOf(gateway);
}
async function reasons({ metrics }: Gateway) {
  const { text } = await metrics.expose();
  return [...text.matchAll(/^gateway_listing_hold_backs_total\{listing="\w+",reason="(\w+)"\} \d+$/gm)]
    .map(([, reason]) => reason)
    .sort();
}

it('a refresh that loses more than half of the rows is held back whole, logged, and accepted the third time in a row', async () => {
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
  const [detail] = gateway.logged.flatMap((line) => (line.heldBackFor ? String(line.detail) : []));
  expect(detail?.split('; ')).toEqual(
    ['5', '6', '7', '8', '9', 'a'].map((digit) => `a:0x${digit.padStart(40, '0')}`),
  );
  expect(await bring(gateway, numberedRows(4))).toMatchObject({ rows: 4, isHeldBack: false });
  expect(await gateway.sample('gateway_listing_held_back{listing="tokens"}')).toBe(0);
  const taking = 'The tokens listing that was held back is accepted: it lacks 6 of 10 known rows';
  expect(gateway.logged.map(({ msg }) => msg)).toContain(taking);
  // Rows that are removed like this do not count as changes of guarded values.
  expect(gateway.heldBackRows()).toEqual([0, 0]);
});

it('a held-back refresh is still counted after failed refreshes, and with other rows and values', async () => {
  const gateway = await start(10);
  const left = (nth: number) => [...numberedRows(4, 1, { name: `${nth}` }), numbered(20 + nth)];
  await bring(gateway, left(1));
  gateway.upstream.plan('tokens', status(500));
  await gateway.bring({});
  expect(await bring(gateway, left(2))).toMatchObject({ rows: 10 });
  expect(await bring(gateway, left(3))).toMatchObject({ rows: 5 });
});

it('a loss of rows step by step is noticed also after a restart from disk', async () => {
  const before = await start(64, onDisk().config);
  expect((await bring(before, numberedRows(32))).rows).toBe(32);
  const after = await restart(before);
  expect(statusOf(after).rows).toBe(32);
  expect((await bring(after, numberedRows(31))).lastFailure?.message).toContain(
    "it lacks 33 of the 64 rows of the last day's largest listing",
  );
});

const ofChain = (chainKey: string, count: number) =>
  numberedRows(count, 1000).map((row) => ({ ...row, chainKey }));
const REST = [...numberedRows(100), ...ofChain('c', 1)];

const unreadable = (row: object) => ({ ...row, decimals: '6' });
const readableUntil = (from: number) =>
  numberedRows(10).map((row, index) => (index < from ? row : unreadable(row)));

it('rows that cannot be read never cause an accepted loss, however often they are sent', async () => {
  const gateway = await start(10);
  const message =
    "The upstream's tokens listing is held back: it lacks 6 of 10 known rows, and 6 of the rows that it lacks cannot be read. It is accepted only when its rows can be read.";
  const held = { rows: 10, isHeldBack: true, lastFailure: { code: 'UPSTREAM_MALFORMED', message } };
  for (let times = 0; times < 7; times++) expect(await bring(gateway, readableUntil(4))).toMatchObject(held);
  expect(await reasons(gateway)).toEqual(['rejected_rows', 'shrink']);
  const [detail] = gateway.logged.flatMap((line) => (line.heldBackFor ? String(line.detail) : []));
  expect(detail).toContain('tokens[4]: decimals');
  // Without the unreadable rows, the other rows are accepted at the third time.
  for (const isHeldBack of [true, true, false])
    expect(await bring(gateway, numberedRows(4))).toMatchObject({ isHeldBack });
});

interface Step {
  readonly rows: Rows;
  readonly isHeldBack: boolean;
  readonly because?: string;
  readonly afterMs?: number;
}
const held = (rows: Rows, because = ''): Step => ({ rows, isHeldBack: true, because });
const accepted = (rows: Rows, afterMs = 1_000): Step => ({ rows, isHeldBack: false, afterMs });
const times = (count: number, step: Step) => Array.from({ length: count }, () => step);
const unnamed = Array.from({ length: 6 }, () => ({ decimals: 6 }));
const mostlyGone = [...numberedRows(10), unreadable(numbered(11)), null];

it.each<[what: string, first: Rows, steps: readonly Step[]]>([
  ['of half is accepted', numberedRows(10), [accepted(numberedRows(5))]],
  [
    'is held back even if there are as many new rows',
    numberedRows(10),
    [held(numberedRows(10, 101), 'it lacks 10 of 10 known rows')],
  ],
  [
    'is counted anew after another loss, and after a good listing',
    numberedRows(10),
    [
      ...[4, 4, 3, 4, 4].map((left) => held(numberedRows(left))),
      accepted(numberedRows(10)),
      ...times(2, held(numberedRows(4))),
      accepted(numberedRows(4)),
    ],
  ],
  [
    'step by step is measured against the largest listing, and a day later against the smaller one',
    numberedRows(64),
    [
      accepted(numberedRows(32)),
      held(numberedRows(31), "it lacks 33 of the 64 rows of the last day's largest listing"),
      held(numberedRows(16)),
      accepted(numberedRows(32), DAY + HOUR),
      accepted(numberedRows(20)),
    ],
  ],
  [
    'adds up over two refreshes, even if there are as many new rows',
    numberedRows(60),
    [accepted(numberedRows(60, 21)), held(numberedRows(60, 41))],
  ],
  [
    'that is accepted becomes the new measure',
    numberedRows(64),
    [
      accepted(numberedRows(32)),
      ...times(2, held(numberedRows(16))),
      ...[16, 8].map((left) => accepted(numberedRows(left))),
      held(numberedRows(4)),
    ],
  ],
  [
    'ends when the rows are listed again',
    numberedRows(64),
    [40, 64, 40, 64, 40].map((count) => accepted(numberedRows(count))),
  ],
  [
    'of all five tokens of a chain is accepted the third time in a row',
    [...REST, ...ofChain('b', 5)],
    [
      ...times(2, held(REST, 'it lacks all tokens of 1 of the known chains. It is accepted once')),
      accepted(REST),
    ],
  ],
  ['of all four tokens of a chain is accepted', [...REST, ...ofChain('b', 4)], [accepted(REST)]],
  [
    'of all but one token of a chain is accepted',
    [...REST, ...ofChain('b', 5)],
    [accepted([...REST, ...ofChain('b', 1)])],
  ],
  [
    'of a chain whose rows cannot be read is never accepted',
    [...REST, ...ofChain('b', 5)],
    times(5, held([...REST, ...ofChain('b', 5).map(unreadable)])),
  ],
  [
    'of rows that cannot be identified is never accepted',
    numberedRows(10),
    times(5, held([...numberedRows(4), ...unnamed])),
  ],
  [
    'of ever more rows that cannot be read is never accepted',
    numberedRows(10),
    [accepted(readableUntil(6)), ...times(5, held(readableUntil(4))), accepted(numberedRows(10))],
  ],
  ['of half is accepted, even if the rows cannot be read', numberedRows(10), [accepted(readableUntil(5))]],
  [
    'of rows that are gone is accepted the third time, although a few others cannot be read',
    numberedRows(40),
    [...times(2, held(mostlyGone)), accepted(mostlyGone)],
  ],
  [
    'does not include unknown rows that cannot be read',
    numberedRows(10),
    [accepted([...numberedRows(10), ...numberedRows(300, 101).map(unreadable)])],
  ],
])('a loss of rows %s', async (_what, first, steps) => {
  const gateway = await startGuarded({ chains: CHAINS, tokens: first });
  for (const { rows, isHeldBack, because = '', afterMs } of steps) {
    const before = statusOf(gateway).rows;
    const status = await bring(gateway, rows, afterMs);
    const good = rows.filter((row) => typeof (row as { decimals?: unknown } | null)?.decimals === 'number');
    expect(status).toMatchObject(
      isHeldBack
        ? { isHeldBack, rows: before, lastFailure: { message: expect.stringContaining(because) } }
        : { isHeldBack, rows: good.length, rejectedRows: rows.length - good.length },
    );
  }
});
