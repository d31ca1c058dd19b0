import { LRUCache } from 'lru-cache';
import type { RequestDelay } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { type Breaker, type BreakerState, createBreaker } from './circuit-breaker.js';
import { GONE_PAUSE_MS, MAX_WAIT_MS } from './errors.js';

/**
 * The lanes of requests, the most important first: whole listings, routes from listed tokens, and routes from other
 * tokens. Failures in one lane stop that lane and the lanes after it, never one before it. So nobody can stop the
 * listings by requesting routes, nor the routes from listed tokens by requesting others.
 */
export const LANES = ['listings', 'routes', 'unlisted'] as const;

export type Lane = (typeof LANES)[number];

export interface BackoffOptions {
  /** Called whenever the breaker of a lane changes. */
  readonly onBreaker: (state: BreakerState, lane: Lane) => void;
  /** Called when an answer in this lane has a Retry-After, with its length (milliseconds). */
  readonly onPause: (ms: number, lane: Lane) => void;
}

/**
 * Decides when requests must not be sent, for the whole process: during a Retry-After, for an hour after the upstream
 * has said that it is gone, and while the circuit breaker of a lane is open.
 */
export interface Backoff {
  /**
   * How long this request has to wait, in milliseconds; 0 if it may be sent now.
   *
   * @param waits whether this request waits for the next probe of an open breaker, to be the probe itself
   * @throws UpstreamError if the wait is too long: the error that causes it, with the wait as `retryAfterMs`
   */
  delayBefore(url: string, lane: Lane, waits: boolean): number;
  /** What delays the requests for listings now; undefined if nothing does. */
  delayOfListings(): RequestDelay | undefined;
  /** Sends, and records the outcome. Call it right after `delayBefore` has returned 0. */
  run<Answer>(url: string, lane: Lane, send: () => Promise<Answer>): Promise<Answer>;
}

/** A longer Retry-After is cut to this. */
const MAX_PAUSE_MS = 3_600_000;
/** The limit of a Retry-After that only one URL for routes has answered with since the last good answer. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;
/** URLs remembered as gone, least recently used dropped first. */
const MAX_GONE = 1_000;

interface LaneState {
  readonly lane: Lane;
  readonly breaker: Breaker;
  /** URLs that answered with Retry-After since the last good answer; at most two are recorded. */
  readonly pausing: Set<string>;
  pausedUntil: number;
  pausedBy: UpstreamError | undefined;
}

/** Makes the backoff of one service. */
export function createBackoff({ onBreaker, onPause }: BackoffOptions): Backoff {
  const gone = new LRUCache<string, UpstreamError>({ max: MAX_GONE, ttl: GONE_PAUSE_MS });
  const createLaneState = (lane: Lane): LaneState => ({
    lane,
    breaker: createBreaker((state) => onBreaker(state, lane)),
    pausing: new Set(),
    pausedUntil: 0,
    pausedBy: undefined,
  });
  const states: Readonly<Record<Lane, LaneState>> = {
    listings: createLaneState('listings'),
    routes: createLaneState('routes'),
    unlisted: createLaneState('unlisted'),
  };

  /** How long this lane delays requests of its own and of the lanes after it. */
  function delayBy({ breaker, pausedUntil, pausedBy }: LaneState, waits: boolean): number {
    const pauseLeftMs = pausedUntil - performance.now();
    if (pausedBy && pauseLeftMs > MAX_WAIT_MS) throw notSent(pausedBy, pauseLeftMs);
    const leftMs = breaker.delayMs();
    if (breaker.openedBy && leftMs > 0 && !waits) throw notSent(breaker.openedBy, leftMs);
    return Math.max(0, pauseLeftMs, leftMs);
  }

  function recordError(url: string, state: LaneState, error: UpstreamError): void {
    if (error.code === 'UPSTREAM_GONE') {
      gone.set(url, error);
      return;
    }
    if (!error.retryAfterMs) return;
    if (state.pausing.size < 2) state.pausing.add(url);
    const isCredible = state.lane === 'listings' || state.pausing.size > 1;
    const ms = Math.min(error.retryAfterMs, isCredible ? MAX_PAUSE_MS : MAX_PAUSE_BY_ONE_ROUTE_MS);
    if (performance.now() + ms <= state.pausedUntil) return;
    state.pausedUntil = performance.now() + ms;
    state.pausedBy = error;
    onPause(ms, state.lane);
  }

  return {
    delayBefore(url, lane, waits) {
      // If the path without a query is gone, so is every request to it.
      for (const key of new Set([url, url.replace(/\?.*/s, '')])) {
        const error = gone.get(key);
        if (error) throw notSent(error, gone.getRemainingTTL(key));
      }
      const upToHere = LANES.slice(0, LANES.indexOf(lane) + 1);
      return Math.max(...upToHere.map((each) => delayBy(states[each], waits)));
    },
    delayOfListings() {
      const { breaker, pausedUntil, pausedBy } = states.listings;
      const pauseLeftMs = pausedUntil - performance.now();
      if (pausedBy && pauseLeftMs > 0) return { error: pausedBy, leftMs: pauseLeftMs };
      const leftMs = breaker.delayMs();
      return breaker.openedBy && leftMs > 0 ? { error: breaker.openedBy, leftMs } : undefined;
    },
    async run(url, lane, send) {
      const state = states[lane];
      // Every failed attempt for a listing counts; for routes, each URL counts once.
      const key = lane === 'listings' ? {} : url;
      try {
        const answer = await state.breaker.run(key, send);
        state.pausing.clear();
        return answer;
      } catch (error) {
        if (error instanceof UpstreamError) recordError(url, state, error);
        throw error;
      }
    },
  };
}

/** The same error for a request that was not sent. */
function notSent({ code, message, status, detail }: UpstreamError, retryAfterMs: number): UpstreamError {
  return new UpstreamError(code, message, {
    status,
    retryAfterMs,
    detail: `not sent, because of: ${detail}`,
    notSent: true,
  });
}
