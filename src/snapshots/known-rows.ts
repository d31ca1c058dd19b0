/** Finds the rows behind a guarded listing: as they were accepted, as the upstream sent them, and those that are not listed. */
import { keyedRows } from '../domain/keyed-rows.js';
import type { Fetched, GuardedFact } from '../domain/listing.js';
import { EMPTY_GUARD_MEMORY, type GuardMemory, type HeldRow } from '../domain/listing-memory.js';
import type { ListingKind } from '../upstream/listing-kinds.js';

/** A guarded fact and its value, in the form of `FactOf`. */
export type Fact = readonly [fact: string, value: string];

/** The held-back rows by key. */
export function heldByKey<Row>({ held }: GuardMemory<Row>): ReadonlyMap<string, HeldRow<Row>> {
  return new Map(held.map((each) => [each.key, each]));
}

/**
 * The rows of a guarded listing by key, with the accepted values in place of those of `keep` rules: when a rule is
 * deleted, its value must not stay.
 */
export function acceptedRows<Row>(kind: ListingKind<Row>, { rows, guard }: Fetched<Row>): Map<string, Row> {
  const byKey = new Map(keyedRows(rows, kind.keyOf));
  for (const { key, accepted = [] } of guard?.held ?? []) {
    const row = byKey.get(key);
    if (row) byKey.set(key, withFacts(kind, row, accepted));
  }
  return byKey;
}

export function withFacts<Row>(kind: ListingKind<Row>, row: Row, facts: readonly Fact[]): Row {
  return facts.reduce((changed, [fact, value]) => kind.withFact(changed, fact as GuardedFact, value), row);
}

/**
 * Finds the known rows that are not listed, by key. A removed row is as it was last accepted. The value is null for rows
 * that wait to be listed (new, or removed and sent again) or contradict each other.
 */
export function unlistedRows<Row>(
  kind: Pick<ListingKind<Row>, 'keyOf'>,
  { rows, contradictory, guard = EMPTY_GUARD_MEMORY }: Fetched<Row>,
): ReadonlyMap<string, Row | null> {
  const listed = keyedRows(rows, kind.keyOf);
  const waiting = [...guard.held.map(({ key }) => key), ...(contradictory?.keys() ?? [])];
  return new Map([
    ...guard.gone.map(({ row }) => [kind.keyOf(row), row] as const),
    ...waiting.filter((key) => !listed.has(key)).map((key) => [key, null] as const),
  ]);
}

/**
 * Restores a listing as the upstream sent it, so that it can be guarded again: at another gateway, after a restart, or
 * with changed rules.
 */
export function asSent<Row>(kind: ListingKind<Row>, listing: Fetched<Row>): Fetched<Row> {
  const { guard, ...facts } = listing;
  if (!guard) return listing;
  const rows = new Map(keyedRows(listing.rows, kind.keyOf));
  const order = [...rows.keys()];
  const contradictory = new Map(listing.contradictory);
  for (const { key, rows: present } of guard.held) {
    const [row] = present;
    if (row === undefined || present.length > 1) rows.delete(key);
    else rows.set(key, row);
    if (present.length > 1) contradictory.set(key, present);
  }
  const held = heldByKey(guard);
  for (const { key, usd } of guard.prices) {
    const row = rows.get(key);
    // Rows in `guard.held` still have the price that the upstream sent.
    if (row && !held.has(key)) rows.set(key, kind.withPrice(row, usd, listing.takenAt));
  }
  return { ...facts, rows: Object.freeze([...rows.values()]), contradictory, order };
}

/**
 * Makes the listing that a first listing is compared with. It has the rows of `own`, the listing that is continued, if
 * any. The rows of `others`, such as listings of another upstream, are added as removed rows: so the guard knows their
 * facts and last prices. The history is that of the newest of these listings, which has the last version of the token list.
 */
export function withKnownFacts<Row>(
  kind: ListingKind<Row>,
  own: Fetched<Row> | undefined,
  others: readonly Fetched<Row>[],
) {
  const byAge = others.toSorted((one, other) => one.takenAt - other.takenAt);
  const newest = byAge.at(-1);
  if (!newest) return own;
  // Stored demo data was never accepted from an upstream, and some of its values are made up.
  const accepted = byAge.filter(({ source }) => source !== 'demo');
  const listed = keyedRows(own?.rows ?? [], kind.keyOf);
  const gone = accepted.flatMap((listing) => {
    const { takenAt, guard = EMPTY_GUARD_MEMORY } = listing;
    const lastPrices = new Map(guard.prices.map(({ key, before }) => [key, before]));
    const rows = acceptedRows(kind, listing).values();
    const known = [...guard.gone, ...Array.from(rows, (row) => ({ row, at: takenAt }))];
    // A row that `own` lists was not removed, even if the upstream of `own` no longer sends it.
    const removed = known.filter(({ row }) => !listed.has(kind.keyOf(row)));
    return removed.map(({ row, at }) => {
      const usd = kind.priceOf?.(row) ?? lastPrices.get(kind.keyOf(row)) ?? null;
      return { row: kind.withPrice(row, usd, takenAt), at };
    });
  });
  const { lossAcceptedAt, unnumbered } = (own ?? accepted.at(-1))?.guard ?? EMPTY_GUARD_MEMORY;
  // While another upstream was asked, this one may have sent other values and prices. So no period begins before the
  // last listing of the other upstream.
  const anewAt = accepted.at(-1)?.takenAt ?? 0;
  const anew = <Each extends { readonly since: number }>(each: Each) => ({
    ...each,
    since: Math.max(each.since, anewAt),
  });
  const memory = own?.guard ?? EMPTY_GUARD_MEMORY;
  const guard: GuardMemory<Row> = {
    ...memory,
    held: memory.held.map(anew),
    prices: memory.prices.map(anew),
    gone: [...gone, ...memory.gone],
    unnumbered,
    // Rows removed up to this time, such as those of the other listings, do not count as lost.
    lossAcceptedAt: Math.max(lossAcceptedAt, newest.takenAt),
  };
  const { history } = own && own.takenAt >= newest.takenAt ? own : newest;
  return own ? { ...own, history, guard } : { ...newest, rows: [], guard };
}
