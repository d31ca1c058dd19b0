/** The age of listings and routes. */
import type { ListingRows } from '../domain/listing.js';
import type { ServedSnapshots } from './snapshot.js';

/** EMPTY: the listing has no snapshot yet. FRESH: the age of its snapshot is within the limit. STALE: it is older. */
export type ListingState = 'EMPTY' | 'FRESH' | 'STALE';

export interface Reads {
  readonly listings: readonly (keyof ListingRows)[];
  /** `takenAt` of the oldest routes that were read (milliseconds since 1970); infinite without routes. */
  readonly routesTakenAt?: number;
}

/** A listing, or the routes that an operation has read, older than its limit in {@link FreshMs}. */
export interface StaleListing {
  readonly name: keyof ListingRows | 'routes';
  readonly ageMs: number;
}

/** The largest age at which each listing, and routes, count as fresh, in milliseconds. */
export type FreshMs = Readonly<Record<StaleListing['name'], number>>;

/**
 * The freshness of the data that was read: the stale parts, the milliseconds until the first part is stale (0 if a part
 * is stale now), and the oldest `takenAt` (milliseconds since 1970). A listing without a snapshot counts for nothing.
 */
export function freshnessOf(
  from: ServedSnapshots,
  { listings, routesTakenAt = Number.POSITIVE_INFINITY }: Reads,
  freshMs: FreshMs,
  now: number,
) {
  const stale: StaleListing[] = [];
  let freshForMs = Number.POSITIVE_INFINITY;
  let oldestAt = Number.POSITIVE_INFINITY;
  function add(name: StaleListing['name'], takenAt: number, ageMs: number) {
    if (ageMs > freshMs[name]) stale.push({ name, ageMs });
    freshForMs = Math.min(freshForMs, Math.max(0, freshMs[name] - ageMs));
    oldestAt = Math.min(oldestAt, takenAt);
  }
  for (const name of listings) {
    const snapshot = from[name];
    if (snapshot) add(name, snapshot.takenAt, snapshot.ageAt(now));
  }
  // Without routes, `routesTakenAt` is infinite, and this changes nothing.
  add('routes', routesTakenAt, now - routesTakenAt);
  return { stale, freshForMs, takenAt: oldestAt };
}
