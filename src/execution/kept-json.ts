/*
 * Kept JSON. What is frozen, such as the rows and lists of snapshots, is frozen all the way down, so it never changes.
 * Its JSON is kept with what else was read while it was written; where that is the same, a later operation with the same
 * selections gets the JSON in one piece. What is within kept JSON is not kept on its own.
 *
 * Two rules make this right: whatever is frozen is frozen with all that is in it, and resolvers read everything else
 * through the context, which tracks it.
 */
import type { Write } from './execution.js';

/** Counts the bytes of plans and of the JSON that they keep. When it is full, all of them begin anew. */
export interface Memory {
  /** Counts the JSON of rows that are gone, too. */
  bytes: number;
  readonly maxBytes: number;
}

/** Rough size of what is kept for a value beside its JSON. */
const BYTES_OF_ENTRY = 150;
/** One value takes at most this share of what may be kept. */
const MAX_SHARE = 1 / 4;

/** Keeps the JSON of the values that one place in a plan writes. */
export function kept(write: Write, memory: Memory): Write {
  /** By rows and lists, so that it goes with them. Made when it is needed: most plans are used once. */
  let known: WeakMap<object, { readonly json: string | Buffer; readonly reads: object }> | undefined;
  /** Set where JSON cannot be kept. What is within it is kept on its own from then on. */
  let isGivenUp = false;

  return (value, execution) => {
    const { tracker } = execution;
    const before = tracker && known?.get(value as object);
    if (before && tracker.repeat(before.reads)) {
      execution.append(before.json);
    } else if (!tracker || isGivenUp || memory.bytes > memory.maxBytes || !isFrozen(value)) {
      write(value, execution);
    } else {
      const { json, bytes, reads } = execution.track(tracker, write, value);
      execution.append(json);
      isGivenUp = !reads || bytes > memory.maxBytes * MAX_SHARE;
      if (!reads || isGivenUp) return;
      known ??= new WeakMap();
      known.set(value, { json, reads });
      memory.bytes += bytes + BYTES_OF_ENTRY;
    }
  };
}

function isFrozen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.isFrozen(value);
}
