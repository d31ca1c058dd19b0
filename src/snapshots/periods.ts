/**
 * Restarts the periods of held-back values and doubted prices, when a listing that is held back as a whole interrupts
 * them, here or at a peer.
 */
import { factsKey } from '../domain/guarded-facts.js';
import { keyedRows } from '../domain/keyed-rows.js';
import { type Fetched, sentAtOf } from '../domain/listing.js';
import type { HeldRow } from '../domain/listing-memory.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { firstDoubted, isDoubted, isFarFrom } from './cross-checks.js';
import type { GuardedListing } from './guard.js';

/**
 * Restarts the periods of the served listing that `sent` interrupts, because it has other values or none. Returns
 * `served` itself if no period restarts.
 */
export function withRestartedPeriods<Row>(
  kind: ListingKind<Row>,
  served: GuardedListing<Row>,
  sent: Fetched<Row>,
): GuardedListing<Row> {
  const sentRows = keyedRows(sent.rows, kind.keyOf);
  const restarted = withLaterPeriods(served, ({ key, rows, since }) => {
    const row = sentRows.get(key);
    const present = sent.contradictory?.get(key) ?? (row ? [row] : []);
    const isSame = factsKey(kind.guarded, ...present) === factsKey(kind.guarded, ...rows);
    return isSame ? since : sentAtOf(sent);
  });
  const prices = served.guard.prices.map((doubt) => {
    const row = sentRows.get(doubt.key);
    const usd = row && kind.priceOf?.(row);
    const first = firstDoubted(doubt);
    const isSent = usd !== undefined && first !== undefined && !isFarFrom(usd, first);
    return isSent || !isDoubted(doubt, served.takenAt) ? doubt : { ...doubt, since: sentAtOf(sent) };
  });
  const isSame = prices.every((doubt, nth) => doubt === served.guard.prices[nth]);
  return isSame ? restarted : { ...restarted, guard: { ...restarted.guard, prices } };
}

/**
 * Moves the beginning of hold-back periods to `beganAt` (milliseconds since 1970), if this is later. Returns `served`
 * itself if no period changes.
 */
export function withLaterPeriods<Row>(
  served: GuardedListing<Row>,
  beganAt: (held: HeldRow<Row>) => number,
): GuardedListing<Row> {
  const held = served.guard.held.map((each) => ({ ...each, since: Math.max(each.since, beganAt(each)) }));
  const isSame = held.every(({ since }, nth) => since === served.guard.held[nth]?.since);
  return isSame ? served : { ...served, guard: { ...served.guard, held } };
}
