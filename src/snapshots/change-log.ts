/** The change log of a listing: the differences between its last states. */
import { textDigest } from '../domain/digests.js';
import { keyedRows } from '../domain/keyed-rows.js';
import type { ChangeLog, ChangeStep } from '../domain/listing-memory.js';
import { forEachInSteps, yieldThen } from '../scheduling/steps.js';
import type { ListingKind } from '../upstream/listing-kinds.js';

/** A listing remembers at most this many changes. */
const MAX_STEPS = 200;
/** The remembered changes have at most this many bytes, as JSON: the keys of about 4,000 rows. */
const MAX_KEYS_BYTES = 262_144;

/** The differences between a listing and an earlier state, without prices. */
export interface ListingChanges<Row> {
  /** Identifies the present state. */
  readonly cursor: string;
  /** True if the earlier state is unknown: then `changed` has all rows, and `removed` is empty. */
  readonly isReset: boolean;
  /** The rows that were added or changed, even if they have changed back. */
  readonly changed: readonly Row[];
  /** The keys of removed rows, even if they were added after the earlier state. */
  readonly removed: readonly string[];
}

interface LoggedRows<Row> {
  readonly rows: readonly Row[];
  readonly history: { readonly changes: ChangeLog };
}

/**
 * Makes the change log of a new listing. It yields to requests.
 *
 * @param contents for each row, a text of all its values except the price
 * @param shared the log that was stored or shared with the rows. It is used if its cursor is that of the rows
 */
export async function nextChangeLog<Row>(
  kind: ListingKind<Row>,
  rows: readonly Row[],
  contents: readonly string[],
  shared: ChangeLog | undefined,
  before: LoggedRows<Row> | undefined,
): Promise<ChangeLog> {
  // The cursor does not depend on the order of the rows.
  const cursor = await yieldThen(() => textDigest(`${contents.toSorted().join('\n')}\n`));
  if (shared?.cursor === cursor) return { cursor, steps: newest(shared.steps) };
  if (!before) return { cursor, steps: [] };
  const known = before.history.changes;
  if (known.cursor === cursor) return known;
  const keys = await changedKeys(kind, before.rows, rows);
  return { cursor, steps: newest([...known.steps, { from: known.cursor, keys }]) };
}

/** The differences from the state with the cursor `since`. If that state is unknown, all rows count as changed. */
export function changesSince<Row>(
  kind: ListingKind<Row>,
  { rows, history: { changes } }: LoggedRows<Row>,
  since: string | undefined,
): ListingChanges<Row> {
  const { cursor, steps } = changes;
  if (since === cursor) return { cursor, isReset: false, changed: [], removed: [] };
  // If the listing was in this state several times, the last time counts, because the fewest changes follow it.
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

async function changedKeys<Row>(kind: ListingKind<Row>, before: readonly Row[], after: readonly Row[]) {
  const known = keyedRows(before, kind.keyOf);
  const present = keyedRows(after, kind.keyOf);
  const keys = [...known.keys()].filter((key) => !present.has(key));
  await forEachInSteps(present, ([key, row]) => {
    const old = known.get(key);
    if (old === undefined || kind.contentOf(old) !== kind.contentOf(row)) keys.push(key);
  });
  return keys;
}
