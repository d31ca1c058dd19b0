import { setImmediate } from 'node:timers/promises';

/** So many rows take a few milliseconds at most, whatever is done with each. */
const SLICE_ROWS = 250;

/** Goes through rows a slice at a time, and lets requests have their turn in between. */
export async function forEachSlice<Row>(
  rows: readonly Row[],
  each: (slice: readonly Row[], offset: number) => void,
): Promise<void> {
  for (let offset = 0; offset < rows.length; offset += SLICE_ROWS) {
    await setImmediate();
    each(rows.slice(offset, offset + SLICE_ROWS), offset);
  }
}

/** Does one step after the other, and lets requests have their turn before each. */
export async function step<Made>(make: () => Made): Promise<Made> {
  await setImmediate();
  return make();
}
