import { setTimeout as sleep } from 'node:timers/promises';
import type { ListingSource, RouteClients } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { createFairQueue, type FairQueue, QueueFullError } from '../../scheduling/fair-queue.js';
import { type Backoff, LANES, type Lane } from './backoff.js';
import { MAX_WAIT_MS, stoppingError } from './errors.js';
import type { RateLimiter } from './rate-limit.js';

export interface AdmissionOptions {
  readonly service: ListingSource;
  readonly backoff: Backoff;
  readonly rateLimiter: RateLimiter;
  /** How many requests may wait in each lane of routes. Listings are never refused. */
  readonly maxWaiting: number;
  /** How long a request for routes may wait until it is sent, in milliseconds. Listings wait without a limit. */
  readonly maxRouteWaitMs: number;
  /** Rejects all waiting requests with its reason, an UpstreamError. */
  readonly closing: AbortSignal;
}

/** A request that wants to be sent. */
interface AdmissionRequest {
  readonly url: string;
  readonly lane: Lane;
  /** Whether it waits for the next probe of an open breaker, to be the probe itself. */
  readonly waits: boolean;
  /** The clients that ask for routes; one unknown client unless given. */
  readonly clients?: RouteClients | undefined;
}

/** How often a lane checks whether it has its turn. */
const TURN_POLL_MS = 20;
/**
 * How long listings leave the next slot to a route. A slot comes at least every 1.2 s; a route that gets none for
 * longer waits for something else, such as the routes of other gateways.
 */
const ROUTES_TURN_MS = 3_000;
/** How long the sweep leaves the slots to clients of other gateways, too, when there was none for it. */
const SWEEP_STANDS_BACK_MS = 100;

/**
 * Makes the admission to one service, which decides which request is sent next. Each lane goes before the lanes after
 * it, except that after a listing's request the next slot is left to a waiting route: listings that are refreshed
 * without a pause would take all slots. Within a lane the clients take turns, so that a client with many requests
 * delays only its own. A request of the sweep is sent at once or refused.
 */
