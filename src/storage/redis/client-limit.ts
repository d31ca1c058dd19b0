/** One limit per client for all gateways that share a Redis. */
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Logger } from '../../logger/logger.js';
import { type ClientLimit, refusedMs, windowSeconds } from '../../scheduling/client-limit.js';
import { RECORD_FORMAT } from '../stored-listing.js';
import { AWAY_MS, CONNECT_MS, openClient } from './connection.js';

/** Replaces the script of the library, which allows only whole seconds. ARGV points, whole seconds, limit, seconds. */
const COUNT = `
redis.call('set', KEYS[1], 0, 'PX', math.ceil(1000 * ARGV[4]), 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1])}`;

/**
 * Counts the operations of each client at all gateways with this Redis and this rate. A client that exceeds the limit
 * at this gateway is refused without a request to Redis, so that a flood does not reach Redis. While Redis is
 * unreachable, or slower than `timeoutMs`, only the limit of this gateway (`local`) applies.
 */
export function createSharedClientLimit(
  url: string,
  local: ClientLimit,
  log: Logger,
  timeoutMs = 50,
): ClientLimit {
  const { rate } = local;
  const client = openClient(url, {
    commandTimeout: timeoutMs,
    socketTimeout: 20 * timeoutMs,
    connectTimeout: CONNECT_MS,
  });
  // Ignored: `take` logs failed commands, and the connection that shares listings logs failures to connect.
  client.on('error', () => {});
  const shared = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `chains-and-tokens-gateway:${RECORD_FORMAT}:clients:${rate.perSecond}/${rate.burst}`,
    points: rate.burst,
    duration: windowSeconds(rate),
    customIncrTtlLuaScript: COUNT,
  });
  let awayUntil = 0;
  /** Whether the last command failed: repeated failures are logged at debug level. */
  let isFailing = false;

  return {
    rate,
    async take(asking) {
      const localMs = await local.take(asking);
      if (localMs > 0 || client.status !== 'ready' || performance.now() < awayUntil) return localMs;
      try {
        await shared.consume(asking);
        isFailing = false;
      } catch (error) {
        if (!(error instanceof Error)) return refusedMs(error, rate);
        awayUntil = performance.now() + AWAY_MS;
        log[isFailing ? 'debug' : 'warn'](
          { reason: error.message },
          'RATE_LIMIT counts at this gateway alone until Redis can be used again',
        );
        isFailing = true;
      }
      return 0;
    },
    close() {
      local.close();
      client.disconnect();
    },
  };
}
