/** The age of listings and routes, and the status of a listing. */
import type { ListingRows, ServiceName } from '../domain/listing.js';
import type { Snapshot } from './snapshot.js';

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

/** The status of one listing. Times are milliseconds since 1970. */
export interface ListingStatus {
  readonly name: keyof ListingRows;
  /** The service that the snapshot is from; without a snapshot, the service that gets the requests now. */
  readonly source: ServiceName;
  readonly state: ListingState;
  readonly takenAt: number | null;
  readonly ageMs: number | null;
  readonly rows: number;
  readonly rejectedRows: number;
  /** Listed rows with held-back facts, and new rows that wait, except those that wait to replace a listed row. */
  readonly heldBackRows: number;
  readonly version: string | null;
  /** Whether a new listing is held back as a whole, so that an older snapshot is served. */
  readonly isHeldBack: boolean;
  /** Whether the last refresh failed because the upstream says that it is gone. */
  readonly isGone: boolean;
  /** The last failed refresh, even if a later one succeeded. */
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: number } | null;
}

/** The largest age at which each listing, and routes, count as fresh, in milliseconds. */
export type FreshMs = Readonly<Record<StaleListing['name'], number>>;

/**
 * The freshness of the data that was read: the stale parts, the milliseconds until the first part is stale (0 if a part
 * is stale now), and the oldest `takenAt` (milliseconds since 1970). A listing without a snapshot is infinitely old.
 */
export function freshnessOf(
  snapshotOf: (name: keyof ListingRows) => Snapshot<unknown> | undefined,
  { listings, routesTakenAt = Number.POSITIVE_INFINITY }: Reads,
  freshMs: FreshMs,
  now: number,
) {
  const stale: StaleListing[] = [];
  let freshForMs = Number.POSITIVE_INFINITY;
  let oldestAt = Number.POSITIVE_INFINITY;
  function add(name: StaleListing['name'], takenAt: number | undefined, ageMs: number) {
    if (ageMs > freshMs[name]) stale.push({ name, ageMs });
    freshForMs = Math.min(freshForMs, Math.max(0, freshMs[name] - ageMs));
    oldestAt = Math.min(oldestAt, takenAt ?? oldestAt);
  }
  for (const name of listings) {
    const snapshot = snapshotOf(name);
    add(name, snapshot?.takenAt, snapshot?.ageAt(now) ?? Number.POSITIVE_INFINITY);
  }
  // Without routes, `routesTakenAt` is infinite, and this changes nothing.
  add('routes', routesTakenAt, now - routesTakenAt);
  return { stale, freshForMs, takenAt: oldestAt };
}
