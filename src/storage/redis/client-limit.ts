/** One limit per client for all gateways that share a Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../logger/logger.js';
import { type ClientLimit, windowMs } from '../../scheduling/client-limit.js';
import { RECORD_FORMAT } from '../stored-listing.js';
import { AWAY_MS, type RedisConnection } from './connection.js';

/** Counts one operation. KEYS the client; ARGV its window in ms. Returns the count, and the rest of the window in ms. */
const COUNT = `
redis.call('SET', KEYS[1], 0, 'PX', ARGV[1], 'NX')
return { redis.call('INCR', KEYS[1]), redis.call('PTTL', KEYS[1]) }`;

/**
 * Counts the operations of each client at all gateways with this Redis and this rate. A client that exceeds the limit
 * at this gateway is refused without a request to Redis, so that a flood does not reach Redis. If Redis does not answer
 * within `answerMs`, only the limit of this gateway (`local`) applies for a while.
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
