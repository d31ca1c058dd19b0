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
