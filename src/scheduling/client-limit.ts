/** Limits how many operations each client may have executed. */
import { LRUCache } from 'lru-cache';

export interface Rate {
  readonly perSecond: number;
  /** The most operations in one window of {@link windowMs}, not in addition to `perSecond`; at least `perSecond`. */
  readonly burst: number;
}

export interface ClientLimit {
  readonly rate: Rate;
  /** Counts one operation. Returns 0 if it may be executed, otherwise the wait of the client (ms). */
  take(client: string): Promise<number>;
}

/** They take about 10 MB. To refuse further clients would let one with many addresses lock out all others. */
const MAX_CLIENTS = 20_000;

/** The time in which a client may have `burst` operations executed, in milliseconds. */
export function windowMs({ perSecond, burst }: Rate): number {
  return Math.ceil((1_000 * burst) / perSecond);
}

/** Counts in the memory of this process. */
export function createClientLimit(rate: Rate, maxClients = MAX_CLIENTS): ClientLimit {
  /** By client: the number of operations in its window. The first operation begins the window. */
  const counted = new LRUCache<string, { operations: number }>({ max: maxClients, ttl: windowMs(rate) });
  return {
    rate,
    async take(client) {
      const count = counted.get(client) ?? { operations: 0 };
      if (count.operations++ === 0) counted.set(client, count);
      return count.operations > rate.burst ? Math.max(1, counted.getRemainingTTL(client)) : 0;
    },
  };
}
