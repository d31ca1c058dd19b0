/** Sorts in steps, so that requests are answered in between. */
import { yieldToRequests } from '../scheduling/chunks.js';

/** Items that are sorted in one step, in less than a millisecond. */
const RUN = 512;
/** Items that are merged in one step. */
const STEP_ITEMS = 2048;

/**
 * A stable merge sort in steps. The built-in sort of 100,000 items blocks for hundreds of milliseconds.
 *
 * @returns the numbers from 0 to `count` - 1 in their order
 */
export async function sortInSteps(
  count: number,
  compare: (a: number, b: number) => number,
): Promise<Uint32Array> {
  let from = Uint32Array.from({ length: count }, (_, item) => item);
  for (let start = 0; start < count; start += RUN) {
    from.subarray(start, start + RUN).sort(compare);
    await yieldToRequests();
  }
  let to = new Uint32Array(count);
  for (let width = RUN; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      await mergeInSteps(
        from,
        to,
        start,
        Math.min(start + width, count),
        Math.min(start + 2 * width, count),
        compare,
      );
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two neighbouring sorted runs. */
async function mergeInSteps(
  from: Uint32Array,
  to: Uint32Array,
  start: number,
  middle: number,
  end: number,
  compare: (a: number, b: number) => number,
): Promise<void> {
  let left = start;
  let right = middle;
  for (let index = start; index < end; index++) {
    const isLeft = right >= end || (left < middle && compare(from[left] ?? 0, from[right] ?? 0) <= 0);
    to[index] = from[isLeft ? left++ : right++] ?? 0;
    if (index % STEP_ITEMS === 0) await yieldToRequests();
  }
}
