import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** The monotonic clock of this process, which goes on only when told. Timers run as ever. */
export interface StoppedClock {
  advance(ms: number): void;
}

/**
 * Stops `performance.now` until the test's end, so that no pause ends because the machine is slow. It never goes back,
 * not even then: modules that several tests share may have noted the time.
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
 * Resolves when caches with a limit on age see the time to which a clock was advanced: lru-cache takes the time that it
 * has read as the present one until a timer of one millisecond ends, which can be late on a busy machine. Timers of the
 * same length end in the order in which they began.
 */
export function untilCachesSeeTheTime(): Promise<void> {
  return sleep(1);
}

/** Stops `Date`, too. */
export function stopClocks(): StoppedClock {
  const clock = stopClock();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  return {
    advance(ms) {
      clock.advance(ms);
      vi.setSystemTime(Date.now() + ms);
    },
  };
}

/** Waits in real time: `expect.poll` moves a `Date` that is stopped. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let times = 0; !(await isSo()); times++) {
    if (times > 5_000) throw new Error('Expected it within 5,000 looks');
    await sleep(2);
  }
}
