import type { GuardRecord } from '../domain/guard-record.js';
import type { GuardedFact } from '../domain/listing.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { GuardedListing } from './changes/guard.js';

/** How much of a listing is held back. */
export interface HeldBackSummary {
  readonly rows: number;
  readonly rowsByFact: ReadonlyMap<GuardedFact, number>;
  /** Since when the oldest of them is held back (milliseconds since 1970); undefined if there is none. */
  readonly oldestSince: number | undefined;
}

export const NONE_HELD_BACK: HeldBackSummary = { rows: 0, rowsByFact: new Map(), oldestSince: undefined };

/**
 * Counts the rows that are held back, and the new rows that wait to take the place of one that has gone. Rows that the
 * operator hides do not count.
 */
export function heldBackIn<Row>(
  kind: ListingKind<Row>,
  served: readonly Row[],
  { guard, rows }: GuardedListing<Row>,
  select: (rows: readonly Row[], guard: GuardRecord<Row>) => readonly Row[],
): HeldBackSummary {
  const facts = served.flatMap(kind.heldBackOf);
  const rowsByFact = new Map<GuardedFact, number>();
  for (const { fact } of facts) rowsByFact.set(fact, (rowsByFact.get(fact) ?? 0) + 1);
  const listed = new Set(rows.map(kind.keyOf));
  const named = new Set(facts.map(({ fact, upstream }) => (fact === 'address' ? upstream : undefined)));
  const waiting = guard.held.filter(
    ({ key, rows: [row, ...others] }) =>
      row !== undefined && others.length === 0 && !listed.has(key) && !named.has(kind.addressOf?.(row)),
  );
  const alone = waiting.filter(({ rows }) => select(rows, guard).length > 0);
  if (alone.length > 0) rowsByFact.set('address', (rowsByFact.get('address') ?? 0) + alone.length);
  const since = [...facts, ...alone].map((each) => each.since);
  return {
    rows: served.filter((row) => kind.heldBackOf(row).length > 0).length + alone.length,
    rowsByFact,
    oldestSince: since.length === 0 ? undefined : since.reduce((one, other) => Math.min(one, other)),
  };
}
