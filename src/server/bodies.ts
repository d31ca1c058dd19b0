/** Reads the bodies of requests and sends those of responses, in bounded memory and time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ByteBudget, Release } from './byte-budget.js';
import type { Connection } from './connections.js';
import { type ServerRefusal, TOO_MANY_REQUEST_BYTES } from './refusals.js';

/** The memory for all requests that arrived in parts, or that wait for earlier ones of their connection. */
export const MAX_UNANSWERED_REQUEST_BYTES = 32 * 2 ** 20;
/** How long a client may go on sending a refused body before its connection closes. */
export const REFUSED_BODY_GRACE_MS = 2_000;
/** The smallest buffer for a body that arrives in parts, in bytes. */
const MIN_CAPACITY = 4_096;

/** The result of reading a request body. */
export interface ReadBody {
  /** Undefined for GET and HEAD, and for a refused body. */
  readonly body?: string;
  /** How many bytes arrived: more than the limit if the body was too large. */
  readonly bytes: number;
  /** Why the body cannot be used, unless it is too large. */
  readonly refusal?: ServerRefusal | undefined;
  /** Whether a framework has decoded the body, so that `Content-Encoding` no longer describes it. */
  readonly isDecoded?: boolean;
  /** Whether reading ended while the client was still sending. */
  readonly isCutOff?: boolean;
  /** Releases the memory of a body that arrived in parts. Call it once the request is answered. */
  readonly release?: Release | undefined;
}

export interface BodyLimits {
  /** A larger body is dropped. */
  readonly maxBodyBytes: number;
  /** The shared budget of {@link MAX_UNANSWERED_REQUEST_BYTES}. */
  readonly budget: ByteBudget;
}

/**
 * Reads the body up to the limit into one buffer. So even a body in many small chunks takes at most twice its size (or
 * 4 kB). Bytes beyond the limit are read for a while and dropped: a client that is still sending when the connection
 * closes would never see the refusal.
 */
export function readBody(
  request: IncomingMessage,
  connection: Pick<Connection, 'reserve' | 'cut' | 'onCut'>,
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
  let release: Release | undefined;
  let refusal: ServerRefusal | undefined;
  let isDone = false;
  let grace: NodeJS.Timeout | undefined;

  function reserve(capacity: number): void {
    release?.();
    release = connection.reserve(budget, request, capacity, () => {
      refusal = TOO_MANY_REQUEST_BYTES;
      if (isDone) connection.cut('request_bytes');
      else {
        connection.onCut('request_bytes');
        drop();
      }
    });
  }

  /** Drops the bytes that have arrived, and all further ones. */
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
  }

  request.on('data', (chunk: Buffer) => {
    const before = bytes;
    bytes += chunk.byteLength;
    if (refusal) return;
    if (bytes > maxBodyBytes) drop();
    else if (!buffer) {
      buffer = chunk;
      // Most bodies arrive as one chunk, and need no reservation.
      if (request.complete || Number(request.headers['content-length']) === bytes) return;
      reserve(bytes);
      // Releases the memory if the request ends early. After `done`, the receiver of the body releases it.
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
}

/**
 * A response with a larger body ends only after the system has accepted all bytes. If the response ended earlier, its
 * connection would count as idle, and a stop of the gateway would close the connection.
 */
const ENDED_AT_ONCE_BYTES = 65_536;
/** A connection is cut after its client has read nothing for this long, or for up to twice as long (milliseconds). */
const STILL_FOR_MS = 30_000;
/** A client that reads more slowly on average is cut off: an attacker could read one byte now and then. */
const MIN_BYTES_PER_SECOND = 16_384;

/**
 * Ends a response, whose head was written before, with this body. Cuts the connection if the client does not read.
 *
 * @param budget for all bodies that the system has not accepted yet; undefined: they are not bounded
 * @returns the length of the body
 */
export function sendBody(
  connection: Connection,
  response: ServerResponse,
  parts: readonly Uint8Array[],
  budget: ByteBudget | undefined,
): number {
  const last = parts.length - 1;
  let bytes = 0;
  for (let nth = 0; nth <= last; nth++) {
    const part = parts[nth] as Uint8Array;
    bytes += part.byteLength;
    if (nth < last) response.write(part);
  }
  const isLarge = budget !== undefined && bytes > ENDED_AT_ONCE_BYTES;
  if (isLarge) response.write(parts[last], () => response.end());
  else response.end(parts[last]);
  if (!budget) return bytes;
  const watchIfUnsent = () => {
    if (response.writableLength > 0 && !response.destroyed) watch(connection, response, parts, budget);
  };
  // Node writes the bytes of a large body later in this tick, together with the head.
  if (isLarge) setImmediate(watchIfUnsent);
  else watchIfUnsent();
  return bytes;
}

/** Watches a response that the system did not accept at once, and cuts its connection if the client does not read. */
function watch(
  connection: Connection,
  response: ServerResponse,
  parts: readonly Uint8Array[],
  budget: ByteBudget,
): void {
  const cutSlow = () => connection.cut('slow_reader');
  const allowedMs = STILL_FOR_MS + (1000 * response.writableLength) / MIN_BYTES_PER_SECOND;
  const deadline = setTimeout(cutSlow, allowedMs).unref();
  // This timeout of Node fires if the socket has neither received anything nor written any part of its queue.
  response.setTimeout(STILL_FOR_MS, cutSlow);
  // Prepended: it must run before the server's own listener, which sets the keep-alive timeout.
  response.prependOnceListener('finish', () => response.setTimeout(0));
  // Counts whole buffers: small bodies can share a buffer, which stays in memory until all of them are gone.
  const releases = parts.map(({ buffer }) =>
    connection.reserve(budget, buffer, buffer.byteLength, () => connection.cut('response_bytes')),
  );
  response.once('close', () => {
    clearTimeout(deadline);
    for (const release of releases) release();
  });
}
