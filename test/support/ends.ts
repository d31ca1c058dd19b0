import { afterAll } from 'vitest';

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
