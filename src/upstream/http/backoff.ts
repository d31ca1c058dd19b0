/** Decides when requests to a service must not be sent, after its failures. */
import { LRUCache } from 'lru-cache';
import type { RequestDelay } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { growingPause } from '../../scheduling/growing-pause.js';
import { type Breaker, type BreakerState, createBreaker } from './circuit-breaker.js';
import { GONE_PAUSE_MS, LONGEST_PAUSE_MS, MAX_WAIT_MS } from './errors.js';

/**
 * The priorities of requests, the highest first: whole listings, routes from listed tokens, routes from other tokens,
 * and routes that no client waits for. Failures stop the requests of the same priority and of lower ones, never those
 * of a higher one. So nobody can stop the listings by requesting routes, nor the routes from listed tokens by
 * requesting others.
 */
export const PRIORITIES = ['listings', 'routes', 'unlisted', 'sweep'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** Makes a value for each priority. */
export function byPriority<Made>(make: (priority: Priority) => Made): Readonly<Record<Priority, Made>> {
  return Object.fromEntries(PRIORITIES.map((priority) => [priority, make(priority)])) as Record<
    Priority,
    Made
  >;
}

export interface BackoffOptions {
  /** Called whenever the breaker of a priority changes. */
  readonly onBreaker: (state: BreakerState, priority: Priority) => void;
  /** Called when an answer at this priority has a Retry-After, with its length (milliseconds). */
  readonly onPause: (ms: number, priority: Priority) => void;
}

/** The longest pause if, since the last good answer, only one URL for routes has sent a Retry-After. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;
/** How many URLs are remembered as gone; the least recently used is forgotten first. */
const MAX_GONE = 1_000;

/** A URL that the upstream has said is gone. */
interface Gone {
  readonly error: UpstreamError;
  readonly timesInARow: number;
  /** Until when it is not requested again, on the monotonic clock. */
  readonly until: number;
}

interface PriorityState {
  readonly breaker: Breaker;
  /** URLs that answered with Retry-After since the last good answer; at most two are stored. */
  readonly pausing: Set<string>;
  /** The last Retry-After, and until when it lasts on the monotonic clock. */
  pause?: { readonly error: UpstreamError; readonly until: number };
}

export type Backoff = ReturnType<typeof createBackoff>;

/**
 * Creates the backoff of one service, for the whole process. It stops requests during a Retry-After, for a while after
 * the upstream has said that it is gone, and while the circuit breaker of a priority is open.
 */
export function createBackoff({ onBreaker, onPause }: BackoffOptions) {
  const gone = new LRUCache<string, Gone>({ max: MAX_GONE });
  const states = byPriority(
    (priority): PriorityState => ({
      breaker: createBreaker((state) => onBreaker(state, priority)),
      pausing: new Set(),
    }),
  );

  function pauseIn({ pause }: PriorityState): RequestDelay | undefined {
    const leftMs = pause ? pause.until - performance.now() : 0;
    return pause && leftMs > 0 ? { error: pause.error, leftMs } : undefined;
  }

  /** How long the state of one priority delays its requests and those of lower priorities. */
  function delayBy(state: PriorityState, waits: boolean): number {
    const pause = pauseIn(state);
    if (pause && pause.leftMs > MAX_WAIT_MS) throw notSent(pause);
    const open = state.breaker.delay();
    if (open && !waits) throw notSent(open);
    return Math.max(pause?.leftMs ?? 0, open?.leftMs ?? 0);
  }

  /** @returns the error with the pause that it causes */
  function noteGone(url: string, { code, message, status, detail }: UpstreamError): UpstreamError {
    const before = gone.get(url)?.timesInARow ?? 0;
    const retryAfterMs = growingPause(GONE_PAUSE_MS, LONGEST_PAUSE_MS, before);
    const error = new UpstreamError(code, message, { status, detail, retryAfterMs });
    gone.set(url, { error, timesInARow: before + 1, until: performance.now() + retryAfterMs });
    return error;
  }

  function notePause(url: string, priority: Priority, error: UpstreamError): void {
    if (!error.retryAfterMs) return;
    const state = states[priority];
    if (state.pausing.size < 2) state.pausing.add(url);
    // Clients cannot cause requests of the sweep, and do not wait for them.
    const isCredible = priority === 'listings' || priority === 'sweep' || state.pausing.size > 1;
    const ms = Math.min(error.retryAfterMs, isCredible ? LONGEST_PAUSE_MS : MAX_PAUSE_BY_ONE_ROUTE_MS);
    if (ms <= (pauseIn(state)?.leftMs ?? 0)) return;
    state.pause = { error, until: performance.now() + ms };
    onPause(ms, priority);
  }

  return {
    /**
     * How long this request has to wait, in milliseconds; 0 if it may be sent now.
     *
     * @param waits whether this request waits while the breaker is open, and is then sent as the next probe
     * @throws UpstreamError if the wait is too long: the error that causes it, with the wait as `retryAfterMs`
     */
    delayBefore(url: string, priority: Priority, waits: boolean): number {
      // If the path without a query is gone, so is every request to it.
      for (const key of new Set([url, url.replace(/\?.*/s, '')])) {
        const { error, until = 0 } = gone.get(key) ?? {};
        const leftMs = until - performance.now();
        if (error && leftMs > 0) throw notSent({ error, leftMs });
      }
      const upToHere = PRIORITIES.slice(0, PRIORITIES.indexOf(priority) + 1);
      return Math.max(...upToHere.map((each) => delayBy(states[each], waits)));
    },
    /** Forgets which URLs are gone: they may be requested again now. */
    forgetGone: () => gone.clear(),
    /** The delay of requests for listings now, and its cause; undefined if there is none. */
    delayOfListings: () => pauseIn(states.listings) ?? states.listings.breaker.delay(),
    /** Sends the request, and notes the outcome. Call it right after `delayBefore` has returned 0. */
    async run<Answer>(url: string, priority: Priority, send: () => Promise<Answer>): Promise<Answer> {
      const { breaker, pausing } = states[priority];
      // Every failed attempt for a listing counts; for routes, each URL counts once.
      const key = priority === 'listings' ? {} : url;
      try {
        const answer = await breaker.run(key, send);
        pausing.clear();
        gone.delete(url);
        return answer;
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'UPSTREAM_GONE') throw noteGone(url, error);
        notePause(url, priority, error);
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
