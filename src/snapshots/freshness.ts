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

/** The largest age at which each listing, and routes, count as fresh, in milliseconds. */
export type FreshMs = Readonly<Record<keyof ListingRows | 'routes', number>>;

/** The freshness of data that was read from snapshots and routes. */
export interface Freshness {
  /**
   * The value of `x-stale-listings`: the stale listings and routes with their ages in whole seconds, such as
   * `chains;age=340, tokens;age=95`. Undefined if everything that was read is fresh.
   */
  readonly staleListings: string | undefined;
  /** The milliseconds until a listing, or the routes, become stale; 0 if something is stale now. */
  readonly freshForMs: number;
  /** When the oldest of the listings and routes that were read was fetched; infinite if none was read. */
  readonly takenAt: number;
}

/** The freshness of the data that was read from these snapshots. A listing without a snapshot counts for nothing. */
export function freshnessOf(
  from: ServedSnapshots,
  { listings, routesTakenAt = Number.POSITIVE_INFINITY }: Reads,
  freshMs: FreshMs,
  now: number,
): Freshness {
  let staleListings: string | undefined;
  let freshForMs = Number.POSITIVE_INFINITY;
  let oldestAt = Number.POSITIVE_INFINITY;
  function add(name: keyof FreshMs, takenAt: number, ageMs: number) {
    if (ageMs > freshMs[name]) {
      const stale = `${name};age=${Math.floor(ageMs / 1000)}`;
      staleListings = staleListings === undefined ? stale : `${staleListings}, ${stale}`;
    }
    freshForMs = Math.min(freshForMs, Math.max(0, freshMs[name] - ageMs));
    oldestAt = Math.min(oldestAt, takenAt);
  }
  for (const name of listings) {
    const snapshot = from[name];
    if (snapshot) add(name, snapshot.takenAt, snapshot.ageAt(now));
  }
  // Without routes, `routesTakenAt` is infinite, and this changes nothing.
  add('routes', routesTakenAt, now - routesTakenAt);
  return { staleListings, freshForMs, takenAt: oldestAt };
}
