/** Calls that come too often are put together: see {@link createThrottle}. */
export interface Throttle {
  /** Calls `act` at once, or, where that was done for this key less than the interval ago, at its end. */
  run(key: string, act: () => void): void;
  /** Forgets what was put off. */
  stop(): void;
}

/** Makes a throttle that calls at once, and then at most once an interval (milliseconds) for each key. */
export function createThrottle(intervalMs: number): Throttle {
  /** What was put off, by the keys for which the interval is not over. */
  const putOff = new Map<string, (() => void) | undefined>();
  const timers = new Map<string, NodeJS.Timeout>();

  function run(key: string, act: () => void): void {
    if (timers.has(key)) {
      putOff.set(key, act);
      return;
    }
    const timer = setTimeout(() => {
      timers.delete(key);
      const again = putOff.get(key);
      putOff.delete(key);
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
      putOff.clear();
    },
  };
}

/** Says whether one more may be done now: so many at once, and then one more in each interval (milliseconds). */
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
