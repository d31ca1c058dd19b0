/** Limits the requests a second to the upstream, all of its services together. Bursts are not allowed. */
export interface RateLimiter {
  /**
   * Acquires the slot of one request, which must be sent at once.
   *
   * @param key what can be paused on its own: a service, or one lane of it
   * @param isFirst whether this request goes before the other ones that wait for a slot
   * @returns 0 if the slot was acquired; otherwise how long to wait before the next try, in milliseconds
   */
  acquire(key: string, isFirst: boolean): number | Promise<number>;
  /** Tells all gateways that share the limit to send no requests with this key for a time (milliseconds). */
  pause(key: string, ms: number): void;
}

/** The limiter of one process. A shared limiter can be built on it. */
export interface LocalRateLimiter extends RateLimiter {
  acquire(key: string, isFirst: boolean): number;
  /** Releases the slot that was acquired last: no request was sent. */
  release(): void;
}

/** A little more than a second: requests that are sent evenly can arrive closer together. */
const WINDOW_MS = 1_050;

/** Makes the limiter of one process: a sliding window, so that no second has more requests, wherever it begins. */
export function createRateLimiter(requestsPerSecond: number): LocalRateLimiter {
  /** When the requests in the window were sent, on the monotonic clock. */
  const sent: number[] = [];
  return {
    acquire() {
      const now = performance.now();
      while (sent[0] !== undefined && sent[0] <= now - WINDOW_MS) sent.shift();
      const oldest = sent[sent.length - requestsPerSecond];
      if (oldest !== undefined) return oldest + WINDOW_MS - now;
      sent.push(now);
      return 0;
    },
    // The process's own backoff stops these requests already.
    pause() {},
    release() {
      sent.pop();
    },
  };
}
