import type { IncomingMessage } from 'node:http';
import type { ByteBudget, Hold } from './byte-budget.js';
import type { Connection } from './connections.js';

/** How long a client whose body is refused may go on sending before it is cut off. */
const REFUSED_BODY_GRACE_MS = 2_000;
/** A length that a client declares is believed up to here: memory is taken for bytes that have come. */
const BELIEVED_BYTES = 65_536;
const MIN_CAPACITY = 4_096;

/** What was read of a request. */
export interface ReadBody {
  readonly body?: string;
  /** How many bytes came, where they were too many. */
  readonly bytesOverLimit?: number;
  /** Whether it was refused because the unfinished bodies of all connections took too much memory. */
  readonly isOverloaded?: boolean;
  /** Whether more of them were still coming. */
  readonly isCutOff?: boolean;
  /** The memory that is counted for it, where it came in parts; to be released when it is answered. */
  readonly hold?: Hold | undefined;
}

/** What bodies may take. */
export interface BodyLimits {
  /** A body is read no further than this. */
  readonly maxBodyBytes: number;
  /** What bodies that came in parts may take in all, while they are read and answered. */
  readonly budget: ByteBudget;
}

/**
 * Reads the body up to the limit, into one buffer: a body in many small chunks takes no more memory than one in
 * large chunks, at most twice its size. What is beyond the limit is let go by for a while, since a client that is
 * still sending when the connection closes never gets to read why it was refused.
 */
export function readBody(
  request: IncomingMessage,
  connection: Connection,
  { maxBodyBytes, budget }: BodyLimits,
  done: (read: ReadBody) => void,
): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    done({});
    return;
  }
  /** The first chunk as it came, or else a buffer with room for more. */
  let buffer: Buffer | undefined;
  let bytes = 0;
  let hold: Hold | undefined;
  let isDone = false;
  let isOverloaded = false;
  let grace: NodeJS.Timeout | undefined;
  request.on('data', (chunk: Buffer) => {
    const before = bytes;
    bytes += chunk.byteLength;
    if (isOverloaded) return;
    if (bytes > maxBodyBytes) refuse();
    else if (!buffer) {
      buffer = chunk;
      if (!isWhole(request, bytes)) count(chunk);
    } else append(chunk, before, buffer);
  });
  request.on('end', finish);

  function append(chunk: Buffer, before: number, present: Buffer): void {
    if (bytes > present.byteLength) {
      hold?.resize(capacityFor(bytes));
      // The budget may have refused this very body.
      if (isOverloaded) return;
      buffer = Buffer.allocUnsafeSlow(capacityFor(bytes));
      present.copy(buffer, 0, 0, before);
    }
    if (buffer) chunk.copy(buffer, before);
  }

  function capacityFor(needed: number): number {
    const declared = Number(request.headers['content-length']);
    const expected = declared >= needed && declared <= BELIEVED_BYTES ? declared : 0;
    return Math.min(maxBodyBytes, Math.max(expected || 2 * needed, expected ? 0 : MIN_CAPACITY));
  }

  function count(chunk: Buffer): void {
    hold = connection.hold(budget, request, chunk.byteLength, () => {
      isOverloaded = true;
      if (isDone) connection.cut('request_bytes');
      else refuse();
    });
    // A connection that closes takes the hold with it; this is for a request that is given up on its own.
    request.once('close', () => {
      if (!isDone) hold?.release();
    });
  }

  /** Forgets what has come, and lets the rest go by. */
  function refuse(): void {
    buffer = undefined;
    hold?.release();
    grace ??= setTimeout(cutOff, REFUSED_BODY_GRACE_MS);
  }

  function finish(): void {
    clearTimeout(grace);
    isDone = true;
    if (bytes > maxBodyBytes) done({ bytesOverLimit: bytes });
    else if (isOverloaded) done({ isOverloaded });
    else done({ body: buffer?.toString('utf8', 0, bytes) ?? '', hold });
  }

  function cutOff(): void {
    request.off('end', finish);
    isDone = true;
    if (request.destroyed) return;
    done({ ...(bytes > maxBodyBytes ? { bytesOverLimit: bytes } : { isOverloaded }), isCutOff: true });
  }
}

/** Whether nothing more of the body will come: most bodies come in one piece, and cost nothing extra. */
function isWhole(request: IncomingMessage, bytes: number): boolean {
  return request.complete || Number(request.headers['content-length']) === bytes;
}
