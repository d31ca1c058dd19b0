/** Finds the rows that a guarded listing knows but does not serve: held back, removed, or waiting. */
import { EMPTY_GUARD_MEMORY, type GuardMemory } from '../../domain/guard-memory.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched, GuardedFact } from '../../domain/listing.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { clocksOf, type GuardedListing } from './guard.js';

/** The known rows that are not listed, by key: a removed row as last accepted, and null for a new one that waits. */
export function unlistedRows<Row>(
  kind: Pick<ListingKind<Row>, 'keyOf'>,
  { rows, guard = EMPTY_GUARD_MEMORY }: Fetched<Row>,
): ReadonlyMap<string, Row | null> {
  const listed = keyedRows(rows, kind.keyOf);
  const waiting = guard.held.filter(({ key }) => !listed.has(key));
  return new Map([
    ...guard.gone.map(({ row }) => [kind.keyOf(row), row] as const),
    ...waiting.map(({ key }) => [key, null] as const),
  ]);
}

/** The listing as the upstream sent it: guarded again at another gateway, after a restart, and with changed rules. */
export function asSent<Row>(kind: ListingKind<Row>, listing: Fetched<Row>): Fetched<Row> {
  const { guard, ...facts } = listing;
  if (!guard) return listing;
  const rows = new Map(keyedRows(listing.rows, kind.keyOf));
  const contradictory = new Map<string, readonly Row[]>();
  for (const { key, rows: present } of guard.held) {
    const [row] = present;
    if (row === undefined || present.length > 1) rows.delete(key);
    else rows.set(key, row);
    if (present.length > 1) contradictory.set(key, present);
  }
  const held = clocksOf(guard);
  for (const { key, usd } of guard.prices) {
    const row = rows.get(key);
    // Rows in `guard.held` still have the price that the upstream sent.
    if (row && !held.has(key)) rows.set(key, kind.withPrice(row, usd, listing.takenAt));
  }
  return { ...facts, rows: Object.freeze([...rows.values()]), contradictory };
}

/**
 * The listing with which a first one is compared: `own`, if one is continued, with the rows of other stored listings,
 * such as those of another upstream, as removed rows. So the guard knows their facts.
 */
export function withKnownFacts<Row>(
  own: Fetched<Row> | undefined,
  others: readonly Fetched<Row>[],
): Fetched<Row> | undefined {
  const byAge = others.toSorted((one, other) => one.takenAt - other.takenAt);
  const newest = byAge.at(-1);
  if (!newest) return own;
  const gone = byAge.flatMap(({ rows, takenAt, guard }) => [
    ...(guard?.gone ?? []),
    ...rows.map((row) => ({ row, at: takenAt })),
  ]);
  const { lossAcceptedAt, unnumbered } = (own ?? newest).guard ?? EMPTY_GUARD_MEMORY;
  const guard: GuardMemory<Row> = {
    ...(own?.guard ?? EMPTY_GUARD_MEMORY),
    gone: [...gone, ...(own?.guard?.gone ?? [])],
    unnumbered,
    // Rows of other listings do not count as lost: only rows that were removed after this time do.
    lossAcceptedAt: Math.max(lossAcceptedAt, newest.takenAt),
  };
  return own ? { ...own, guard } : { ...newest, rows: [], history: undefined, guard };
}

/** How much of a listing is held back. */
export interface HeldBackSummary {
  readonly rows: number;
  readonly rowsByFact: ReadonlyMap<GuardedFact, number>;
  /** Since when the first of them has been held back (milliseconds since 1970). */
  readonly oldestSince: number | undefined;
}

/** Counts the listed rows that are held back, and the new rows that wait because each would replace a removed row. */
export function heldBackIn<Row>(
  kind: ListingKind<Row>,
  served: readonly Row[],
  { guard, rows }: Pick<GuardedListing<Row>, 'guard' | 'rows'>,
  select: (rows: readonly Row[], guard: GuardMemory<Row>) => readonly Row[],
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
