/** Decides when requests to a service must not be sent, after its failures. */
import { LRUCache } from 'lru-cache';
import type { RequestDelay, RouteClients } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { growingPause } from '../../scheduling/growing-pause.js';
import { type BreakerState, createBreaker } from './circuit-breaker.js';
import { GONE_PAUSE_MS, LONGEST_PAUSE_MS, MAX_WAIT_MS } from './errors.js';

/**
 * The lanes of requests: whole listings, and routes. Failures of listings stop both lanes. Failures of routes stop only
 * routes, so that nobody can stop the listings by requesting routes.
 */
export const LANES = ['listings', 'routes'] as const;

export type Lane = (typeof LANES)[number];

/** A request to one service. */
export interface LaneRequest {
  readonly url: string;
  readonly lane: Lane;
  /** Whether it waits while the breaker is open, and can be sent as the next probe. Otherwise it fails at once. */
  readonly waits: boolean;
  /** The clients that ask for routes. */
  readonly clients: RouteClients;
}

export interface BackoffOptions {
  /** Called whenever the breaker of a lane changes. */
  readonly onBreaker: (lane: Lane, state: BreakerState, before: BreakerState) => void;
  /** Called when a lane has to pause because of a Retry-After, with the length of the pause (milliseconds). */
  readonly onPause: (ms: number, lane: Lane) => void;
}

/** The longest pause while only one URL for routes has answered with Retry-After since the last good answer. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;
/** How many URLs are remembered as gone; the least recently used is forgotten first. */
const MAX_GONE = 1_000;

/** A pause, and until when it lasts on the monotonic clock. */
interface Pause {
  readonly error: UpstreamError;
  readonly until: number;
}

interface LaneState {
  readonly breaker: ReturnType<typeof createBreaker>;
  /** URLs that answered with Retry-After since the last good answer; at most two are stored. */
  readonly pausing: Set<string>;
  pause?: Pause;
}

export type Backoff = ReturnType<typeof createBackoff>;

/**
 * Creates the backoff of one service, for the whole process. It stops requests during a Retry-After, for a while after
 * the upstream has said that it is gone, and while the circuit breaker of a lane is open.
 */
export function createBackoff({ onBreaker, onPause }: BackoffOptions) {
  const gone = new LRUCache<string, Pause & { readonly timesInARow: number }>({ max: MAX_GONE });
  const stateOf = (lane: Lane): LaneState => ({
    breaker: createBreaker((state, before) => onBreaker(lane, state, before)),
    pausing: new Set(),
  });
  const states = { listings: stateOf('listings'), routes: stateOf('routes') };
  /** The pause for routes from unlisted tokens only: a client may have made up the token that caused the pause. */
  let unlistedPause: Pause | undefined;

  /** @returns the error with the pause that it causes */
  function noteGone(url: string, { code, message, status, detail }: UpstreamError): UpstreamError {
    const before = gone.get(url)?.timesInARow ?? 0;
    const retryAfterMs = growingPause(GONE_PAUSE_MS, LONGEST_PAUSE_MS, before);
    const error = new UpstreamError(code, message, { status, detail, retryAfterMs });
    gone.set(url, { error, timesInARow: before + 1, until: performance.now() + retryAfterMs });
    return error;
  }

  function notePause({ url, lane, clients }: LaneRequest, error: UpstreamError): void {
    // The sweep itself pauses if one of its requests gets a Retry-After. It does not pause requests of clients.
    if (!error.retryAfterMs || clients.isForNobody) return;
    const state = states[lane];
    if (clients.isListed && state.pausing.size < 2) state.pausing.add(url);
    const isCredible = lane === 'listings' || state.pausing.size > 1;
    const ms = Math.min(error.retryAfterMs, isCredible ? LONGEST_PAUSE_MS : MAX_PAUSE_BY_ONE_ROUTE_MS);
    const pause = { error, until: performance.now() + ms };
    if (!clients.isListed) unlistedPause = pause;
    else if (ms > (leftOf(state.pause)?.leftMs ?? 0)) {
      state.pause = pause;
      onPause(ms, lane);
    }
  }

  return {
    /**
     * How long the requests of a lane have to wait, in milliseconds; 0 if one may be sent now.
     *
     * @param waits whether they wait while the breaker is open
     * @throws UpstreamError if the pause is too long, or if the breaker is open and `waits` is false: the error that
     *   caused this, with the wait as `retryAfterMs`
     */
    delayBefore(lane: Lane, waits: boolean): number {
      const delays = LANES.slice(0, LANES.indexOf(lane) + 1).map((each) => {
        const { pause, breaker } = states[each];
        const [paused, open] = [leftOf(pause), breaker.delay()];
        if (paused && paused.leftMs > MAX_WAIT_MS) throw notSent(paused);
        if (open && !waits) throw notSent(open);
        return Math.max(paused?.leftMs ?? 0, open?.leftMs ?? 0);
      });
      return Math.max(...delays);
    },
    /** @throws UpstreamError if this request must not be sent, although others of its lane may be */
    check({ url, clients }: LaneRequest): void {
      // If the path without a query is gone, so is every request to it.
      const pauses = [gone.get(url), gone.get(url.replace(/\?.*/s, '')), !clients.isListed && unlistedPause];
      for (const pause of pauses) {
        const left = pause && leftOf(pause);
        if (left) throw notSent(left);
      }
    },
    /** Forgets which URLs are gone: they may be requested again now. */
    forgetGone: () => gone.clear(),
    /** The delay of requests for listings now, and its cause; undefined if there is none. */
    delayOfListings: () => leftOf(states.listings.pause) ?? states.listings.breaker.delay(),
    /** Sends the request, and notes the outcome. Call it right after `delayBefore` has returned 0. */
    async run<Answer>(request: LaneRequest, send: () => Promise<Answer>): Promise<Answer> {
      const { url, lane, clients } = request;
      const { breaker, pausing } = states[lane];
      // The breaker counts each failed attempt for a listing. Of routes, it counts each URL once, if a client waits for
      // it and its token is listed.
      const keyOf = () =>
        lane === 'listings' ? {} : clients.isListed && !clients.isForNobody ? url : undefined;
      try {
        const answer = await breaker.run(keyOf, send);
        if (keyOf()) pausing.clear();
        gone.delete(url);
        return answer;
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'UPSTREAM_GONE') throw noteGone(url, error);
        notePause(request, error);
        throw error;
      }
    },
  };
}

function leftOf(pause: Pause | undefined): RequestDelay | undefined {
  const leftMs = pause ? pause.until - performance.now() : 0;
  return pause && leftMs > 0 ? { error: pause.error, leftMs } : undefined;
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
