/** Decides when requests to a service must not be sent, after its failures. */
import { LRUCache } from 'lru-cache';
import type { RouteClients } from '../../domain/listing.js';
import { asUpstreamError, UpstreamError } from '../../domain/upstream-error.js';
import { growingPause, LONGEST_PAUSE_MS } from '../../scheduling/growing-pause.js';
import { GONE_PAUSE_MS, MAX_WAIT_MS } from './errors.js';

/**
 * The lanes of requests: whole listings, and routes. Failures of listings stop both lanes. Failures of routes stop only
 * routes, so that nobody can stop the listings by requesting routes.
 */
export const LANES = ['listings', 'routes'] as const;

export type Lane = (typeof LANES)[number];

/** Half-open: a probe whose failure counts was sent, and its result decides. */
export type BreakerState = 'closed' | 'half-open' | 'open';

export interface LaneRequest {
  readonly url: string;
  readonly lane: Lane;
  /** Whether the request waits while a breaker stops it, in place of failing at once. */
  readonly waits: boolean;
  readonly clients: RouteClients;
}

const FAILURES_TO_OPEN = 5;
/**
 * An open breaker stops requests for this long (ms). After that the next request is sent as a probe. Doubtful requests
 * are sent as further probes, with the same pause after each.
 */
const OPEN_MS = 2_000;
const PROBE_DELAY_MS = 50;
/** The longest pause (ms) of all routes if only one URL answered with Retry-After: the cause may be this URL alone. */
const MAX_PAUSE_BY_ONE_ROUTE_MS = 30_000;

interface Pause {
  readonly error: UpstreamError;
  /** On the monotonic clock. */
  readonly until: number;
}

interface LaneState {
  breaker: BreakerState;
  /** Undefined while the breaker is closed. */
  opened?: Pause | undefined;
  /** The pause for doubtful requests after a doubtful probe. Undefined while the breaker is closed. */
  probed?: Pause | undefined;
  /** The number of failures that count towards opening the breaker, since the last success. */
  failures: number;
  /** The first two URLs that answered with Retry-After since the last good answer. */
  readonly pausing: Set<string>;
  pause?: Pause;
}

export type Backoff = ReturnType<typeof createBackoff>;

