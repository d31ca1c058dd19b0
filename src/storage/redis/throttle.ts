/**
 * Creates a throttle, which merges calls that come too often: for each key the first call runs at once, and then at most
 * one in each interval (milliseconds), the last one.
 */
export function createThrottle(intervalMs: number): (key: string, act: () => void) => void {
  /** The call that is delayed to the end of the interval, by key; undefined if none has come in it. */
  const delayed = new Map<string, (() => void) | undefined>();

  function run(key: string, act: () => void): void {
    if (delayed.has(key)) {
      delayed.set(key, act);
      return;
    }
    delayed.set(key, undefined);
    setTimeout(() => {
      const again = delayed.get(key);
      delayed.delete(key);
      if (again) run(key, again);
    }, intervalMs).unref();
    act();
  }

  return run;
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
