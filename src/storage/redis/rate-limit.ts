import { randomUUID } from 'node:crypto';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import { MAX_EARLY_MS } from '../record.js';
import type { RedisLink } from './link.js';
import { HOLD, PLACE } from './scripts.js';
import type { Seal } from './seal.js';
import { createPatience } from './trust.js';

/** What {@link createSharedRateLimiter} takes. */
export interface SharedRateLimiterOptions {
  /** What one gateway may do on its own. */
  readonly local: LocalRateLimiter;
  readonly requestsPerSecond: number;
  readonly link: Pick<RedisLink, 'run'>;
  readonly seal: Seal;
  /** What the names of keys begin with that all gateways of the upstream share, whatever their secret. */
  readonly prefix: string;
}

/** A second as the upstream may measure it: more than the process's own, since the places come from afar. */
const WINDOW_MS = 1_200;
/** Whom Redis has given no place for so long goes by the local ceiling. */
const PLACE_WITHIN_MS = 10_000;
/** Somebody who still waits for a place asks again sooner than this. */
const ASKED_AGAIN_MS = 5_000;
/** For so long a service is left alone because others say so; then it is asked, and says so itself. */
const HELD_AT_MOST_MS = 3_600_000;
/** For how long others are not believed then, so that the listings' questions come through, too. */
const UNHELD_MS = 60_000;

/** Makes a ceiling that holds for all gateways together, and for one alone while Redis cannot be used. */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): RateLimiter {
  const { local, requestsPerSecond, link, seal, prefix } = options;
  const places = createPatience(PLACE_WITHIN_MS, ASKED_AGAIN_MS);
  const holds = createPatience(HELD_AT_MOST_MS);
  let unheldUntil = Number.NEGATIVE_INFINITY;
  const holdOf = (service: string) => `${prefix}${seal.keyPart}:hold:${service}`;

  async function place(service: string, isFirst: boolean, isUnheld: boolean): Promise<unknown> {
    const args = [requestsPerSecond, WINDOW_MS, randomUUID(), isFirst ? 1 : 0, isUnheld ? 1 : 0];
    const keys = [`${prefix}:places`, holdOf(service), `${prefix}:first`];
    return (await link.run(PLACE, keys, args))?.reply;
  }

  /** How long others say that the service is to be left alone; 0 where they do not, or are not believed. */
  function heldMs(service: string, leftMs: number, text: string): number {
    const told = seal.open('hold', service, text);
    if (!told) return 0;
    // Without a secret nothing can be known of it, and it is as long as Redis says.
    const untilMs = seal.isAuthentic ? Number(told) + MAX_EARLY_MS - Date.now() : leftMs;
    if (!(untilMs > 0)) return 0;
    const patienceMs = holds.leftMs(service);
    if (patienceMs > 0) return Math.min(leftMs, untilMs, patienceMs);
    unheldUntil = performance.now() + UNHELD_MS;
    holds.reset(service);
    return 0;
  }

  /** 0 when a place is taken, or else how long to wait for one (milliseconds). */
  async function sharedWaitMs(service: string, isFirst: boolean): Promise<number> {
    let reply = await place(service, isFirst, performance.now() < unheldUntil);
    if (Array.isArray(reply)) {
      const waitMs = heldMs(service, Number(reply[0]), String(reply[1]));
      if (waitMs > 0) return waitMs;
      reply = await place(service, isFirst, true);
    } else {
      holds.reset(service);
    }
    const waitMs = Math.min(Number(reply ?? 0), 2 * WINDOW_MS);
    if (!(waitMs > 0)) {
      places.reset('');
      return 0;
    }
    if (places.leftMs('') > 0) return waitMs;
    // Listings may go on until Redis gives places again; routes, of which there can be any number, wait anew.
    if (!isFirst) places.reset('');
    return 0;
  }

  return {
    async acquire(service, isFirst) {
      const waitMs = local.acquire(service, isFirst);
      if (waitMs > 0) return waitMs;
      const sharedMs = await sharedWaitMs(service, isFirst);
      // Until Redis has answered the place has grown old, and it is now that the request is sent.
      local.release();
      return sharedMs > 0 ? sharedMs : local.acquire(service, isFirst);
    },
    pause(service, ms) {
      const text = seal.close('hold', service, String(Date.now() + Math.ceil(ms)));
      link.run(HOLD, [holdOf(service)], [Math.ceil(ms), text]);
    },
  };
}