export function createAdmission(options: AdmissionOptions) {
  const { service, backoff, rateLimiter, maxWaiting, maxRouteWaitMs, closing } = options;
  const queues: Readonly<Record<Lane, FairQueue>> = {
    listings: createFairQueue({ concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY }),
    routes: createFairQueue({ concurrency: 1, maxWaiting }),
    unlisted: createFairQueue({ concurrency: 1, maxWaiting }),
    sweep: createFairQueue({ concurrency: 1, maxWaiting }),
  };

  /** The lanes in which a request waits for a slot, and for nothing else. */
  const ready = new Set<Lane>();
  /** Until when the next slot belongs to a route that is ready, on the monotonic clock. */
  let routesTurnUntil = Number.NEGATIVE_INFINITY;

  /** Whether the next slot belongs to another lane. */
  function isBehind(lane: Lane): boolean {
    const isRoutesTurn =
      performance.now() < routesTurnUntil && (ready.has('routes') || ready.has('unlisted'));
    if (lane === 'listings') return isRoutesTurn;
    const before = LANES.slice(isRoutesTurn ? 1 : 0, LANES.indexOf(lane));
    return before.some((each) => queues[each].running > 0);
  }

  /**
   * Waits until the request may be sent, with the slot acquired.
   *
   * @param ending ends the wait
   */
  async function untilFree({ url, lane, waits }: AdmissionRequest, ending: AbortSignal): Promise<void> {
    try {
      for (;;) {
        let waitMs = backoff.delayBefore(url, lane, waits);
        if (waitMs === 0) {
          ready.add(lane);
          waitMs = isBehind(lane)
            ? TURN_POLL_MS
            : await rateLimiter.acquire(pauseKey(service, lane), lane === 'listings');
        }
        ending.throwIfAborted();
        // A failure may have been recorded while the slot was awaited.
        if (waitMs === 0 && backoff.delayBefore(url, lane, waits) === 0) break;
        if (waitMs > MAX_WAIT_MS) throw pausedByPeers(waitMs);
        // No slot takes so long to come: this is a pause.
        if (waitMs > ROUTES_TURN_MS) ready.delete(lane);
        if (lane === 'sweep') throw othersFirst(waitMs + SWEEP_STANDS_BACK_MS);
        await sleep(waitMs, undefined, { signal: ending });
      }
    } finally {
      ready.delete(lane);
    }
    routesTurnUntil = lane === 'listings' ? performance.now() + ROUTES_TURN_MS : Number.NEGATIVE_INFINITY;
  }

  /**
   * Calls `send` when the backoff and the rate limiter let the request through.
   *
   * @returns settles when the request is sent; the promise of the answer is inside an object, and so not awaited
   * @throws UpstreamError by rejection, if the request is not sent
   */
  return async function admit<Answer>(
    request: AdmissionRequest,
    send: () => Promise<Answer>,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    const { url, lane, waits, clients = UNKNOWN_CLIENT } = request;
    const queue = queues[lane];
    if (closing.aborted) throw stoppingError(closing.reason);
    backoff.delayBefore(url, lane, waits);
    return new Promise((resolve, reject) => {
      /** Takes the entries of all clients out of the queue. */
      const entries = new AbortController();
      /** Ends the wait for the slot. */
      const ending = new AbortController();
      let entryCount = 0;
      const end = (error: UpstreamError) => {
        stopListening();
        entries.abort();
        ending.abort(error);
        reject(error);
      };
      const onClosing = () => end(closing.reason);
      closing.addEventListener('abort', onClosing);
      const timer =
        lane === 'listings'
          ? undefined
          : setTimeout(() => end(waitedTooLong(maxRouteWaitMs)), maxRouteWaitMs);
      const stopListening = () => {
        closing.removeEventListener('abort', onClosing);
        clearTimeout(timer);
      };
      const haveTurn = async () => {
        entries.abort();
        try {
          await untilFree(request, ending.signal);
          const answer = backoff.run(url, lane, send);
          // The caller handles a failure, but only after this promise has resolved.
          answer.catch(() => {});
          resolve({ answer });
        } catch (thrown) {
          reject(stoppingError(thrown));
        } finally {
          stopListening();
        }
      };
      // The request has an entry for each of its clients, and is sent when the first of them has its turn.
      clients.watch((client) => {
        entryCount++;
        queue.add(client.client, 0, haveTurn, entries.signal).catch((refusal) => {
          if (!(refusal instanceof QueueFullError)) return;
          const error = tooManyWait(refusal.waiting);
          client.refuse(error);
          entryCount--;
          if (entryCount === 0) end(error);
        });
      });
    });
  };
}

/** The key under which the rate limiter pauses a lane of a service. */
export function pauseKey(service: ListingSource, lane: Lane): string {
  return lane === 'listings' ? service : `${service}:${lane}`;
}

const UNKNOWN_CLIENT: RouteClients = {
  isListed: true,
  watch: (listener) => listener({ client: undefined, refuse() {} }),
};

function tooManyWait(waiting: number): UpstreamError {
  return new UpstreamError(
    'UPSTREAM_RATE_LIMITED',
    `The requests to the upstream are limited, and ${waiting} are waiting already. Try again in half a minute.`,
    { notSent: true },
  );
}

function waitedTooLong(waitedMs: number): UpstreamError {
  return new UpstreamError(
    'UPSTREAM_RATE_LIMITED',
    `The requests to the upstream are limited, and this one could not be sent within ${waitedMs / 1_000} s. Try again in half a minute.`,
    { notSent: true },
  );
}

/** The error for a request in the background, which never waits: a client that needs its answer must not wait with it. */
function othersFirst(retryAfterMs: number): UpstreamError {
  const message =
    'The gateway asks for these routes in the background, after all other requests. Try again in a few seconds.';
  return new UpstreamError('UPSTREAM_TIMEOUT', message, { retryAfterMs, notSent: true });
}

/** The error for a request that is not sent because another gateway was answered with Retry-After. */
function pausedByPeers(retryAfterMs: number): UpstreamError {
  const message = 'The upstream has asked for a pause. Try again in a minute.';
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfterMs, notSent: true });
}
