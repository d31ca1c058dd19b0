import type { ListingStatus, StaleListing } from './listing/snapshots.js';
import type { Loaders } from './loaders.js';
import type { Logger } from './logger.js';

/** What a resolver may reach: one for each operation. */
export interface GatewayContext {
  readonly loaders: Loaders;
  /** Marks each line with the request's id. */
  readonly log: Logger;
  /** A price asked for before this (milliseconds since 1970) is too old to be believed. */
  readonly oldestPriceAsOf: number;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** How the listings stand at the time of this operation. */
  readonly listings: () => readonly ListingStatus[];
  /** Which of the snapshots that this operation has read so far were stale at its time. */
  readonly staleListings: () => readonly StaleListing[];
}

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;
const requestIds = new WeakMap<Request, string>();

/**
 * The request's id: the caller's `x-request-id` where it is short and plain, so that nothing odd gets into
 * logs and answers, and a new one elsewhere. One request always has the same.
 */
export function requestIdOf(request: Request): string {
  const known = requestIds.get(request);
  if (known) return known;
  const given = request.headers.get('x-request-id');
  const id = given && REQUEST_ID.test(given) ? given : crypto.randomUUID();
  requestIds.set(request, id);
  return id;
}
