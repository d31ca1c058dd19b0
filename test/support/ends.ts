import { afterAll } from 'vitest';

/**
 * Ends what the tests of a file or of a `describe` share. Call it there, and not in a hook, where vitest ignores it.
 *
 * @returns registers a function that is called after the tests, the last one first
 */
export function afterTests(): (end: () => Promise<void>) => void {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => ends.push(end);
}
