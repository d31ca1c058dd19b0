import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** The monotonic clock of this process, stopped: only `advance` moves it. Timers still run. */
export interface StoppedClock {
  advance(ms: number): void;
}

/** Both clocks of this process, stopped. */
export interface StoppedClocks extends StoppedClock {
  /** Sets the date back without the monotonic clock, as the correction of a clock that was ahead. */
  setBack(ms: number): void;
}

/**
 * Stops `performance.now` until the end of the test: a slow machine then ends no pause too early. The clock never goes
 * back, not even afterwards, because modules that several tests share may have stored the time.
 */
export function stopClock(): StoppedClock {
  const real = performance.now;
  let now = real.call(performance);
  performance.now = () => now;
  onTestFinished(() => {
    const ahead = now - real.call(performance);
    performance.now = ahead > 0 ? () => real.call(performance) + ahead : real;
  });
  return {
    advance(ms) {
      now += ms;
    },
  };
}

/**
 * Resolves when caches with a limit on age see the advanced time: lru-cache caches the time until a timer of one
 * millisecond ends, which can be late on a busy machine. Timers of the same length end in the order of their start.
 */
export function untilCachesSeeTheTime(): Promise<void> {
  return sleep(1);
}

/** Stops `Date`, too. */
export function stopClocks(): StoppedClocks {
  const clock = stopClock();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  return {
    advance(ms) {
      clock.advance(ms);
      vi.setSystemTime(Date.now() + ms);
    },
    setBack: (ms) => void vi.setSystemTime(Date.now() - ms),
  };
}

/** Waits in real time. `expect.poll` would move a stopped `Date`. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let times = 0; !(await isSo()); times++) {
    if (times > 5_000) throw new Error('Expected it within 5,000 looks');
    await sleep(2);
  }
}
