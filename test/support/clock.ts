import { onTestFinished, vi } from 'vitest';

/** The monotonic clock of this process, which goes on only when told. Timers run as ever. */
export interface StoppedClock {
  advance(ms: number): void;
  /** Lets it go on by itself, from where it stands. */
  release(): void;
}

/** Stops `performance.now` until the test's end, so that no pause ends because the machine is slow. */
export function stopClock(): StoppedClock {
  const real = performance.now.bind(performance);
  let now = real();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  return {
    advance(ms) {
      now += ms;
    },
    release() {
      const ahead = now - real();
      clock.mockImplementation(() => real() + ahead);
    },
  };
}
