/** Decides which request to one service is sent next, and when. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RouteClients, ServiceName } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { createFairQueue, QueueFullError } from '../../scheduling/fair-queue.js';
import { type Backoff, byPriority, PRIORITIES, type Priority } from './backoff.js';
import { MAX_WAIT_MS, stoppingError } from './errors.js';
import type { RateLimiter } from './rate-limit.js';

export interface AdmissionOptions {
  readonly service: ServiceName;
  readonly backoff: Backoff;
  readonly rateLimiter: RateLimiter;
  /** How many requests may wait at each priority of routes. Requests for listings are never refused. */
  readonly maxWaiting: number;
  /** How long a request for routes may wait until it is sent, in milliseconds. Requests for listings have no limit. */
  readonly maxRouteWaitMs: number;
  /** Rejects all waiting requests with its reason, an UpstreamError. */
  readonly closing: AbortSignal;
}

/** A request to be sent. */
interface AdmissionRequest {
  readonly url: string;
  readonly priority: Priority;
  /** Whether it waits while the breaker is open, and is then sent as the next probe. */
  readonly waits: boolean;
  /** The clients that ask for routes; one unknown client unless given. */
  readonly clients?: RouteClients | undefined;
}

/** How often a waiting request checks whether it may go next. */
const TURN_POLL_MS = 20;
/**
 * How long listings leave the next permit to a route. A permit is issued at least every 1.2 s; a route that has none
 * after this time waits for another reason, such as the routes of other gateways.
 */
const ROUTES_TURN_MS = 3_000;
/** When no permit was free, how much longer the sweep waits, so that clients of other gateways go first. */
const SWEEP_STANDS_BACK_MS = 100;

/**
 * Creates the admission to one service. A request of a higher priority goes first, with one exception: after a request
 * for a listing the next permit is left to a waiting route, because listings that are refreshed without a pause would
 * use all permits. Within a priority the clients take turns, so that a client with many requests delays only its own. A
 * request of the sweep is sent at once or refused.
 */
