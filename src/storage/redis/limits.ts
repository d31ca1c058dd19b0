/** The limits that count for all gateways with one Redis: on requests to the upstream, and on operations of a client. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../logger/logger.js';
import { type ClientLimit, windowMs } from '../../scheduling/client-limit.js';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import { RECORD_FORMAT } from '../stored-listing.js';
import { AWAY_MS, type RedisConnection } from './connection.js';

/** The window (milliseconds) is longer than that of the local limiter, because of the round trip to Redis. */
const WINDOW_MS = 1_200;

/**
 * Acquires one permit. While listings and routes both wait, they take turns, so that neither can use all permits.
 *
 * KEYS places (the permits in the window), hold (exists during a pause), last (the kind that got the last permit), own
 * and other (each exists while a request of this or the other kind waits); ARGV permits in a window, the window in ms,
 * an id for the permit, the kind. Returns 0 if the permit was acquired, or how many ms to wait.
 */
const ACQUIRE_PERMIT = `
local permits, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local held = redis.call('PTTL', KEYS[2])
if held > 0 then return held end
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - window)
local used = redis.call('ZCARD', KEYS[1])
local left = 0
if used >= permits then
  local oldest = redis.call('ZRANGE', KEYS[1], used - permits, used - permits, 'WITHSCORES')
  left = math.max(1, oldest[2] + window - at)
elseif redis.call('GET', KEYS[3]) == ARGV[4] and redis.call('EXISTS', KEYS[5]) == 1 then
  left = 50
end
if left > 0 then
  redis.call('SET', KEYS[4], '1', 'PX', left + window)
  return left
end
redis.call('ZADD', KEYS[1], at, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
redis.call('SET', KEYS[3], ARGV[4], 'PX', 2 * window)
redis.call('DEL', KEYS[4])
return 0
`;

/** While Redis is not available, only the limit `local` applies. */
export function createSharedRateLimiter(
  local: LocalRateLimiter,
  requestsPerSecond: number,
  { call }: Pick<RedisConnection, 'call'>,
  prefix: string,
): RateLimiter {
  const pauseKey = (paused: string) => `${prefix}:hold:${paused}`;
  return {
    async acquire(paused, isListing) {
      const waitMs = local.leftMs();
      if (waitMs > 0) return waitMs;
      const [own, other] = isListing ? ['listing', 'route'] : ['route', 'listing'];
      const waiting = [`${prefix}:waiting:${own}`, `${prefix}:waiting:${other}`];
      const keys = [`${prefix}:places`, pauseKey(paused), `${prefix}:last`, ...waiting];
      const args = [requestsPerSecond, WINDOW_MS, randomUUID(), own];
      const sharedMs = Number((await call('EVAL', ACQUIRE_PERMIT, keys.length, ...keys, ...args)) ?? 0);
      // The local permit is acquired only now, because it would age during the round trip to Redis.
      return sharedMs > 0 ? sharedMs : local.acquire();
    },
    answered: local.answered,
    pause(paused, ms) {
      call('SET', pauseKey(paused), '1', 'PX', Math.ceil(ms));
    },
  };
}

/** Counts one operation. KEYS the client; ARGV its window in ms. Returns the count, and the rest of the window in ms. */
const COUNT = `
redis.call('SET', KEYS[1], 0, 'PX', ARGV[1], 'NX')
return { redis.call('INCR', KEYS[1]), redis.call('PTTL', KEYS[1]) }`;

/**
 * Gateways with one Redis and one rate count together. A client that exceeds the limit at this gateway is refused without
 * a request to Redis. If Redis does not answer within `answerMs`, only the limit `local` applies for a while.
 */
export function createSharedClientLimit(
  local: ClientLimit,
  { call }: Pick<RedisConnection, 'call'>,
  log: Logger,
  answerMs = 50,
): ClientLimit {
  const { rate } = local;
  const prefix = `chains-and-tokens-gateway:${RECORD_FORMAT}:clients:${rate.perSecond}/${rate.burst}`;
  /** 0 after an answer. */
  let awayUntil = 0;

  return {
    rate,
    async take(asking) {
      const localMs = await local.take(asking);
      if (localMs > 0 || performance.now() < awayUntil) return localMs;
      const counted = call('EVAL', COUNT, 1, `${prefix}:${asking}`, windowMs(rate));
      const reply = await Promise.race([counted, sleep(answerMs, undefined, { ref: false })]);
      if (!Array.isArray(reply)) {
        // Repeated failures are logged at debug level.
        log[awayUntil > 0 ? 'debug' : 'warn']('RATE_LIMIT counts at this gateway alone until Redis answers');
        awayUntil = performance.now() + AWAY_MS;
        return 0;
      }
      awayUntil = 0;
      const [operations, leftMs] = reply as [number, number];
      return operations > rate.burst ? Math.max(1, leftMs) : 0;
    },
  };
}
