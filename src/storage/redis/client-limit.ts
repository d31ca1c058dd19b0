import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Logger } from '../../logger.js';
import { type ClientLimit, refusedMs, windowSeconds } from '../../scheduling/client-limit.js';
import { openConnection } from './connection.js';

export interface SharedClientLimitOptions {
  readonly url: string;
  /** The limit of this gateway alone, which is asked first. */
  readonly local: ClientLimit;
  readonly log: Logger;
  /** An operation waits no longer for Redis, in milliseconds; 50 unless given. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 50;
/** After a failure Redis is not asked for this time. */
const AWAY_MS = 1_000;

/** As the library's own script, with windows that are not whole seconds. ARGV: points, seconds rounded down, limit, seconds. */
const COUNT = `
redis.call('set', KEYS[1], 0, 'PX', math.ceil(1000 * ARGV[4]), 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1])}`;

/**
 * Counts the operations of each client at all gateways with this Redis and this rate. A client that has too many at
 * this gateway is refused without asking Redis, so that a flood does not reach it. While Redis is away or slow, the
 * limit of this gateway alone holds.
 */
export function createSharedClientLimit(options: SharedClientLimitOptions): ClientLimit {
  const { url, local, log, timeoutMs = TIMEOUT_MS } = options;
  const { rate } = local;
  const client = openConnection(url, {
    commandTimeout: timeoutMs,
    socketTimeout: 20 * timeoutMs,
    connectTimeout: 2_000,
  });
  // Failed commands report themselves, and the link that shares listings logs failed connections.
  client.on('error', () => {});
  const shared = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `chains-and-tokens-gateway:clients:${rate.perSecond}/${rate.burst}`,
    points: rate.burst,
    duration: windowSeconds(rate),
    customIncrTtlLuaScript: COUNT,
  });
  let awayUntil = Number.NEGATIVE_INFINITY;
  /** Whether the last use failed; repeated failures are not logged again. */
  let isFailing = false;

  async function takeShared(asking: string): Promise<number> {
    try {
      await shared.consume(asking);
      isFailing = false;
      return 0;
    } catch (error) {
      if (!(error instanceof Error)) return refusedMs(error, rate);
      awayUntil = performance.now() + AWAY_MS;
      log[isFailing ? 'debug' : 'warn'](
        { reason: error.message },
        'RATE_LIMIT counts at this gateway alone until Redis can be used again',
      );
      isFailing = true;
      return 0;
    }
  }

  return {
    rate,
    async take(asking) {
      const localMs = await local.take(asking);
      if (localMs > 0 || client.status !== 'ready' || performance.now() < awayUntil) return localMs;
      return takeShared(asking);
    },
    close() {
      local.close();
      client.disconnect();
    },
  };
}
