/** Limits how many requests are sent to the upstream in any second, for all of its services together. */
export interface RateLimiter {
  /** Returns 0 if the request may be sent; it then counts as sent. Otherwise returns how long to wait before the next try (ms). */
  acquire(pauseKey: string, isListing: boolean): number | Promise<number>;
  answered?(): void;
  /** Tells the other gateways that share the limit to send no requests with this key for a time. */
  pause?(pauseKey: string, ms: number): void;
}

export type LocalRateLimiter = ReturnType<typeof createRateLimiter>;

/** A little more than a second, because requests can arrive at the upstream closer together than they were sent. */
const WINDOW_MS = 1_050;

/** Creates the limiter of one process. Its window slides, so that any second has at most this many requests. */
export function createRateLimiter(requestsPerSecond: number) {
  const sent: number[] = [];
  let hasAnswered = false;
  function leftMs(): number {
    const now = performance.now();
    while (sent[0] !== undefined && sent[0] <= now - WINDOW_MS) sent.shift();
    const oldest = sent[sent.length - requestsPerSecond];
    return oldest === undefined ? 0 : oldest + WINDOW_MS - now;
  }
  return {
    leftMs,
    acquire(): number {
      const waitMs = leftMs();
      if (waitMs === 0) sent.push(performance.now());
      return waitMs;
    },
    /** At the first answer, all earlier requests count as sent now: they left late, because connections had to be opened. */
    answered(): void {
      if (!hasAnswered) sent.fill(performance.now());
      hasAnswered = true;
    },
  };
}
