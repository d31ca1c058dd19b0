import { setTimeout as sleep } from 'node:timers/promises';
import type { ListingSource, RouteClients } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { createFairQueue, type FairQueue, QueueFullError } from '../../scheduling/fair-queue.js';
import { type Backoff, LANES, type Lane } from './backoff.js';
import { stoppingError } from './errors.js';
import type { RateLimiter } from './rate-limit.js';

/** What {@link createAdmission} takes. */
export interface AdmissionOptions {
  readonly service: ListingSource;
  readonly backoff: Backoff;
  readonly rateLimiter: RateLimiter;
  /** So many questions of each lane of routes may wait; listings are never refused. */
  readonly maxWaiting: number;
}

/** A request that wants to be sent. */
export interface AdmissionRequest {
  readonly url: string;
  readonly lane: Lane;
  /** As in {@link Backoff.delayBefore}. */
  readonly waits: boolean;
  /** Who asks for routes; one unknown client unless given. */
  readonly clients?: RouteClients | undefined;
}

/**
 * Decides which request is sent next. Each lane goes before those after it, and has one line for each client:
 * clients take turns, so that one with many questions delays its own.
 */
export interface Admission {
  /**
   * Calls `send` when guard and ceiling let the request through.
   *
   * @returns the promise of the answer, wrapped, so that the next in line waits for the sending and no longer
   * @throws UpstreamError by rejection, where the request is not sent
   */
  admit<Answer>(
    request: AdmissionRequest,
    send: () => Promise<Answer>,
  ): Promise<{ readonly answer: Promise<Answer> }>;
  /** Ends all waiting with this error. */
  close(reason: UpstreamError): void;
}

/** A place that is further away is not waited for: whoever asks decides when to come again. */
const MAX_WAIT_MS = 10_000;
/** How often a lane looks whether those before it are idle. */
const BEHIND_POLL_MS = 20;

/** Makes the admission to one service. */
export function createAdmission(options: AdmissionOptions): Admission {
  const { service, backoff, rateLimiter, maxWaiting } = options;
  const queues: Readonly<Record<Lane, FairQueue>> = {
    listings: createFairQueue({ concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY }),
    routes: createFairQueue({ concurrency: 1, maxWaiting }),
    unlisted: createFairQueue({ concurrency: 1, maxWaiting }),
  };
  const closing = new AbortController();
  /** Ends the waiting in line of each request that waits there. */
  const inLine = new Set<(error: UpstreamError) => void>();

  /** Whether somebody has the turn in a lane before this one. */
  function isBehind(lane: Lane): boolean {
    return LANES.slice(0, LANES.indexOf(lane)).some((before) => queues[before].running > 0);
  }

  /** Waits until guard and ceiling let the first in line through. */
  async function untilFree({ url, lane, waits }: AdmissionRequest): Promise<void> {
    for (;;) {
      const waitMs =
        backoff.delayBefore(url, lane, waits) ||
        (isBehind(lane)
          ? BEHIND_POLL_MS
          : await rateLimiter.acquire(heldAs(service, lane), lane === 'listings'));
      // What stood in the way may have come while the ceiling was asked.
      if (waitMs === 0 && backoff.delayBefore(url, lane, waits) === 0) return;
      if (waitMs > MAX_WAIT_MS) throw leftAlone(waitMs);
      await sleep(waitMs, undefined, { signal: closing.signal });
    }
  }

  return {
    async admit(request, send) {
      const { url, lane, waits, clients = UNKNOWN_CLIENT } = request;
      const queue = queues[lane];
      if (closing.signal.aborted) throw stoppingError(closing.signal.reason);
      backoff.delayBefore(url, lane, waits);
      return new Promise((resolve, reject) => {
        const others = new AbortController();
        let places = 0;
        let unwatch: () => void = () => {};
        const leaveLine = () => {
          inLine.delete(end);
          unwatch();
          others.abort();
        };
        const end = (error: UpstreamError) => {
          leaveLine();
          reject(error);
        };
        const haveTurn = async () => {
          leaveLine();
          try {
            await untilFree(request);
            const answer = backoff.run(url, lane, send);
            // Whoever asked gets its failure, a moment after this.
            answer.catch(() => {});
            resolve({ answer });
          } catch (thrown) {
            reject(thrown instanceof UpstreamError ? thrown : stoppingError(thrown));
          }
        };
        inLine.add(end);
        // It has a place for each of its clients, and goes when the first of these has its turn.
        unwatch = clients.watch((client) => {
          places++;
          queue.add(client.client, 0, haveTurn, others.signal).catch((refusal) => {
            if (!(refusal instanceof QueueFullError)) return;
            const error = tooManyWait(refusal.waiting);
            client.refuse(error);
            places--;
            if (places === 0) end(error);
          });
        });
        if (others.signal.aborted) unwatch();
      });
    },
    close(reason) {
      closing.abort(reason);
      for (const end of inLine) end(reason);
    },
  };
}

/** The name under which the ceiling holds what is asked in a lane of a service. */
export function heldAs(service: ListingSource, lane: Lane): string {
  return lane === 'listings' ? service : `${service}:${lane}`;
}

const UNKNOWN_CLIENT: RouteClients = {
  isListed: true,
  watch(listener) {
    listener({ client: undefined, refuse() {} });
    return () => {};
  },
};

function tooManyWait(waiting: number): UpstreamError {
  return new UpstreamError(
    'UPSTREAM_RATE_LIMITED',
    `Only so many questions a second may go to the upstream, and ${waiting} wait already. Try again in half a minute.`,
    { notSent: true },
  );
}

/** Names a question that is not asked because the upstream has told another gateway to come later. */
function leftAlone(retryAfterMs: number): UpstreamError {
  const message = 'The upstream has asked to be left alone for a while. Try again in a minute.';
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfterMs, notSent: true });
}
