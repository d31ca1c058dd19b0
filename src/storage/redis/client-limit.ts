/** One limit per client for all gateways that share a Redis. */
import type { Logger } from '../../logger/logger.js';
import { type ClientLimit, windowMs } from '../../scheduling/client-limit.js';
import { RECORD_FORMAT } from '../stored-listing.js';
import { AWAY_MS, CONNECT_MS, openClient } from './connection.js';

/** Counts one operation. KEYS the client; ARGV its window in ms. Returns the count, and the rest of the window in ms. */
const COUNT = `
redis.call('SET', KEYS[1], 0, 'PX', ARGV[1], 'NX')
return { redis.call('INCR', KEYS[1]), redis.call('PTTL', KEYS[1]) }`;

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
  const prefix = `chains-and-tokens-gateway:${RECORD_FORMAT}:clients:${rate.perSecond}/${rate.burst}`;
  let awayUntil = 0;
  /** Whether the last command failed: repeated failures are logged at debug level. */
  let isFailing = false;

  return {
    rate,
    async take(asking) {
      const localMs = await local.take(asking);
      if (localMs > 0 || client.status !== 'ready' || performance.now() < awayUntil) return localMs;
      try {
        const reply = await client.eval(COUNT, 1, `${prefix}:${asking}`, windowMs(rate));
        isFailing = false;
        const [operations, leftMs] = reply as [number, number];
        return operations > rate.burst ? Math.max(1, leftMs) : 0;
      } catch (error) {
        awayUntil = performance.now() + AWAY_MS;
        log[isFailing ? 'debug' : 'warn'](
          { reason: error instanceof Error ? error.message : String(error) },
          'RATE_LIMIT counts at this gateway alone until Redis can be used again',
        );
        isFailing = true;
        return 0;
      }
    },
    close() {
      client.disconnect();
    },
  };
}
