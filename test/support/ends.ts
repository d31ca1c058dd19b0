import { afterAll } from 'vitest';

/** Calls functions after the tests of a file or of a `describe`, the last one first. Call it there, not in a hook. */
export function afterTests(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}
