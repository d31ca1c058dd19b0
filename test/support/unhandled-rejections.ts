import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/**
 * Collects unhandled rejections until the end of the test, in place of vitest. In a process of the gateway one ends it.
 *
 * @returns gives those so far, once all were noticed
 */
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
