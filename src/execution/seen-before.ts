/** Recognises repeated texts: only these are worth caching. */
import { crc32 } from 'node:zlib';

/** At most this many texts are remembered, in 64 kB. The number must be a power of two. */
const SLOTS = 16_384;

/** The function tells whether it was called with a text before. It forgets old texts. Rarely, it is true for a new one. */
export function createSeenBefore(): (text: string) => boolean {
  const digests = new Uint32Array(SLOTS);
  return (text) => {
    // 0 stands for an empty slot.
    const digest = crc32(text) || 1;
    const slot = digest & (SLOTS - 1);
    const isKnown = digests[slot] === digest;
    digests[slot] = digest;
    return isKnown;
  };
}
