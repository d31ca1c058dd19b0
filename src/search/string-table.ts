import type { Steps } from '../scheduling/chunks.js';

/** Finds items by a string of theirs. It holds the strings' hashes only, so a caller compares what is found. */
export interface StringTable {
  /** The items whose string may be this one, and those with the same hash. */
  candidates(text: string): Iterable<number>;
}

const STEP_ITEMS = 512;

/** A hash table of chains. @param textOf the string of the item with this number, from 0 to `count` - 1 */
export function* stringTableSteps(count: number, textOf: (item: number) => string): Steps<StringTable> {
  const mask = 2 ** Math.ceil(Math.log2(count + 1)) - 1;
  /** Items plus one, so that zero is none. */
  const heads = new Uint32Array(mask + 1);
  const next = new Uint32Array(count);
  // From the last to the first, so that the items of a chain ascend.
  for (let item = count - 1; item >= 0; item--) {
    const slot = hashOf(textOf(item)) & mask;
    next[item] = heads[slot] ?? 0;
    heads[slot] = item + 1;
    if (item % STEP_ITEMS === 0) yield;
  }
  return {
    *candidates(text) {
      for (let link = heads[hashOf(text) & mask] ?? 0; link !== 0; link = next[link - 1] ?? 0) yield link - 1;
    },
  };
}

/** FNV-1a over code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
