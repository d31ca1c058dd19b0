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

/** How often a lane checks whether the lanes before it are idle. */
const BEHIND_POLL_MS = 20;
/** How much longer the sweep waits for a slot: clients of other gateways, whose requests wait for it, too, go first. */
const SWEEP_STANDS_BACK_MS = 100;

/**
 * Makes the admission to one service, which decides which request is sent next. Each lane goes before the lanes after
 * it. Within a lane the clients take turns, so that a client with many requests delays only its own.
 */
export function createAdmission(options: AdmissionOptions) {
  const { service, backoff, rateLimiter, maxWaiting, closing } = options;
  const queues: Readonly<Record<Lane, FairQueue>> = {
    listings: createFairQueue({ concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY }),
    routes: createFairQueue({ concurrency: 1, maxWaiting }),
    unlisted: createFairQueue({ concurrency: 1, maxWaiting }),
    sweep: createFairQueue({ concurrency: 1, maxWaiting }),
  };

  /** Whether a request of a more important lane has its turn. */
  function isBehind(lane: Lane): boolean {
    return LANES.slice(0, LANES.indexOf(lane)).some((before) => queues[before].running > 0);
  }

  /** Waits until the request may be sent, with the slot acquired. */
  async function untilFree({ url, lane, waits }: AdmissionRequest): Promise<void> {
    for (;;) {
      const waitMs =
        backoff.delayBefore(url, lane, waits) ||
        (isBehind(lane)
          ? BEHIND_POLL_MS
          : await rateLimiter.acquire(pauseKey(service, lane), lane === 'listings'));
      // A failure may have been recorded while the slot was awaited.
      if (waitMs === 0 && backoff.delayBefore(url, lane, waits) === 0) return;
      if (waitMs > MAX_WAIT_MS) throw pausedByPeers(waitMs);
      const standBackMs = lane === 'sweep' ? SWEEP_STANDS_BACK_MS : 0;
      await sleep(waitMs + standBackMs, undefined, { signal: closing });
    }
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
      let entryCount = 0;
      const end = (error: UpstreamError) => {
        entries.abort();
        reject(error);
      };
      closing.addEventListener('abort', () => end(closing.reason), { signal: entries.signal });
      const haveTurn = async () => {
        entries.abort();
        try {
          await untilFree(request);
          if (clients.onSend?.() === false) throw unwanted();
          const answer = backoff.run(url, lane, send);
          // The caller handles a failure, but only after this promise has resolved.
          answer.catch(() => {});
          resolve({ answer });
        } catch (thrown) {
          reject(stoppingError(thrown));
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

/** The error for a request that nobody wants any more; no client sees it. */
function unwanted(): UpstreamError {
  return new UpstreamError('UPSTREAM_TIMEOUT', 'The request is no longer needed.', { notSent: true });
}

/** The error for a request that is not sent because another gateway was answered with Retry-After. */
function pausedByPeers(retryAfterMs: number): UpstreamError {
  const message = 'The upstream has asked for a pause. Try again in a minute.';
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfterMs, notSent: true });
}
