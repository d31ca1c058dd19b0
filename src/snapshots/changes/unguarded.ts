import { EMPTY_GUARD } from '../../domain/guard-record.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched } from '../../domain/listing.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { clocksOf } from './guard.js';

/*
 * What a guarded listing and its record tell of rows that are not served.
 */

/**
 * What is known of rows that are not listed, by key: the last accepted row of one that has gone, and null for a new one
 * that waits.
 */
export function unlistedRows<Row>(
  kind: Pick<ListingKind<Row>, 'keyOf'>,
  { rows, guard = EMPTY_GUARD }: Fetched<Row>,
): ReadonlyMap<string, Row | null> {
  const listed = keyedRows(rows, kind.keyOf);
  const waiting = guard.held.filter(({ key }) => !listed.has(key));
  return new Map([
    ...guard.gone.map(({ row }) => [kind.keyOf(row), row] as const),
    ...waiting.map(({ key }) => [key, null] as const),
  ]);
}

/**
 * The listing as the upstream sent it, before it was guarded: for another gateway, a restart, or changed rules, which
 * guard it anew.
 */
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
    // Rows that are held back are remembered with their price.
    if (row && !held.has(key)) rows.set(key, kind.withPrice(row, usd, listing.takenAt));
  }
  return { ...facts, rows: Object.freeze([...rows.values()]), contradictory };
}
