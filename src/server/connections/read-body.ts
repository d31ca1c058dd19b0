import type { IncomingMessage } from 'node:http';
import type { ByteBudget, Reservation } from './byte-budget.js';
import type { Connection } from './connections.js';

/** How long a client may go on sending a refused body before its connection closes. */
const REFUSED_BODY_GRACE_MS = 2_000;
/** A declared length is trusted up to here. Beyond it, memory is only allocated for bytes that have arrived. */
const BELIEVED_BYTES = 65_536;
const MIN_CAPACITY = 4_096;

/** The result of reading a request body. */
export interface ReadBody {
  /** Undefined for GET and HEAD, and for a refused body. */
  readonly body?: string;
  /** How many bytes arrived: more than the limit if the body was too large. */
  readonly bytes: number;
  /** Whether it was refused because the unfinished bodies of all connections took too much memory. */
  readonly isOverloaded?: boolean;
  /** Whether the client was still sending. */
  readonly isCutOff?: boolean;
  /** Memory of a body that arrived in parts; to be released once the request is answered. */
  readonly reservation?: Reservation | undefined;
}

export interface BodyLimits {
  /** A larger body is dropped. */
  readonly maxBodyBytes: number;
  /** For all bodies that arrived in parts, until their requests are answered. */
  readonly budget: ByteBudget;
}

/**
 * Reads the body up to the limit into one buffer, so that many small chunks take no more memory than a few large
 * ones: at most twice the size of the body. Bytes beyond the limit are read for a while and dropped: a client that
 * is still sending when the connection closes never sees why it was refused.
 */
export function readBody(
  request: IncomingMessage,
  connection: Pick<Connection, 'reserve' | 'cut'>,
  { maxBodyBytes, budget }: BodyLimits,
  done: (read: ReadBody) => void,
): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    done({ bytes: 0 });
    return;
  }
  /** The first chunk itself, or after the second one a buffer with spare capacity. */
  let buffer: Buffer | undefined;
  let bytes = 0;
  let reservation: Reservation | undefined;
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
      if (!isComplete(request, bytes)) reserve(chunk);
    } else append(chunk, before, buffer);
  });
  request.on('end', finish);

  function append(chunk: Buffer, before: number, present: Buffer): void {
    if (bytes > present.byteLength) {
      reservation?.resize(capacityFor(bytes));
      // The budget may have evicted this very body.
      if (isOverloaded) return;
      buffer = Buffer.allocUnsafeSlow(capacityFor(bytes));
      present.copy(buffer, 0, 0, before);
    }
    if (buffer) chunk.copy(buffer, before);
  }

  function capacityFor(needed: number): number {
    const declared = Number(request.headers['content-length']);
    const isBelieved = declared >= needed && declared <= BELIEVED_BYTES;
    return Math.min(maxBodyBytes, isBelieved ? declared : Math.max(2 * needed, MIN_CAPACITY));
  }

  function reserve(chunk: Buffer): void {
    reservation = connection.reserve(budget, request, chunk.byteLength, () => {
      isOverloaded = true;
      if (isDone) connection.cut('request_bytes');
      else refuse();
    });
    // For a request that ends early. The end of the connection releases it, too.
    request.once('close', () => {
      if (!isDone) reservation?.release();
    });
  }

  /** Drops the bytes that have arrived, and those to come. */
  function refuse(): void {
    buffer = undefined;
    reservation?.release();
    grace ??= setTimeout(cutOff, REFUSED_BODY_GRACE_MS);
  }

  function finish(): void {
    clearTimeout(grace);
    isDone = true;
    if (bytes > maxBodyBytes || isOverloaded) done({ bytes, isOverloaded: bytes <= maxBodyBytes });
    else done({ body: buffer?.toString('utf8', 0, bytes) ?? '', bytes, reservation });
  }

  function cutOff(): void {
    request.off('end', finish);
    isDone = true;
    if (request.destroyed) return;
    done({ bytes, isOverloaded: bytes <= maxBodyBytes, isCutOff: true });
  }
}

/** Whether this was the last chunk. Most bodies arrive as one chunk, and need no reservation. */
function isComplete(request: IncomingMessage, bytes: number): boolean {
  return request.complete || Number(request.headers['content-length']) === bytes;
}
