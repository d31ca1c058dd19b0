import { LRUCache } from 'lru-cache';

/*
 * How far a gateway believes what it cannot check: whoever may write to Redis can delay it by so much, and no more.
 */

/** So many topics are remembered; whoever invents more only makes it forget. */
const MAX_TOPICS = 1_000;

/** How much longer a gateway lets itself be put off, before it makes an attempt of its own. */
export interface Patience {
  /** How much is left for this key, in milliseconds, or 0. It begins to run out at the first call. */
  leftMs(key: string): number;
  /** Begins anew: an attempt is made, or there is no need of one. */
  reset(key: string): void;
}

/**
 * Makes patience that is over after a time (milliseconds).
 *
 * @param idleMs it begins anew by itself when nothing has asked for so long
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

/** After what was refused, the same topic is not read again for a while: reading costs more than writing rubbish. */
export interface ReadBackoff {
  /** Whether the topic may be read now. */
  mayRead(topic: string): boolean;
  refused(topic: string): void;
  /** What was read was good. */
  good(topic: string): void;
}

/** A leftover or two are no attack, and what takes their place is to be read at once. */
const FREE_REFUSALS = 2;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 30_000;

/** Makes the backoff of one gateway: after the first few, each refusal in a row doubles it. */
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
