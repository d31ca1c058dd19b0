import { randomUUID } from 'node:crypto';
import type { Basis, Reads } from './basis.js';
import type { CostMeter } from './cost-meter.js';
import type { ListingStatus, StaleListing } from './listing/snapshots.js';
import type { Loaders } from './loaders.js';
import type { Logger } from './logger.js';

/** What a resolver may reach: one for each operation. */
export interface GatewayContext {
  readonly loaders: Loaders;
  /** What the operation costs so far. */
  readonly cost: CostMeter;
  /** Marks each line with the request's id. */
  readonly log: Logger;
  /** Whether a price of that time (milliseconds since 1970) is young enough to be believed. */
  readonly isBelieved: (asOf: number) => boolean;
  /** What else the answer depends on. */
  readonly reads: Reads;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** How the listings stand at the time of this operation. */
  readonly listings: () => readonly ListingStatus[];
  /** Which of the snapshots that this operation has read so far were stale at its time. */
  readonly staleListings: () => readonly StaleListing[];
  /** What the answer is made from, once it is; undefined where it is good for this moment alone. */
  readonly basis: () => Basis | undefined;
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
  const id = requestIdFrom(request.headers.get('x-request-id'));
  requestIds.set(request, id);
  return id;
}

/** The id of a request with this `x-request-id`. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && REQUEST_ID.test(given) ? given : nextId();
}

const PROCESS_ID = randomUUID().slice(0, 24);
let count = 0;

/** An id in the form of a UUID, of this process and counted: to draw lots for each costs much of a small answer. */
function nextId(): string {
  count += 1;
  return `${PROCESS_ID}${count.toString(16).padStart(12, '0')}`;
}
