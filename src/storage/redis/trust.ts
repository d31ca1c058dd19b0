import { LRUCache } from 'lru-cache';

/*
 * Bounds on how far a gateway trusts Redis: anybody who can write to Redis can delay it by this much, and no more.
 */

/** The most topics that are remembered; the least recent are forgotten. */
const MAX_TOPICS = 1_000;

/**
 * Creates a limit on how long a gateway lets itself be delayed before it makes an attempt of its own.
 *
 * @param totalMs how long it lasts
 * @param idleMs it starts again by itself after this time without a call
 */
export function createPatience(totalMs: number, idleMs = Number.POSITIVE_INFINITY) {
  const began = new LRUCache<string, { readonly since: number; lastAt: number }>({ max: MAX_TOPICS });
  return {
    /** The time that is left for this key, in milliseconds, or 0. It starts to run at the first call. */
    leftMs(key: string): number {
      const now = performance.now();
      const known = began.get(key);
      if (known && now - known.lastAt <= idleMs) {
        known.lastAt = now;
        return Math.max(0, known.since + totalMs - now);
      }
      began.set(key, { since: now, lastAt: now });
      return totalMs;
    },
    /** Starts again: an attempt is made, or none is needed. */
    reset: (key: string) => began.delete(key),
  };
}

/** A leftover or two are no attack, and their replacement is to be read at once. */
const FREE_REFUSALS = 2;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 30_000;

/**
 * Creates the back-off of one gateway. After an invalid record the topic is not read for a while: to read rubbish costs
 * more than to write it. After the first few, each refusal in a row doubles the wait.
 */
export function createReadBackoff() {
  const refusals = new LRUCache<string, { readonly times: number; readonly until: number }>({
    max: MAX_TOPICS,
  });
  return {
    /** Whether the topic may be read now. */
    mayRead: (topic: string) => performance.now() >= (refusals.get(topic)?.until ?? 0),
    refused(topic: string): void {
      const times = (refusals.get(topic)?.times ?? 0) + 1;
      const ms =
        times <= FREE_REFUSALS
          ? 0
          : Math.min(FIRST_BACKOFF_MS * 2 ** (times - FREE_REFUSALS - 1), MAX_BACKOFF_MS);
      refusals.set(topic, { times, until: performance.now() + ms });
    },
    /** A valid record was read. */
    good: (topic: string) => refusals.delete(topic),
  };
}
