/** Stops the clocks of this process, which then only a test advances. Waits in real time. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type StoppedClock = ReturnType<typeof stopClock>;

const real = () => Performance.prototype.now.call(performance);

/**
 * Stops `performance.now` until the end of the test, so that on a slow machine no pause ends too early. The clock never
 * goes back, not even after the test, because modules that several tests share may have stored the time.
 */
export function stopClock() {
  let now = performance.now();
  performance.now = () => now;
  onTestFinished(() => {
    const ahead = now - real();
    performance.now = ahead > 0 ? () => real() + ahead : real;
  });
  return {
    advance(ms: number) {
      now += ms;
    },
  };
}

/**
 * Resolves when caches with a limit on age see the advanced time. They use lru-cache, which stores the time until its
 * timer of one millisecond ends. This timer is as long but starts later, so it ends later, even on a busy machine.
 */
export function untilCachesSeeTheTime(): Promise<void> {
  return sleep(1);
}

/** Stops `Date.now` until the end of the test. Timers and `performance.now` continue. `expect.poll` does not move it. */
export function stopDate() {
  let now = Date.now();
  const stopped = vi.spyOn(Date, 'now').mockImplementation(() => now);
  onTestFinished(() => stopped.mockRestore());
  return {
    advance(ms: number) {
      now += ms;
    },
    setBack(ms: number) {
      now -= ms;
    },
  };
}

export type StoppedClocks = ReturnType<typeof stopClocks>;

export function stopClocks() {
  const clock = stopClock();
  const date = stopDate();
  return {
    advance(ms: number) {
      clock.advance(ms);
      date.advance(ms);
    },
    /** Sets the date back, but not the monotonic clock, as when a system corrects a clock that was ahead. */
    setBack: date.setBack,
  };
}

export const until = (isSo: () => Promise<boolean>) => expect.poll(isSo, { interval: 2 }).toBe(true);

/** Waits for 300 rounds of the event loop: enough for 300 operations that run one in each round. */
export async function manyRounds(): Promise<void> {
  for (let round = 0; round < 300; round++) await setImmediate();
}
