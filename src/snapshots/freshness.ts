/** How old listings are, what follows from it, and the status of a listing. */
import type { ListingSource } from '../domain/listing.js';
import type { Refresher } from './refresher.js';
import type { Snapshot } from './snapshot.js';

export const LISTING_NAMES = ['chains', 'tokens'] as const;

export type ListingName = (typeof LISTING_NAMES)[number];

/** The state of a listing depends on the age of its snapshot alone. */
export type ListingState = 'EMPTY' | 'FRESH' | 'STALE';

/** Which listings were read. */
export type ListingReads = Readonly<Record<ListingName, boolean>>;

/** What was read that has an age. */
export interface Reads extends ListingReads {
  /** When the oldest routes that were read were fetched (milliseconds since 1970); undefined without routes. */
  readonly routesTakenAt?: number | undefined;
}

/** A listing whose snapshot is older than its freshness, or routes that are. */
export interface StaleListing {
  readonly name: ListingName | 'routes';
  readonly ageMs: number;
}

/** The freshness of one or both listings together. */
export interface Freshness {
  readonly stale: readonly StaleListing[];
  /** How long until the first of them is stale, in milliseconds; 0 if one is stale, infinite if there are none. */
  readonly freshForMs: number;
  /** `takenAt` of the oldest (milliseconds since 1970); infinite if there are none. */
  readonly takenAt: number;
}

/** The status of one listing. Times are milliseconds since 1970. */
export interface ListingStatus {
  readonly name: ListingName;
  readonly source: ListingSource;
  readonly state: ListingState;
  readonly takenAt: number | null;
  readonly ageMs: number | null;
  readonly rows: number;
  readonly rejectedRows: number;
  /** The rows that are served as they were last accepted, because the upstream contradicts them. */
  readonly heldBackRows: number;
  readonly version: string | null;
  /** Whether the upstream's last answer is held back, and an older snapshot served in its place. */
  readonly isHeldBack: boolean;
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: number } | null;
}

/**
 * Computes the status of a listing.
 *
 * @param source the service that is asked, for a listing without a snapshot
 * @param now milliseconds since 1970
 */
export function statusOf(
  name: ListingName,
  refresher: Refresher<Snapshot<unknown>>,
  source: ListingSource,
  now: number,
): ListingStatus {
  const { snapshot, lastFailure, isHeldBack, heldBack, freshMs } = refresher;
  const ageMs = snapshot ? snapshot.ageAt(now) : null;
  return {
    name,
    source: snapshot?.source ?? source,
    state: ageMs === null ? 'EMPTY' : ageMs > freshMs ? 'STALE' : 'FRESH',
    takenAt: snapshot?.takenAt ?? null,
    ageMs,
    rows: snapshot?.rows.length ?? 0,
    rejectedRows: snapshot?.rejected.count ?? 0,
    heldBackRows: heldBack.rows,
    version: snapshot?.version ?? null,
    isHeldBack,
    lastFailure: lastFailure
      ? { code: lastFailure.error.code, message: lastFailure.error.message, at: lastFailure.at }
      : null,
  };
}
