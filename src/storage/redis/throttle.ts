/** Merges calls that come too often. */
export interface Throttle {
  /** Calls `act` at once, or at the end of the interval if one is running for this key. */
  run(key: string, act: () => void): void;
  /** Drops the delayed calls. */
  stop(): void;
}

/** Creates a throttle: for each key the first call runs at once, and then at most one in each interval (milliseconds). */
export function createThrottle(intervalMs: number): Throttle {
  /** The delayed calls, by key. */
  const delayed = new Map<string, (() => void) | undefined>();
  const timers = new Map<string, NodeJS.Timeout>();

  function run(key: string, act: () => void): void {
    if (timers.has(key)) {
      delayed.set(key, act);
      return;
    }
    const timer = setTimeout(() => {
      timers.delete(key);
      const again = delayed.get(key);
      delayed.delete(key);
      if (again) run(key, again);
    }, intervalMs);
    timers.set(key, timer.unref());
    act();
  }

  return {
    run,
    stop() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      delayed.clear();
    },
  };
}

/** Creates a token bucket: this many at once, and then one more in each interval (milliseconds). */
export function createAllowance(atOnce: number, intervalMs: number): () => boolean {
  let left = atOnce;
  let since = performance.now();
  return () => {
    const now = performance.now();
    const gained = Math.floor((now - since) / intervalMs);
    since += gained * intervalMs;
    left = Math.min(atOnce, left + gained);
    if (left === 0) return false;
    left--;
    return true;
  };
}
