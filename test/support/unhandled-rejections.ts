/** Collects unhandled rejections, which would end the process of a gateway. */
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** In place of vitest, until the end of the test. @returns a function that waits for late ones, and returns all so far */
export function collectUnhandledRejections(): () => Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  });
  return async () => {
    await sleep(20);
    return unhandled;
  };
}
