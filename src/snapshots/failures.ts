import type { RequestDelay } from '../domain/listing.js';
import { malformed, UpstreamError } from '../domain/upstream-error.js';

/** A failed refresh. */
export interface Failure {
  readonly error: UpstreamError;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Wraps an error of the gateway's own code. Clients learn no more than that there was one; the log has the cause. */
export function internalError(cause: unknown): UpstreamError {
  return malformed('it met an internal error of the gateway, which the log tells', undefined, cause);
}

/**
 * Says what keeps a request for a listing from being sent. It is no failed attempt, and is not counted as one.
 *
 * @param at when the request was made (milliseconds since 1970)
 */
export function delayFailure(name: string, at: number, delay: RequestDelay | undefined): Failure | undefined {
  if (!delay) return undefined;
  const { code, message } = delay.error;
  const until = new Date(Date.now() + delay.leftMs).toISOString();
  return {
    error: new UpstreamError(code, `The refresh of the ${name} listing waits until ${until}: ${message}`),
    at,
  };
}

// Pauses between the refreshes of a listing, in milliseconds.

/** After a first failed refresh. */
export const FIRST_PAUSE_MS = 1_000;
/** The longest pause after a failed refresh, unless the listing stays fresh for less. */
export const MAX_PAUSE_MS = 30_000;
/** A longer Retry-After is cut to this. */
export const LONGEST_PAUSE_MS = 3_600_000;
/** After a failure a gateway with peers waits this much longer at most, so that a peer makes the next attempt. */
export const STAND_BACK_MS = 1_000;
/** The shortest time until the refresh that follows a snapshot of a peer or from disk. */
export const LEAST_PAUSE_MS = 100;
