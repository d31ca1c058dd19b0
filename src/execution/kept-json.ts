/**
 * Kept JSON. Rows and lists of snapshots are frozen and never change, so their JSON is kept, with a list of everything
 * else that was read to write it. A later operation with the same selections uses the JSON if it would read equal data.
 * This is correct by two rules: a frozen value is frozen with everything in it, and resolvers read everything else
 * through the context, which tracks it.
 */
import type { Write } from './execution.js';

/** Counts the bytes of plans and of their kept JSON. Beyond `maxBytes` all plans are dropped. */
export interface Memory {
  /** Includes kept JSON of rows that no longer exist. */
  bytes: number;
  readonly maxBytes: number;
}

/** Estimated bytes that are kept for a value besides its JSON. */
const BYTES_OF_ENTRY = 150;
/** A value whose JSON takes more than this share of `maxBytes` is not kept as a whole. */
const MAX_SHARE = 1 / 4;

/** Wraps a function that writes the values of one field, so that their JSON is kept. */
export function kept(write: Write, memory: Memory): Write {
  /** The kept JSON of rows and lists, freed with them. The map is made when needed: most plans are used only once. */
  let known: WeakMap<object, { readonly json: string | Buffer; readonly reads: object }> | undefined;
  /** True once JSON of this field could not be kept, or was too large. Then only values inside are kept. */
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
