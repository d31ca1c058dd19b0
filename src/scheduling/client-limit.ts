/** Limits how many operations each client may have executed. */
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** How many operations one client may have executed. */
export interface Rate {
  readonly perSecond: number;
  /** The most operations in one window of {@link windowSeconds}; at least `perSecond`. */
  readonly burst: number;
}

export interface ClientLimit {
  readonly rate: Rate;
  /**
   * Counts one operation. @returns 0 if it may be executed, otherwise the wait of the client (milliseconds)
   */
  take(client: string): Promise<number>;
  close(): void;
}

/**
 * At most this many clients are counted at a time: they take about 10 MB. Beyond that, the count of the
 * client that has been silent longest is dropped. To refuse new clients instead would let one client with
 * many addresses lock out all others.
 */
const MAX_CLIENTS = 20_000;

/** The time in which a client may have `burst` operations executed, in seconds. */
export function windowSeconds({ perSecond, burst }: Rate): number {
  return burst / perSecond;
}

/** How long a client has to wait after a refusal of `rate-limiter-flexible`, in milliseconds. Throws any other error. */
export function refusedMs(error: unknown, rate: Rate): number {
  if (!(error instanceof RateLimiterRes)) throw error;
  return Math.min(Math.max(1, error.msBeforeNext), 1_000 * windowSeconds(rate));
}

/** Creates a limit that counts in the memory of this process. */
export function createClientLimit(rate: Rate, maxClients = MAX_CLIENTS): ClientLimit {
  const limiter = new RateLimiterMemory({ points: rate.burst, duration: windowSeconds(rate) });
  const counted = new LRUCache<string, true>({
    max: maxClients,
    noDisposeOnSet: true,
    dispose: (_value, client) => void limiter.delete(client),
  });
  return {
    rate,
    async take(client) {
      counted.set(client, true);
      try {
        await limiter.consume(client);
        return 0;
      } catch (error) {
        return refusedMs(error, rate);
      }
    },
    close: () => counted.clear(),
  };
}
