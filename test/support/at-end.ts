import { afterAll } from 'vitest';

/** Calls functions after all tests of a file, the last one first. To be called at the top of the file. */
export function afterAllTests(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}
