/** One limit on the requests to the upstream for all gateways, and their common pauses. */
import { randomUUID } from 'node:crypto';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import type { RedisConnection } from './connection.js';

/** The window (milliseconds) is longer than that of the local limiter, because of the round trip to Redis. */
const WINDOW_MS = 1_200;
/** A free permit stays reserved for routes this long (ms). A waiting request for routes asks more often. */
const ROUTE_ASKS_WITHIN_MS = 200;

/**
 * Acquires one permit. Listings go before routes: if a request for a listing has to wait, the next permit is reserved
 * for it. After a listing has acquired a permit, the next permit is reserved for routes, if a request for them waits.
 *
 * KEYS places (the permits in the window), hold (exists during a pause), first (the kind of request for which the next
 * permit is reserved), routes (exists while a route waits); ARGV permits in a window, the window in ms, an id for the
 * permit, `listing` or `route`. Returns 0 if the permit was acquired, or how many ms to wait.
 */
const ACQUIRE_PERMIT = `
local permits, window, me = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4]
local held = redis.call('PTTL', KEYS[2])
if held > 0 then return held end
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - window)
local used = redis.call('ZCARD', KEYS[1])
-- How long until a permit is free.
local function leftMs()
  if used < permits then return 0 end
  local oldest = redis.call('ZRANGE', KEYS[1], used - permits, used - permits, 'WITHSCORES')
  return math.max(1, oldest[2] + window - at)
end
local function wait(ms)
  if me == 'route' then redis.call('SET', KEYS[4], '1', 'PX', 2 * window) end
  return ms
end
local first = redis.call('GET', KEYS[3])
if first and first ~= me then return wait(50) end
local left = leftMs()
if left > 0 then
  if me == 'listing' then redis.call('SET', KEYS[3], me, 'PX', 2 * window) end
  return wait(left)
end
redis.call('ZADD', KEYS[1], at, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
used = used + 1
if me == 'listing' and redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('SET', KEYS[3], 'route', 'PX', leftMs() + ${ROUTE_ASKS_WITHIN_MS})
else
  redis.call('DEL', KEYS[3])
end
redis.call('DEL', KEYS[4])
return 0
`;

/** Creates a rate limiter for all gateways together. While Redis is not available, only the limit `local` applies. */
export function createSharedRateLimiter(
  local: LocalRateLimiter,
  requestsPerSecond: number,
  { call }: Pick<RedisConnection, 'call'>,
  prefix: string,
): RateLimiter {
  const pauseKey = (paused: string) => `${prefix}:hold:${paused}`;
  return {
    async acquire(paused, isFirst) {
      const waitMs = local.leftMs();
      if (waitMs > 0) return waitMs;
      const keys = [`${prefix}:places`, pauseKey(paused), `${prefix}:first`, `${prefix}:routes`];
      const args = [requestsPerSecond, WINDOW_MS, randomUUID(), isFirst ? 'listing' : 'route'];
      const sharedMs = Number((await call('EVAL', ACQUIRE_PERMIT, keys.length, ...keys, ...args)) ?? 0);
      // Acquired only now, because a local permit would age during the round trip to Redis.
      return sharedMs > 0 ? sharedMs : local.acquire();
    },
    answered: local.answered,
    pause(paused, ms) {
      call('SET', pauseKey(paused), '1', 'PX', Math.ceil(ms));
    },
  };
}
