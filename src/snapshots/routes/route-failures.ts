import { LRUCache } from 'lru-cache';
import type { UpstreamError } from '../../domain/upstream-error.js';
import { growingPause } from '../../scheduling/growing-pause.js';

interface Failed {
  readonly error: UpstreamError;
  readonly inARow: number;
  /** On the clock of `performance`. */
  readonly until: number;
}

/** The pause after a second failure in a row; each further failure doubles it. A first one can be chance. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A longer Retry-After is cut to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** How long a failure is remembered. */
const FORGET_MS = 2 * MAX_RETRY_AFTER_MS;
const MAX_REMEMBERED = 1_000;

/**
 * Remembers routes that failed, so that one bad request that clients repeat does not use up the rate limit. It uses
 * the monotonic clock.
 */
export function createRouteFailures() {
  const failures = new LRUCache<string, Failed>({ max: MAX_REMEMBERED, ttl: FORGET_MS });
  return {
    /** The error to return without a request; undefined if the upstream may be asked. */
    find(key: string): UpstreamError | undefined {
      const failed = failures.get(key);
      return failed && performance.now() < failed.until ? failed.error : undefined;
    },
    /** Adds one more failure in a row. */
    add(key: string, error: UpstreamError): void {
      const inARow = (failures.get(key)?.inARow ?? 0) + 1;
      const pauseMs = inARow === 1 ? 0 : growingPause(FIRST_PAUSE_MS, MAX_PAUSE_MS, inARow - 2);
      const askedMs = Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
      failures.set(key, { error, inARow, until: performance.now() + Math.max(pauseMs, askedMs) });
    },
    /** Forgets the failures after a success. */
    delete: (key: string) => failures.delete(key),
  };
}
