import { onTestFinished, vi } from 'vitest';

/** The monotonic clock of this process, which goes on only when told. Timers run as ever. */
export interface StoppedClock {
  advance(ms: number): void;
}

/** Stops `performance.now` until the test's end, so that no pause ends because the machine is slow. */
export function stopClock(): StoppedClock {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
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
