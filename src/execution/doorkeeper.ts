/** Recognises texts that come again: only those are worth a place in a cache. */
export interface Doorkeeper {
  /** Whether this text has come before, lately. A few texts that have not are taken for others that have. */
  hasSeen(text: string): boolean;
}

/** A power of two. */
const SLOTS = 16_384;

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

/** FNV-1a, over the code units. Never 0, which stands for an empty slot. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0 || 1;
}
