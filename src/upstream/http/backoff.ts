import { LRUCache } from 'lru-cache';
import type { RequestDelay } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { type Breaker, type BreakerState, createBreaker } from './circuit-breaker.js';
import { GONE_PAUSE_MS, MAX_WAIT_MS } from './errors.js';

/**
 * The lanes of requests, the most important first: whole listings, routes from listed tokens, routes from other tokens,
 * and routes that no client waits for. Failures in one lane stop that lane and the lanes after it, never one before it. So nobody can stop the
 * listings by requesting routes, nor the routes from listed tokens by requesting others.
 */
export const LANES = ['listings', 'routes', 'unlisted', 'sweep'] as const;

export type Lane = (typeof LANES)[number];

export interface BackoffOptions {
  /** Called whenever the breaker of a lane changes. */
  readonly onBreaker: (state: BreakerState, lane: Lane) => void;
  /** Called when an answer in this lane has a Retry-After, with its length (milliseconds). */
  readonly onPause: (ms: number, lane: Lane) => void;
}

/** A longer Retry-After is cut to this. */
const MAX_PAUSE_MS = 3_600_000;
/** The limit of a Retry-After that only one URL for routes has answered with since the last good answer. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;
/** URLs remembered as gone, least recently used dropped first. */
const MAX_GONE = 1_000;

interface LaneState {
  readonly breaker: Breaker;
  /** URLs that answered with Retry-After since the last good answer; at most two are recorded. */
  readonly pausing: Set<string>;
  /** The last Retry-After, and until when it lasts on the monotonic clock. */
  pause?: { readonly error: UpstreamError; readonly until: number };
}

export type Backoff = ReturnType<typeof createBackoff>;

/**
 * Makes the backoff of one service. It decides when requests must not be sent, for the whole process: during a
 * Retry-After, for an hour after the upstream has said that it is gone, and while the circuit breaker of a lane is open.
 */
export function createBackoff({ onBreaker, onPause }: BackoffOptions) {
  const gone = new LRUCache<string, UpstreamError>({ max: MAX_GONE, ttl: GONE_PAUSE_MS });
  const createLane = (lane: Lane): LaneState => ({
    breaker: createBreaker((state) => onBreaker(state, lane)),
    pausing: new Set(),
  });
  const states: Readonly<Record<Lane, LaneState>> = {
    listings: createLane('listings'),
    routes: createLane('routes'),
    unlisted: createLane('unlisted'),
    sweep: createLane('sweep'),
  };

  function pauseIn({ pause }: LaneState): RequestDelay | undefined {
    const leftMs = pause ? pause.until - performance.now() : 0;
    return pause && leftMs > 0 ? { error: pause.error, leftMs } : undefined;
  }

  /** How long this lane delays requests of its own and of the lanes after it. */
  function delayBy(state: LaneState, waits: boolean): number {
    const pause = pauseIn(state);
    if (pause && pause.leftMs > MAX_WAIT_MS) throw notSent(pause);
    const open = state.breaker.delay();
    if (open && !waits) throw notSent(open);
    return Math.max(pause?.leftMs ?? 0, open?.leftMs ?? 0);
  }

  function recordError(url: string, lane: Lane, error: UpstreamError): void {
    if (error.code === 'UPSTREAM_GONE') {
      gone.set(url, error);
      return;
    }
    if (!error.retryAfterMs) return;
    const state = states[lane];
    if (state.pausing.size < 2) state.pausing.add(url);
    // No client can cause or wait for a request of the sweep.
    const isCredible = lane === 'listings' || lane === 'sweep' || state.pausing.size > 1;
    const ms = Math.min(error.retryAfterMs, isCredible ? MAX_PAUSE_MS : MAX_PAUSE_BY_ONE_ROUTE_MS);
    if (ms <= (pauseIn(state)?.leftMs ?? 0)) return;
    state.pause = { error, until: performance.now() + ms };
    onPause(ms, lane);
  }

  return {
    /**
     * How long this request has to wait, in milliseconds; 0 if it may be sent now.
     *
     * @param waits whether this request waits for the next probe of an open breaker, to be the probe itself
     * @throws UpstreamError if the wait is too long: the error that causes it, with the wait as `retryAfterMs`
     */
    delayBefore(url: string, lane: Lane, waits: boolean): number {
      // If the path without a query is gone, so is every request to it.
      for (const key of new Set([url, url.replace(/\?.*/s, '')])) {
        const error = gone.get(key);
        if (error) throw notSent({ error, leftMs: gone.getRemainingTTL(key) });
      }
      const upToHere = LANES.slice(0, LANES.indexOf(lane) + 1);
      return Math.max(...upToHere.map((each) => delayBy(states[each], waits)));
    },
    /** The delay of requests for listings now, and its cause; undefined if there is none. */
    delayOfListings: () => pauseIn(states.listings) ?? states.listings.breaker.delay(),
    /** Sends, and records the outcome. Call it right after `delayBefore` has returned 0. */
    async run<Answer>(url: string, lane: Lane, send: () => Promise<Answer>): Promise<Answer> {
      const { breaker, pausing } = states[lane];
      // Every failed attempt for a listing counts; for routes, each URL counts once.
      const key = lane === 'listings' ? {} : url;
      try {
        const answer = await breaker.run(key, send);
        pausing.clear();
        return answer;
      } catch (error) {
        if (error instanceof UpstreamError) recordError(url, lane, error);
        throw error;
      }
    },
  };
}

/** The error that causes the delay, for a request that was not sent. */
function notSent({ error, leftMs }: RequestDelay): UpstreamError {
  const { code, message, status, detail } = error;
  return new UpstreamError(code, message, {
    status,
    retryAfterMs: leftMs,
    detail: `not sent, because of: ${detail}`,
    notSent: true,
  });
}
