/** Splits long background work into short steps, so that requests are served in between. */
import { setImmediate } from 'node:timers/promises';

/** The work on this many items takes a few milliseconds at most, with its garbage collection. */
const ITEMS_OF_STEP = 100;
/** Background work runs for this long before requests are served again (milliseconds). */
const YIELD_AFTER_MS = 4;

let yieldedAt = 0;

/** Lets the event loop serve requests, unless it last did so less than {@link YIELD_AFTER_MS} ago. */
export async function yieldToRequests(): Promise<void> {
  if (performance.now() - yieldedAt < YIELD_AFTER_MS) return;
  await setImmediate();
  yieldedAt = performance.now();
}

/** Calls the function with each item, and lets requests be served before every hundredth call. */
export async function forEachInSteps<Item>(
  items: Iterable<Item>,
  each: (item: Item, index: number) => void,
): Promise<void> {
  let index = 0;
  for (const item of items) {
    if (index % ITEMS_OF_STEP === 0) await yieldToRequests();
    each(item, index++);
  }
}

/** Lets requests be served, then calls the function. Use it for short work: to sort 10,000 rows takes 3 to 8 ms. */
export async function yieldThen<Result>(make: () => Result): Promise<Result> {
  await yieldToRequests();
  return make();
}
