/** Reads the bodies of requests and sends those of responses, in bounded memory and time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '../http/refusal.js';
import type { ByteBudget, Release } from './byte-budget.js';
import type { Connection } from './connections.js';
import { TOO_MANY_REQUEST_BYTES } from './refusals.js';

/** The most memory for all requests that are long, arrive in parts or wait for earlier requests: 16 bodies of 1 MiB. */
export const MAX_UNANSWERED_REQUEST_BYTES = 16 * 2 ** 20;
/** If a client is still sending a refused body, its connection closes after this time. */
export const REFUSED_BODY_GRACE_MS = 2_000;
/** A body of at most this many bytes does not count if it arrives in one part. */
const MAX_UNCOUNTED = 16_384;
/** A body that arrives in parts gets a buffer of at least this many bytes. */
const MIN_CAPACITY = 4_096;

export interface ReadBody {
  /** Undefined for GET and HEAD, and for a refused body. */
  readonly body?: string;
  /** How many bytes arrived: more than the limit if the body was too large. */
  readonly bytes: number;
  /** Why the body cannot be used. Undefined if the body can be used, or is only too large: then see `bytes`. */
  readonly refusal?: Refusal | undefined;
  /** Whether a framework has decoded the body, so that `Content-Encoding` no longer describes it. */
  readonly isDecoded?: boolean;
  /** Whether reading ended while the client was still sending. */
  readonly isCutOff?: boolean;
  /** Releases the memory of a body that was long or arrived in parts. Call it once the request is answered. */
  readonly release?: Release | undefined;
}

/**
 * Reads the body into one buffer, so that a body in many small chunks takes at most twice its size, or 4 kB
 * if that is more. Bytes beyond the limit are read for a while and dropped: a client that is still sending
 * when the connection closes may never see the refusal.
 */
export function readBody(
  request: IncomingMessage,
  connection: Connection,
  { maxBodyBytes, budget }: { readonly maxBodyBytes: number; readonly budget: ByteBudget },
  done: (read: ReadBody) => void,
) {
  if (request.method === 'GET' || request.method === 'HEAD') return done({ bytes: 0 });
  /** The first chunk itself; from the second chunk on, a buffer with spare capacity. */
  let buffer: Buffer | undefined;
  let bytes = 0;
  let release: Release | undefined;
  let refusal: Refusal | undefined;
  let isDone = false;
  let grace: NodeJS.Timeout | undefined;

  function reserve(capacity: number): void {
    release?.();
    release = budget.reserve(connection, request, capacity, () => {
      if (isDone) return connection.cut('request_bytes');
      connection.onCut('request_bytes');
      refusal = TOO_MANY_REQUEST_BYTES;
      drop();
    });
  }

  function drop(): void {
    buffer = undefined;
    release?.();
    grace ??= setTimeout(() => {
      if (!request.destroyed) finish(true);
    }, REFUSED_BODY_GRACE_MS);
  }

  function finish(isCutOff: boolean): void {
    clearTimeout(grace);
    if (isDone) return;
    isDone = true;
    if (bytes > maxBodyBytes) done({ bytes, isCutOff });
    else if (refusal) done({ bytes, refusal, isCutOff });
    else done({ body: buffer?.toString('utf8', 0, bytes) ?? '', bytes, release });
    buffer = undefined;
  }

  request.on('data', (data: Buffer | string) => {
    // In another server, `setEncoding` can have been called before.
    const chunk = typeof data === 'string' ? Buffer.from(data, request.readableEncoding ?? 'utf8') : data;
    const before = bytes;
    bytes += chunk.byteLength;
    if (refusal) return;
    if (bytes > maxBodyBytes) drop();
    else if (!buffer) {
      buffer = chunk;
      // Most bodies arrive as one short chunk, and need no reservation.
      const isWhole = request.complete || Number(request.headers['content-length']) === bytes;
      if (isWhole && bytes <= MAX_UNCOUNTED) return;
      reserve(bytes);
      // Releases the memory if the request ends early. After `done`, the caller releases the memory.
      request.once('close', () => {
        if (!isDone) release?.();
      });
    } else {
      if (bytes > buffer.byteLength) {
        const capacity = Math.min(maxBodyBytes, Math.max(2 * bytes, MIN_CAPACITY));
        reserve(capacity);
        // The budget may have evicted this very body.
        if (refusal) return;
        const larger = Buffer.allocUnsafeSlow(capacity);
        buffer.copy(larger, 0, 0, before);
        buffer = larger;
      }
      chunk.copy(buffer, before);
    }
  });
  request.on('end', () => finish(false));
  // Another server can have paused the request before.
  request.resume();
}

/** A larger response is ended only when the system has accepted it: before, a stopping server could close it as idle. */
const ENDED_AT_ONCE_BYTES = 65_536;
/** If a client reads nothing of a response for this long (ms), its connection is cut, after twice this time at the latest. */
const STILL_FOR_MS = 30_000;
/** A client must read a response at this average rate or faster, with {@link STILL_FOR_MS} as extra time. */
const MIN_BYTES_PER_SECOND = 16_384;

/** Returns the length of the body. `budget` bounds all bodies that the operating system has not accepted yet. */
export function sendBody(
  connection: Connection,
  response: ServerResponse,
  parts: readonly Uint8Array[],
  budget: ByteBudget | undefined,
): number {
  const last = parts.length - 1;
  let bytes = 0;
  for (const part of parts) bytes += part.byteLength;
  for (let nth = 0; nth < last; nth++) response.write(parts[nth]);
  const isLarge = budget !== undefined && bytes > ENDED_AT_ONCE_BYTES;
  if (isLarge) response.write(parts[last], () => response.end());
  else response.end(parts[last]);
  if (!budget) return bytes;
  const watchIfUnsent = () => {
    if (response.writableLength === 0 || response.destroyed) return;
    const cutSlow = () => connection.cut('slow_reader');
    const allowedMs = STILL_FOR_MS + (1000 * response.writableLength) / MIN_BYTES_PER_SECOND;
    const deadline = setTimeout(cutSlow, allowedMs).unref();
    // Node calls `cutSlow` if, during this time, the socket receives nothing and its queue does not shrink.
    response.setTimeout(STILL_FOR_MS, cutSlow);
    // Prepended: it must run before the server's own listener, which sets the keep-alive timeout.
    response.prependOnceListener('finish', () => response.setTimeout(0));
    // Counts whole buffers: small bodies can share a buffer, which stays in memory until all of them are gone.
    const releases = parts.map(({ buffer }) =>
      budget.reserve(connection, buffer, buffer.byteLength, () => connection.cut('response_bytes')),
    );
    response.once('close', () => {
      clearTimeout(deadline);
      for (const release of releases) release();
    });
  };
  // Node writes the bytes of a large body later in this tick, together with the head.
  if (isLarge) setImmediate(watchIfUnsent);
  else watchIfUnsent();
  return bytes;
}
