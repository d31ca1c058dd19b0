/** Recognises texts that come again: only those are worth a place in a cache. */
export interface Doorkeeper {
  /** Whether this text has come before, lately. A few texts that have not are taken for others that have. */
  hasSeen(text: string): boolean;
}

/** A power of two. */
const SLOTS = 16_384;
/** To read all of a long text would cost more than to answer it. */
const MAX_READ = 1_024;

/** Makes a doorkeeper that has seen nothing. It takes 64 kB, however many texts come. */
export function createDoorkeeper(): Doorkeeper {
  const hashes = new Uint32Array(SLOTS);
  return {
    hasSeen(text) {
      const hash = hashOf(text);
      const slot = hash & (SLOTS - 1);
      const isKnown = hashes[slot] === hash;
      hashes[slot] = hash;
      return isKnown;
    },
  };
}

/**
 * FNV-1a, over the length and the code units, or over so many of them, evenly spread from the last one on. Never 0,
 * which stands for an empty slot.
 */
function hashOf(text: string): number {
  const step = Math.ceil(text.length / MAX_READ);
  let hash = 0x811c9dc5 ^ text.length;
  for (let index = text.length - 1; index >= 0; index -= step) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0 || 1;
}
