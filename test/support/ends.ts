/** Starts something once for all tests of a file or `describe`, and ends it after them. */
import { afterAll, beforeAll } from 'vitest';

/**
 * Returns a function that registers functions. They are called after the tests of the file or `describe`, the last one
 * first. Call `afterTests` in the file or `describe`, not in a hook.
 */
export function afterTests(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}

/**
 * Starts something once for all tests of a file or `describe`. Call `share` outside of hooks. The returned object
 * gets the members of the started object before the tests run.
 */
export function share<Started extends object>(
  start: (atEnd: (end: () => unknown) => void) => Promise<Started>,
): Started {
  const shared = {} as Started;
  const atEnd = afterTests();
  beforeAll(async () => {
    Object.assign(shared, await start(atEnd));
  });
  return shared;
}
