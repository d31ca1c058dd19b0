import { randomUUID } from 'node:crypto';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import { MAX_EARLY_MS } from '../record.js';
import type { RedisLink } from './link.js';
import { ACQUIRE_SLOT, PAUSE } from './scripts.js';
import type { Seal } from './seal.js';
import { createPatience } from './trust.js';

export interface SharedRateLimiterOptions {
  /** The limit of this gateway alone. */
  readonly local: LocalRateLimiter;
  readonly requestsPerSecond: number;
  readonly link: Pick<RedisLink, 'run'>;
  readonly seal: Seal;
  /** The prefix of keys that all gateways of the upstream share, whatever their secret. */
  readonly prefix: string;
}

/** A second as the upstream may measure it; more than in the local limiter because of the round trip to Redis. */
const WINDOW_MS = 1_200;
/** Without a slot from Redis for this long, the local limit alone applies. */
const SLOT_WITHIN_MS = 10_000;
/** A request that still waits for a slot asks again sooner than this. */
const ASKED_AGAIN_MS = 5_000;
/** How long peers can make a gateway pause; then it asks the service itself. */
const MAX_PAUSE_MS = 3_600_000;
/** How long the pauses of peers are ignored then, so that the listings' requests are sent, too. */
const IGNORE_PAUSES_MS = 60_000;

/** Creates a rate limiter for all gateways together; while Redis is not available, each has its own limit. */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): RateLimiter {
  const { local, requestsPerSecond, link, seal, prefix } = options;
  const slotPatience = createPatience(SLOT_WITHIN_MS, ASKED_AGAIN_MS);
  const pausePatience = createPatience(MAX_PAUSE_MS);
  let ignoresPausesUntil = Number.NEGATIVE_INFINITY;
  const pauseKey = (service: string) => `${prefix}${seal.keyPart}:hold:${service}`;

  async function acquireShared(service: string, isFirst: boolean, ignoresPause: boolean): Promise<unknown> {
    const args = [requestsPerSecond, WINDOW_MS, randomUUID(), isFirst ? 1 : 0, ignoresPause ? 1 : 0];
    const keys = [`${prefix}:places`, pauseKey(service), `${prefix}:first`, `${prefix}:routes`];
    return link.run(ACQUIRE_SLOT, keys, args);
  }

  /** How long a pause that peers have shared still lasts; 0 if there is none, or it is ignored. */
  function pausedMs(service: string, leftMs: number, text: string): number {
    const told = seal.open('hold', service, text);
    if (!told) return 0;
    // Without a secret only Redis says how long the pause is.
    const untilMs = seal.isAuthentic ? Number(told) + MAX_EARLY_MS - Date.now() : leftMs;
    if (!(untilMs > 0)) return 0;
    const patienceMs = pausePatience.leftMs(service);
    if (patienceMs > 0) return Math.min(leftMs, untilMs, patienceMs);
    ignoresPausesUntil = performance.now() + IGNORE_PAUSES_MS;
    pausePatience.reset(service);
    return 0;
  }

  /** 0 if a slot was acquired, or how long to wait for one (milliseconds). */
  async function sharedWaitMs(service: string, isFirst: boolean): Promise<number> {
    let reply = await acquireShared(service, isFirst, performance.now() < ignoresPausesUntil);
    if (Array.isArray(reply)) {
      const waitMs = pausedMs(service, Number(reply[0]), String(reply[1]));
      if (waitMs > 0) return waitMs;
      reply = await acquireShared(service, isFirst, true);
    } else {
      pausePatience.reset(service);
    }
    const waitMs = Math.min(Number(reply ?? 0), 2 * WINDOW_MS);
    if (!(waitMs > 0)) {
      slotPatience.reset('listings');
      slotPatience.reset('routes');
      return 0;
    }
    if (slotPatience.leftMs(isFirst ? 'listings' : 'routes') > 0) return waitMs;
    // Listings go on until Redis gives slots again. Routes, of which there can be any number, wait again.
    if (!isFirst) slotPatience.reset('routes');
    return 0;
  }

  return {
    async acquire(service, isFirst) {
      const waitMs = local.acquire(service, isFirst);
      if (waitMs > 0) return waitMs;
      const sharedMs = await sharedWaitMs(service, isFirst);
      // Acquire the local slot again: the first one aged during the round trip to Redis.
      local.release();
      return sharedMs > 0 ? sharedMs : local.acquire(service, isFirst);
    },
    pause(service, ms) {
      const text = seal.close('hold', service, String(Date.now() + Math.ceil(ms)));
      link.run(PAUSE, [pauseKey(service)], [Math.ceil(ms), text]);
    },
  };
}