export function createAdmission(options: AdmissionOptions) {
  const { service, backoff, rateLimiter, maxWaiting, maxRouteWaitMs, closing } = options;
  const queues = byPriority((priority) =>
    createFairQueue({ maxWaiting: priority === 'listings' ? Number.POSITIVE_INFINITY : maxWaiting }),
  );

  /** The priorities at which a request waits only for a permit. */
  const ready = new Set<Priority>();
  /** Until when the next permit is reserved for a route that is ready, on the monotonic clock. */
  let routesTurnUntil = Number.NEGATIVE_INFINITY;

  /** Whether the next permit belongs to another priority. */
  function isBehind(priority: Priority): boolean {
    const isRoutesTurn =
      performance.now() < routesTurnUntil && (ready.has('routes') || ready.has('unlisted'));
    if (priority === 'listings') return isRoutesTurn;
    const before = PRIORITIES.slice(isRoutesTurn ? 1 : 0, PRIORITIES.indexOf(priority));
    return before.some((each) => queues[each].isRunning);
  }

  /**
   * Waits until the request may be sent, and acquires its permit.
   *
   * @param ending aborts the wait
   */
  async function untilFree({ url, priority, waits }: AdmissionRequest, ending: AbortSignal): Promise<void> {
    try {
      for (;;) {
        let waitMs = backoff.delayBefore(url, priority, waits);
        if (waitMs === 0) {
          ready.add(priority);
          waitMs = isBehind(priority)
            ? TURN_POLL_MS
            : await rateLimiter.acquire(pauseKey(service, priority), priority === 'listings');
        }
        ending.throwIfAborted();
        // Another request may have failed while this one waited for its permit.
        if (waitMs === 0 && backoff.delayBefore(url, priority, waits) === 0) break;
        if (waitMs > MAX_WAIT_MS) throw pausedByPeers(waitMs);
        // Permits are issued more often: so long a wait is a pause.
        if (waitMs > ROUTES_TURN_MS) ready.delete(priority);
        if (priority === 'sweep') throw othersFirst(waitMs + SWEEP_STANDS_BACK_MS);
        await sleep(waitMs, undefined, { signal: ending });
      }
    } finally {
      ready.delete(priority);
    }
    routesTurnUntil = priority === 'listings' ? performance.now() + ROUTES_TURN_MS : Number.NEGATIVE_INFINITY;
  }

  /**
   * Calls `send` when the backoff and the rate limiter let the request through.
   *
   * @returns a promise that resolves when the request is sent; the promise of the answer is inside an object, so that
   *   nobody awaits it by accident
   * @throws UpstreamError by rejection, if the request is not sent
   */
  return async function admit<Answer>(
    request: AdmissionRequest,
    send: () => Promise<Answer>,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    const { url, priority, waits, clients = UNKNOWN_CLIENT } = request;
    const queue = queues[priority];
    if (closing.aborted) throw stoppingError(closing.reason);
    backoff.delayBefore(url, priority, waits);
    return new Promise((resolve, reject) => {
      /** Removes the entries of all clients from the queue. */
      const entries = new AbortController();
      /** Aborts the wait for the permit. */
      const ending = new AbortController();
      let entryCount = 0;
      /** Whether its first client has most of the requests that wait before it. */
      let isByClient = false;
      const end = (error: UpstreamError) => {
        stopListening();
        entries.abort();
        ending.abort(error);
        reject(error);
      };
      const onClosing = () => end(closing.reason);
      closing.addEventListener('abort', onClosing);
      const timer =
        priority === 'listings'
          ? undefined
          : setTimeout(() => end(waitedTooLong(maxRouteWaitMs, isByClient)), maxRouteWaitMs);
      const stopListening = () => {
        closing.removeEventListener('abort', onClosing);
        clearTimeout(timer);
      };
      const haveTurn = async () => {
        entries.abort();
        try {
          await untilFree(request, ending.signal);
          const answer = backoff.run(url, priority, send);
          // The caller handles a failure, but only after this promise has resolved.
          answer.catch(() => {});
          resolve({ answer });
        } catch (thrown) {
          reject(stoppingError(thrown));
        } finally {
          stopListening();
        }
      };
      // The request has an entry for each of its clients. The entry whose turn is first sends it.
      clients.watch((client) => {
        if (entryCount === 0) isByClient = queue.isMostlyOf(client.client);
        entryCount++;
        queue.add(client.client, 0, haveTurn, entries.signal).catch((refusal) => {
          if (!(refusal instanceof QueueFullError)) return;
          const error = tooManyWait(refusal);
          client.refuse(error);
          entryCount--;
          if (entryCount === 0) end(error);
        });
      });
    });
  };
}

/** The key under which the rate limiter pauses the requests of one priority to a service. */
export function pauseKey(service: ServiceName, priority: Priority): string {
  return priority === 'listings' ? service : `${service}:${priority}`;
}

const UNKNOWN_CLIENT: RouteClients = {
  isListed: true,
  watch: (listener) => listener({ client: undefined, refuse() {} }),
};

function tooManyWait({ waiting, isByClient }: QueueFullError): UpstreamError {
  return limited(`and ${waiting} are waiting already`, isByClient);
}

function waitedTooLong(waitedMs: number, isByClient: boolean): UpstreamError {
  return limited(`and this one could not be sent within ${waitedMs / 1_000} s`, isByClient);
}

function limited(why: string, isByClient: boolean): UpstreamError {
  const message = `The requests to the upstream are limited, ${why}. Try again in half a minute.`;
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { notSent: true, isByClient });
}

/**
 * The error for a background request that cannot be sent at once: a client that needs its answer must not wait with it.
 */
function othersFirst(retryAfterMs: number): UpstreamError {
  const message =
    'The gateway asks for these routes in the background, after all other requests. Try again in a few seconds.';
  return new UpstreamError('UPSTREAM_TIMEOUT', message, { retryAfterMs, notSent: true });
}

/** The error for a request that is not sent because another gateway got a Retry-After. */
function pausedByPeers(retryAfterMs: number): UpstreamError {
  const message = 'The upstream has asked for a pause. Try again in a minute.';
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfterMs, notSent: true });
}
