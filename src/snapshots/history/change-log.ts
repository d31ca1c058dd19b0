/** How a listing differs from its last states. */
import { createHash } from 'node:crypto';
import type { ChangeLog, ChangeStep } from '../../domain/history.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import { forEachChunk, runInSteps } from '../../scheduling/chunks.js';
import { sortSteps } from '../../search/order/sort-steps.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { shortDigest } from '../short-digest.js';

/** The most changes of a listing that are remembered. */
const MAX_STEPS = 200;
/** The most memory that their keys take, in bytes of JSON. */
const MAX_KEYS_BYTES = 262_144;

/** How a listing differs from an earlier state, prices left out. */
export interface ListingChanges<Row> {
  /** Stands for the present state. */
  readonly cursor: string;
  /** Whether the earlier state is unknown. Then all rows count as changed, and none as removed. */
  readonly isReset: boolean;
  /** The rows that came or changed. A row that changed and changed back may be among them. */
  readonly changed: readonly Row[];
  /** The keys of rows that went. A row that came and went again may be among them. */
  readonly removed: readonly string[];
}

/** A listing with its last changes. */
interface LoggedRows<Row> {
  readonly rows: readonly Row[];
  readonly history: { readonly changes: ChangeLog };
}

/**
 * The change log of a new listing. It yields to requests.
 *
 * @param shared the log that came with the rows. It is taken over if it fits them, so that gateways which share rows
 *   remember the same changes
 * @param before the older listing
 * @param isSame whether the rows are known to differ from the older ones in nothing but prices
 */
export async function nextChangeLog<Row>(
  kind: ListingKind<Row>,
  rows: readonly Row[],
  shared: ChangeLog | undefined,
  before: LoggedRows<Row> | undefined,
  isSame: boolean,
): Promise<ChangeLog> {
  const known = before?.history.changes;
  const cursor = isSame && known ? known.cursor : await cursorOf(kind, rows);
  if (shared?.cursor === cursor) return { cursor, steps: newest(shared.steps) };
  if (!before || !known) return { cursor, steps: [] };
  if (known.cursor === cursor) return known;
  const keys = await changedKeys(kind, before.rows, rows);
  return { cursor, steps: newest([...known.steps, { from: known.cursor, keys }]) };
}

/** How the listing differs from the state that this cursor stands for; from none without a cursor. */
export function changesSince<Row>(
  kind: ListingKind<Row>,
  { rows, history: { changes } }: LoggedRows<Row>,
  since: string | undefined,
): ListingChanges<Row> {
  const { cursor, steps } = changes;
  if (since === cursor) return { cursor, isReset: false, changed: [], removed: [] };
  // A state can come back: the last time is the shortest way to the present one.
  const from = steps.findLastIndex((step) => step.from === since);
  if (from < 0) return { cursor, isReset: true, changed: rows, removed: [] };
  const keyed = keyedRows(rows, kind.keyOf);
  const changed: Row[] = [];
  const removed: string[] = [];
  for (const key of new Set(steps.slice(from).flatMap(({ keys }) => keys))) {
    const row = keyed.get(key);
    if (row === undefined) removed.push(key);
    else changed.push(row);
  }
  return { cursor, isReset: false, changed, removed };
}

/** As many of the last steps as may be remembered. */
function newest(steps: readonly ChangeStep[]): readonly ChangeStep[] {
  let bytes = 0;
  let first = steps.length;
  while (first > 0 && steps.length - first < MAX_STEPS) {
    bytes += Buffer.byteLength(JSON.stringify(steps[first - 1]));
    if (bytes > MAX_KEYS_BYTES) break;
    first--;
  }
  return steps.slice(first);
}

async function cursorOf<Row>(kind: ListingKind<Row>, rows: readonly Row[]): Promise<string> {
  const lines: string[] = [];
  await forEachChunk(rows, (chunk) => {
    for (const row of chunk) lines.push(kind.contentOf(row));
  });
  const order = await runInSteps(sortSteps(lines.length, (a, b) => compareTexts(lines[a], lines[b])));
  const digest = createHash('sha256');
  await forEachChunk([...order], (chunk) => {
    digest.update(`${chunk.map((index) => lines[index]).join('\n')}\n`);
  });
  return shortDigest(digest);
}

/** By code units, which takes a fraction of the time of a comparison by language. */
function compareTexts(one = '', other = ''): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The keys of the rows that came, changed or went. */
async function changedKeys<Row>(
  kind: ListingKind<Row>,
  before: readonly Row[],
  after: readonly Row[],
): Promise<readonly string[]> {
  const known = keyedRows(before, kind.keyOf);
  const present = keyedRows(after, kind.keyOf);
  const keys: string[] = [];
  await forEachChunk([...present], (chunk) => {
    for (const [key, row] of chunk) {
      const old = known.get(key);
      if (old === undefined || kind.contentOf(old) !== kind.contentOf(row)) keys.push(key);
    }
  });
  return [...keys, ...[...known.keys()].filter((key) => !present.has(key))];
}
