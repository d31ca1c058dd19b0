/** Holds the upstream's limit on requests a second, of all its services together; bursts are no exception. */
export interface RateLimiter {
  /**
   * Takes the place of one request that is sent at once.
   *
   * @param service what is asked, or a part of what it is asked for: whatever is held under a name of its own
   * @param isFirst whether it goes before what others under the same ceiling wait for
   * @returns 0 when it is taken; otherwise how long to wait before asking again, in milliseconds
   */
  acquire(service: string, isFirst: boolean): number | Promise<number>;
  /** Gives nobody a place for this service for so long (milliseconds), where others stand under it, too. */
  pause(service: string, ms: number): void;
}

/** The ceiling of one process, under which a shared one can stand. */
export interface LocalRateLimiter extends RateLimiter {
  acquire(service: string, isFirst: boolean): number;
  /** Gives back the place that was taken last: nothing was sent, or not yet. */
  release(): void;
}

/** A second as the upstream may measure it: what leaves here evenly can arrive a little bunched. */
const WINDOW_MS = 1_050;

/** Makes the ceiling of one process: no second, wherever it begins, sees more requests than this. */
export function createRateLimiter(requestsPerSecond: number): LocalRateLimiter {
  /** When the requests of the last second were sent, on a clock that nobody sets. */
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
    pause() {},
    release() {
      sent.pop();
    },
  };
}
