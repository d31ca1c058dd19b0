import type { RedisLink } from './link.js';
import { APPEND } from './scripts.js';

/** One piece is copied at once, which takes less than a millisecond. */
const PIECE_BYTES = 262_144;
/** An upload that is not used expires after this. */
const KEEP_MS = 60_000;

/**
 * Uploads a text to a key of its own, in pieces. ioredis copies each command before it is sent, and to copy a listing
 * of 100,000 rows would block requests for 50 ms.
 *
 * @returns false if Redis is not available
 */
export async function upload(run: RedisLink['run'], key: string, parts: readonly Buffer[]): Promise<boolean> {
  for (const piece of piecesOf(parts)) {
    if ((await run(APPEND, [key], [piece, KEEP_MS])) === undefined) return false;
  }
  return true;
}

function* piecesOf(parts: readonly Buffer[]): Generator<Buffer> {
  let collected: Buffer[] = [];
  let bytes = 0;
  for (const part of parts) {
    collected.push(part);
    bytes += part.length;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(collected);
    collected = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(collected);
}
