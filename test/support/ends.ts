/** Starts something once for all tests of a file or `describe`, and ends it after them. */
import { afterAll, beforeAll } from 'vitest';

export type AtEnd = (end: () => Promise<void>) => void;

/** Call it outside of hooks. The functions that the result registers are called after the tests, the last one first. */
export function afterTests(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}

/** Call it outside of hooks. The returned object gets the members of the started one before the tests run. */
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