/** @param onPause called when a Retry-After pauses a whole lane for longer */
export function createBackoff(
  onBreaker: (lane: Lane, state: BreakerState, before: BreakerState) => void,
  onPause: (ms: number, lane: Lane) => void,
) {
  const gone = new LRUCache<string, Pause & { readonly timesInARow: number }>({ max: 1_000 });
  /** The URLs of routes that have failed for clients and have not succeeded since. */
  const failing = new LRUCache<string, true>({ max: 1_000 });
  const newLane = (): LaneState => ({ breaker: 'closed', failures: 0, pausing: new Set() });
  const lanes = { listings: newLane(), routes: newLane() };
  /** The pause for routes from unlisted tokens only: a client may have made up the token that caused the pause. */
  let unlistedPause: Pause | undefined;

  function enter(lane: Lane, breaker: BreakerState, failure?: UpstreamError): void {
    const state = lanes[lane];
    const before = state.breaker;
    state.breaker = breaker;
    if (breaker !== 'half-open') {
      state.opened = failure && pauseOf(failure, OPEN_MS);
      state.probed = undefined;
      state.failures = 0;
    }
    onBreaker(lane, breaker, before);
  }

  /**
   * Whether a failure of this request says little about the service: it has failed before, or a client may have made up
   * its token. Such a failure neither opens the breaker nor keeps it open: otherwise, a client could stop all routes for
   * as long as it requests some that always fail.
   */
  const isDoubtful = ({ url, clients }: LaneRequest) => failing.has(url) || !clients.isListed;

  function noteOutcome(
    request: LaneRequest,
    isProbe: boolean,
    wasDoubtful: boolean,
    failure?: UpstreamError,
  ): void {
    const { url, lane } = request;
    const state = lanes[lane];
    const doesCount = counts(request);
    if (!failure) failing.delete(url);
    else if (doesCount && lane === 'routes') failing.set(url, true);
    if (state.breaker !== 'closed') {
      // If the breaker has opened since the request was sent, only the outcome of a probe counts.
      if (isProbe && !failure) enter(lane, 'closed');
      else if (isProbe && !wasDoubtful) enter(lane, 'open', failure);
    } else if (doesCount && !failure) state.failures = 0;
    else if (doesCount && !wasDoubtful && ++state.failures >= FAILURES_TO_OPEN) enter(lane, 'open', failure);
  }

  function noteGone(url: string, { code, message, status, detail }: UpstreamError): UpstreamError {
    const before = gone.get(url)?.timesInARow ?? 0;
    const retryAfterMs = growingPause(GONE_PAUSE_MS, LONGEST_PAUSE_MS, before);
    const error = new UpstreamError(code, message, { status, detail, retryAfterMs });
    gone.set(url, { ...pauseOf(error, retryAfterMs), timesInARow: before + 1 });
    return error;
  }

  function notePause({ url, lane, clients }: LaneRequest, error: UpstreamError): void {
    // A Retry-After for the sweep pauses only the sweep, which handles it itself, and not the requests of clients.
    if (!error.retryAfterMs || clients.isForSweepOnly) return;
    const state = lanes[lane];
    if (clients.isListed && state.pausing.size < 2) state.pausing.add(url);
    const isCredible = lane === 'listings' || state.pausing.size > 1;
    const ms = Math.min(error.retryAfterMs, isCredible ? LONGEST_PAUSE_MS : MAX_PAUSE_BY_ONE_ROUTE_MS);
    if (!clients.isListed) unlistedPause = pauseOf(error, ms);
    else if (ms > leftOf(state.pause)) {
      state.pause = pauseOf(error, ms);
      onPause(ms, lane);
    }
  }

  return {
    /**
     * How long the requests of a lane have to wait (ms).
     * @throws UpstreamError if a pause lasts longer than `MAX_WAIT_MS`, or if a breaker stops requests and `waits` is false
     */
    delayBefore(lane: Lane, waits: boolean): number {
      const delays = LANES.slice(0, LANES.indexOf(lane) + 1).map((each) => {
        const { pause, opened, breaker } = lanes[each];
        const pausedMs = leftOf(pause);
        const openMs = breaker === 'half-open' ? PROBE_DELAY_MS : leftOf(opened);
        if (pause && pausedMs > MAX_WAIT_MS) throw notSent(pause.error, pausedMs);
        if (opened && openMs > 0 && !waits) throw notSent(opened.error, openMs);
        return Math.max(pausedMs, openMs);
      });
      return Math.max(...delays);
    },
    /** Throws an UpstreamError if this request must not be sent, although other requests of its lane may be sent. */
    check(request: LaneRequest): void {
      const { url, lane, clients } = request;
      // If a URL without a query is gone, the same URL with any query is gone, too.
      const pauses: (Pause | undefined)[] = [gone.get(url), gone.get(url.replace(/\?.*/s, ''))];
      if (!clients.isListed) pauses.push(unlistedPause);
      if (isDoubtful(request)) pauses.push(lanes[lane].probed);
      for (const pause of pauses) {
        const leftMs = leftOf(pause);
        if (pause && leftMs > 0) throw notSent(pause.error, leftMs);
      }
    },
    forgetGone: () => gone.clear(),
    /** Call this right after `delayBefore` returns 0. */
    async run<Answer>(request: LaneRequest, send: () => Promise<Answer>): Promise<Answer> {
      const { url, lane } = request;
      const state = lanes[lane];
      const isProbe = state.breaker !== 'closed';
      const wasDoubtful = isDoubtful(request);
      // A doubtful probe may take long and fail, so other requests need not wait for it.
      if (isProbe && wasDoubtful) state.probed = state.opened && pauseOf(state.opened.error, OPEN_MS);
      else if (isProbe) enter(lane, 'half-open');
      try {
        const answer = await send();
        noteOutcome(request, isProbe, wasDoubtful);
        if (counts(request)) state.pausing.clear();
        gone.delete(url);
        return answer;
      } catch (thrown) {
        const error = asUpstreamError(thrown);
        noteOutcome(request, isProbe, wasDoubtful, isOfTheService(error) ? error : undefined);
        if (error.code === 'UPSTREAM_GONE') throw noteGone(url, error);
        notePause(request, error);
        throw error;
      }
    },
  };
}

/**
 * For listings, the outcome of each attempt counts. For routes, it counts only for a listed token that a client waits
 * for. Clients can join until the attempt ends.
 */
function counts({ lane, clients }: LaneRequest): boolean {
  return lane === 'listings' || (clients.isListed && !clients.isForSweepOnly);
}

/** False for an answer about this one request. */
function isOfTheService({ code, status = 0 }: UpstreamError): boolean {
  if (code === 'UPSTREAM_GONE') return false;
  return status < 400 || status >= 500 || status === 401 || status === 403 || status === 429;
}

function pauseOf(error: UpstreamError, ms: number): Pause {
  return { error, until: performance.now() + ms };
}

function leftOf(pause: Pause | undefined): number {
  return pause ? Math.max(0, pause.until - performance.now()) : 0;
}

function notSent({ code, message, status, detail }: UpstreamError, retryAfterMs: number): UpstreamError {
  const why = `not sent, because of: ${detail}`;
  return new UpstreamError(code, message, { status, retryAfterMs, detail: why, notSent: true });
}
