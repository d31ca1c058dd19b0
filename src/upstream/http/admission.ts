/** Decides which request to one service is sent next, and when. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import type { ServiceName } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import { createFairQueue } from '../../scheduling/fair-queue.js';
import { type Backoff, LANES, type Lane, type LaneRequest } from './backoff.js';
import { MAX_WAIT_MS, stoppingError } from './errors.js';
import type { RateLimiter } from './rate-limit.js';

export interface AdmissionOptions extends Pick<Config, 'upstreamRequestsPerSecond'> {
  readonly service: ServiceName;
  readonly rateLimiter: RateLimiter;
  readonly maxRouteWaitMs?: number;
}

/** An entry of the queue. A request has one for each of its clients, and is sent when the first of them has its turn. */
interface Turn {
  begin(): void;
  /** A request without entries fails. */
  refuse(waiting: number): void;
  end(error: unknown): void;
}

/** For routes only. The queue holds as many of their requests as can be sent in this time. */
const MAX_ROUTE_WAIT_MS = 20_000;
const POLL_MS = 50;
/** The wait for a permit is at most about 1.2 s. If it is longer than this (ms), another gateway has set a pause. */
const LONGEST_PERMIT_WAIT_MS = 3_000;

/**
 * Requests for listings go first. But after each such request, the next permit is for a waiting request for routes:
 * listings that are refreshed without a pause would otherwise use all permits. Routes from listed tokens go before other
 * routes, and those for the sweep in the background are last.
 *
 * @param closing when it aborts, all waiting requests are rejected with an UpstreamError
 */
export function createAdmission(options: AdmissionOptions, backoff: Backoff, closing: AbortSignal) {
  const { service, rateLimiter, maxRouteWaitMs = MAX_ROUTE_WAIT_MS } = options;
  const queues = {
    listings: createFairQueue<Turn>(Number.POSITIVE_INFINITY),
    routes: createFairQueue<Turn>((options.upstreamRequestsPerSecond * maxRouteWaitMs) / 1_000),
  };
  let lastSent: Lane = 'routes';
  let isRunning = false;

  function endAll(lane: Lane, error: unknown): void {
    for (let turn = queues[lane].take(); turn; turn = queues[lane].take()) turn.end(error);
  }
  closing.addEventListener('abort', () => {
    for (const lane of LANES) endAll(lane, stoppingError());
  });

  /** If the requests of a lane must not wait so long, all of them fail. */
  function delayOf(lane: Lane): number {
    try {
      return backoff.delayBefore(lane, lane === 'listings');
    } catch (error) {
      endAll(lane, error);
      return POLL_MS;
    }
  }

  /** Sends the next request if it may be sent now. @returns 0 if it was sent, or how long to wait (milliseconds) */
  async function sendNext(): Promise<number> {
    for (const lane of lastSent === 'listings' ? LANES.toReversed() : LANES) {
      const queue = queues[lane];
      if (queue.waiting === 0 || delayOf(lane) > 0) continue;
      const permit = rateLimiter.acquire(pauseKey(service, lane), lane === 'listings');
      // Without a shared limit the request is sent at once, before this call returns.
      const permitMs = typeof permit === 'number' ? permit : await permit;
      if (permitMs > MAX_WAIT_MS) endAll(lane, pausedByPeers(permitMs));
      if (permitMs > LONGEST_PERMIT_WAIT_MS) continue;
      if (permitMs > 0) return permitMs;
      // Another request may have failed while this one waited for its permit.
      if (delayOf(lane) > 0) continue;
      lastSent = lane;
      queue.take()?.begin();
      return 0;
    }
    return POLL_MS;
  }

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    while (LANES.some((lane) => queues[lane].waiting > 0)) {
      const waitMs = await sendNext();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal: closing }).catch(() => {});
    }
    isRunning = false;
  }

  /**
   * Resolves when it is the turn of the request. The caller resumes before the next turn is given, and must send the
   * request at once. Rejects with an UpstreamError if the request must not be sent.
   */
  return function admit(request: LaneRequest): Promise<void> {
    const { lane, waits, clients } = request;
    const queue = queues[lane];
    return new Promise((resolve, reject) => {
      if (closing.aborted) throw stoppingError();
      backoff.check(request);
      backoff.delayBefore(lane, waits);
      const removals: (() => void)[] = [];
      let isOver = false;
      let turns = 0;
      /** Whether more than half of the requests that waited before this one are of its first client. */
      let isByClient = false;
      const leave = () => {
        isOver = true;
        clearTimeout(timer);
        for (const remove of removals) remove();
      };
      const end = (error: unknown) => {
        leave();
        reject(error);
      };
      const begin = () => {
        leave();
        try {
          resolve(backoff.check(request));
        } catch (error) {
          reject(error);
        }
      };
      const refuse = (waiting: number) => {
        turns--;
        const error = limited(`${waiting} are waiting already`, isByClient);
        // Checked later, because `watch` may be about to add the entry of another client.
        queueMicrotask(() => turns === 0 && end(error));
      };
      const giveUp = () =>
        end(limited(`this one could not be sent within ${maxRouteWaitMs / 1_000} s`, isByClient));
      const timer = lane === 'routes' ? setTimeout(giveUp, maxRouteWaitMs) : undefined;
      clients.watch((client) => {
        if (isOver) return;
        if (turns++ === 0) isByClient = queue.isMostlyOf(client);
        const priority = client === null ? 0 : clients.isListed ? 2 : 1;
        removals.push(queue.add(client, priority, { begin, end, refuse }));
      });
      void run();
    });
  };
}

/** The key of a lane's pause in the rate limiter that gateways share. */
export function pauseKey(service: ServiceName, lane: Lane): string {
  return lane === 'listings' ? service : `${service}:${lane}`;
}

function limited(why: string, isByClient: boolean): UpstreamError {
  const message = `The requests to the upstream are limited, and ${why}. Try again in half a minute.`;
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { notSent: true, isByClient });
}

/** Another gateway got a Retry-After. */
function pausedByPeers(retryAfterMs: number): UpstreamError {
  const message = 'The upstream has asked for a pause. Try again in a minute.';
  return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfterMs, notSent: true });
}
