import { LRUCache } from 'lru-cache';

/*
 * Bounds on how far a gateway trusts Redis: anybody who can write to Redis can delay it by this much, and no more.
 */

/** The most topics that are remembered; the least recent are forgotten. */
const MAX_TOPICS = 1_000;

/** How much longer a gateway lets itself be delayed before it makes an attempt of its own. */
export interface Patience {
  /** The time that is left for this key, in milliseconds, or 0. It starts to run at the first call. */
  leftMs(key: string): number;
  /** Starts again: an attempt is made, or none is needed. */
  reset(key: string): void;
}

/**
 * @param totalMs how long it lasts
 * @param idleMs it starts again by itself after this time without a call
 */
export function createPatience(totalMs: number, idleMs = Number.POSITIVE_INFINITY): Patience {
  const began = new LRUCache<string, { readonly since: number; lastAt: number }>({ max: MAX_TOPICS });
  return {
    leftMs(key) {
      const now = performance.now();
      const known = began.get(key);
      if (known && now - known.lastAt <= idleMs) {
        known.lastAt = now;
        return Math.max(0, known.since + totalMs - now);
      }
      began.set(key, { since: now, lastAt: now });
      return totalMs;
    },
    reset(key) {
      began.delete(key);
    },
  };
}

/** After an invalid record the topic is not read for a while: to read rubbish costs more than to write it. */
export interface ReadBackoff {
  /** Whether the topic may be read now. */
  mayRead(topic: string): boolean;
  refused(topic: string): void;
  /** A valid record was read. */
  good(topic: string): void;
}

/** A leftover or two are no attack, and their replacement is to be read at once. */
const FREE_REFUSALS = 2;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 30_000;

/** Creates the back-off of one gateway: after the first few, each refusal in a row doubles it. */
export function createReadBackoff(): ReadBackoff {
  const refusals = new LRUCache<string, { readonly times: number; readonly until: number }>({
    max: MAX_TOPICS,
  });
  return {
    mayRead: (topic) => performance.now() >= (refusals.get(topic)?.until ?? 0),
    refused(topic) {
      const times = (refusals.get(topic)?.times ?? 0) + 1;
      const ms =
        times <= FREE_REFUSALS
          ? 0
          : Math.min(FIRST_BACKOFF_MS * 2 ** (times - FREE_REFUSALS - 1), MAX_BACKOFF_MS);
      refusals.set(topic, { times, until: performance.now() + ms });
    },
    good(topic) {
      refusals.delete(topic);
    },
  };
}
