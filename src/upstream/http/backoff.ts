import { LRUCache } from 'lru-cache';
import type { RequestDelay } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { type Breaker, type BreakerState, createBreaker } from './circuit-breaker.js';
import { GONE_PAUSE_MS } from './errors.js';

/**
 * The classes of requests, the most important first: whole listings, routes from listed tokens, and routes from
 * others. What goes wrong in one class stops this class and those after it, never one before it: nobody can stop
 * the listings by asking for routes, nor the routes from listed tokens by asking for others.
 */
export const LANES = ['listings', 'routes', 'unlisted'] as const;

/** One of {@link LANES}. */
export type Lane = (typeof LANES)[number];

/** What {@link createBackoff} takes. */
export interface BackoffOptions {
  /** Called whenever the breaker of a lane changes. */
  readonly onBreaker: (state: BreakerState, lane: Lane) => void;
  /** Called when the upstream asks to be left alone by this lane, with how long (milliseconds). */
  readonly onPause: (ms: number, lane: Lane) => void;
}

/**
 * Keeps questions from an upstream that cannot or will not answer them, for the whole process: while it asks
 * to be left alone (Retry-After), for an hour where it has said that it is gone, and while it fails again
 * and again.
 */
export interface Backoff {
  /**
   * Whether this question may be sent now.
   *
   * @param waits whether it has the next probe of an open breaker, and so waits for that: a listing's question
   *   does
   * @returns 0 if so; otherwise how long to wait before asking again, in milliseconds
   * @throws UpstreamError where waiting takes too long, with the code of what stands in the way and, as
   *   `retryAfterMs`, when to come again
   */
  delayBefore(url: string, lane: Lane, waits: boolean): number;
  /** What delays the requests for listings now; undefined if nothing does. */
  delayOfListings(): RequestDelay | undefined;
  /** Sends, and learns from what comes. A passed `delayBefore` must come right before it. */
  run<Answer>(url: string, lane: Lane, send: () => Promise<Answer>): Promise<Answer>;
}

/** A longer Retry-After is not waited for: whoever asks decides when to come again. */
const MAX_WAIT_MS = 10_000;
/** However long the upstream asks to be left alone, it is asked again after this. */
const MAX_PAUSE_MS = 3_600_000;
/** One route's word stops the others for no longer: two have to say so, with no good answer between. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;
/** Each is remembered for an hour; the least recent make room. */
const MAX_GONE = 1_000;

interface LaneState {
  readonly lane: Lane;
  readonly breaker: Breaker;
  /** Questions that were answered with Retry-After since the last good answer; no more than two. */
  readonly pausing: Set<string>;
  pausedUntil: number;
  pausedBy: UpstreamError | undefined;
}

/** Makes the guard in front of one service. */
export function createBackoff({ onBreaker, onPause }: BackoffOptions): Backoff {
  const gone = new LRUCache<string, UpstreamError>({ max: MAX_GONE, ttl: GONE_PAUSE_MS });
  const states = LANES.map(
    (lane): LaneState => ({
      lane,
      breaker: createBreaker((state) => onBreaker(state, lane)),
      pausing: new Set(),
      pausedUntil: 0,
      pausedBy: undefined,
    }),
  );

  /** How long this lane's state stops a question of it, or of a lane after it. */
  function delayBy({ breaker, pausedUntil, pausedBy }: LaneState, waits: boolean): number {
    const pauseLeftMs = pausedUntil - performance.now();
    if (pausedBy && pauseLeftMs > MAX_WAIT_MS) throw notSent(pausedBy, pauseLeftMs);
    const leftMs = breaker.delayMs();
    if (breaker.openedBy && leftMs > 0 && !waits) throw notSent(breaker.openedBy, leftMs);
    return Math.max(0, pauseLeftMs, leftMs);
  }

  function learn(url: string, state: LaneState, error: UpstreamError): void {
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
      // Where the operation itself is gone, so is each question of it.
      for (const key of new Set([url, url.replace(/\?.*/s, '')])) {
        const error = gone.get(key);
        if (error) throw notSent(error, gone.getRemainingTTL(key));
      }
      const upToHere = states.slice(0, LANES.indexOf(lane) + 1);
      return Math.max(...upToHere.map((state) => delayBy(state, waits)));
    },
    delayOfListings() {
      const [listings] = states;
      if (!listings) return undefined;
      const { breaker, pausedUntil, pausedBy } = listings;
      const pauseLeftMs = pausedUntil - performance.now();
      if (pausedBy && pauseLeftMs > 0) return { error: pausedBy, leftMs: pauseLeftMs };
      const leftMs = breaker.delayMs();
      return breaker.openedBy && leftMs > 0 ? { error: breaker.openedBy, leftMs } : undefined;
    },
    async run(url, lane, send) {
      const state = states.find((each) => each.lane === lane);
      if (!state) throw new RangeError(`Expected one of ${LANES.join(', ')}, got ${lane}`);
      // Of a listing each attempt counts, and of routes each distinct question.
      const key = lane === 'listings' ? {} : url;
      try {
        const answer = await state.breaker.run(key, send);
        state.pausing.clear();
        return answer;
      } catch (error) {
        if (error instanceof UpstreamError) learn(url, state, error);
        throw error;
      }
    },
  };
}

/** The same error for a question that was not sent. */
function notSent({ code, message, status, detail }: UpstreamError, retryAfterMs: number): UpstreamError {
  return new UpstreamError(code, message, {
    status,
    retryAfterMs,
    detail: `not asked, because of: ${detail}`,
    notSent: true,
  });
}
