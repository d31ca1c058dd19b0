import { setImmediate } from 'node:timers/promises';

/** So many rows take a few milliseconds at most, whatever is done with each, and with the garbage that it makes. */
const SLICE_ROWS = 100;
/** Merging takes less than sorting. */
const MERGED_ROWS = 4_000;

/** For so long requests wait at most, but for the slice or the step that is under way (milliseconds). */
const TURN_MS = 4;
let turnBegan = 0;

/** Lets requests have their turn, unless they have just had it. */
async function yieldToRequests(): Promise<void> {
  if (performance.now() - turnBegan < TURN_MS) return;
  await setImmediate();
  turnBegan = performance.now();
}

/** Goes through rows a slice at a time, and lets requests have their turn in between. */
export async function forEachChunk<Row>(
  rows: readonly Row[],
  each: (slice: readonly Row[], offset: number) => void,
): Promise<void> {
  for (let offset = 0; offset < rows.length; offset += SLICE_ROWS) {
    await yieldToRequests();
    each(rows.slice(offset, offset + SLICE_ROWS), offset);
  }
}

/** Does one step after the other, and lets requests have their turn before each. */
export async function yieldThen<Made>(make: () => Made): Promise<Made> {
  await yieldToRequests();
  return make();
}

/**
 * Puts the numbers from 0 on in order, a slice at a time.
 *
 * @param compare less than 0 where the first comes before the second; never 0 for two that differ
 */
export async function sortInSlices(
  count: number,
  compare: (a: number, b: number) => number,
): Promise<Uint32Array> {
  let sorted = new Uint32Array(count).map((_zero, number) => number);
  await forEachChunk(Array.from(sorted), (slice, offset) => {
    sorted.subarray(offset, offset + slice.length).sort(compare);
  });
  for (let width = SLICE_ROWS; width < count; width *= 2) {
    const merged = new Uint32Array(count);
    let merges = 0;
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(start + 2 * width, count);
      merges += end - start;
      if (merges > MERGED_ROWS) {
        await yieldToRequests();
        merges = 0;
      }
      merge(
        sorted.subarray(start, middle),
        sorted.subarray(middle, end),
        merged.subarray(start, end),
        compare,
      );
    }
    sorted = merged;
  }
  return sorted;
}

function merge(
  left: Uint32Array,
  right: Uint32Array,
  into: Uint32Array,
  compare: (a: number, b: number) => number,
): void {
  let fromLeft = 0;
  let fromRight = 0;
  for (let place = 0; place < into.length; place++) {
    const a = left[fromLeft];
    const b = right[fromRight];
    const isLeft = a !== undefined && (b === undefined || compare(a, b) < 0);
    into[place] = (isLeft ? a : b) ?? 0;
    if (isLeft) fromLeft++;
    else fromRight++;
  }
}
