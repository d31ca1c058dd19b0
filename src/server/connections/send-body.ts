import type { ServerResponse } from 'node:http';
import { totalBytes } from '../../http/total-bytes.js';
import type { ByteBudget } from './byte-budget.js';
import type { Connection } from './connections.js';

/** Sends response bodies, and cuts connections that do not read them. */
export interface BodySender {
  /** Ends the response with this body; its head has been written. */
  end(connection: Connection, response: ServerResponse, parts: readonly Uint8Array[]): void;
  /** Stops watching. */
  close(): void;
}

/**
 * The response of a larger body ends only after the system has accepted all bytes. A connection counts as idle as
 * soon as its response has ended, and a stop closes idle connections.
 */
const ENDED_AT_ONCE_BYTES = 65_536;
/** A connection that reads nothing for this long is cut. */
const STILL_FOR_MS = 30_000;
/** How long a socket must make no progress before Node emits its timeout event. */
const STILL_EVENT_MS = 5_000;
/** A connection that reads more slowly than this on average is cut: one byte now and then is no progress. */
const MIN_BYTES_PER_SECOND = 16_384;
const CHECK_EVERY_MS = 1_000;

/** @param budget for all bodies that the system has not accepted yet */
export function createBodySender(budget: ByteBudget): BodySender {
  /** When each client must have read everything, by `performance.now()`. A connection sends one response at a time. */
  const deadlines = new Map<Connection, number>();
  const checking = setInterval(() => {
    const now = performance.now();
    for (const [connection, deadline] of deadlines) if (now > deadline) connection.cut('slow_reader');
  }, CHECK_EVERY_MS).unref();

  /** Watches a response that the system did not accept at once. */
  function watch(connection: Connection, response: ServerResponse, parts: readonly Uint8Array[]): void {
    const allowedMs = STILL_FOR_MS + (1000 * response.writableLength) / MIN_BYTES_PER_SECOND;
    deadlines.set(connection, performance.now() + allowedMs);
    // Whole buffers count: small bodies can share one, which stays in memory until all of them are gone.
    const reservations = parts.map(({ buffer }) =>
      connection.reserve(budget, buffer, buffer.byteLength, () => connection.cut('response_bytes')),
    );
    cutWhenStill(connection, response);
    response.once('close', () => {
      deadlines.delete(connection);
      for (const { release } of reservations) release();
    });
  }

  return {
    end(connection, response, parts) {
      const watchIfUnsent = () => {
        if (response.writableLength > 0 && !response.destroyed) watch(connection, response, parts);
      };
      const last = parts.at(-1);
      // Most bodies have one part: they need no copy of the list.
      if (parts.length > 1) for (const part of parts.slice(0, -1)) response.write(part);
      if (totalBytes(parts) > ENDED_AT_ONCE_BYTES) {
        response.write(last, () => response.end());
        // Node passes the bytes on later in this turn, together with the head.
        setImmediate(watchIfUnsent);
      } else {
        response.end(last);
        watchIfUnsent();
      }
    },
    close: () => clearInterval(checking),
  };
}

/**
 * Cuts a connection that reads nothing. Node emits the timeout event when a socket has neither received anything nor
 * written any part of its queue, and only again after the timeout was set again.
 */
function cutWhenStill(connection: Connection, response: ServerResponse): void {
  let stillSince = performance.now();
  let lastEventAt = stillSince;
  response.on('timeout', () => {
    const now = performance.now();
    // A longer time between two events means progress in between.
    if (now - lastEventAt > 1.5 * STILL_EVENT_MS) stillSince = now - STILL_EVENT_MS;
    lastEventAt = now;
    if (now - stillSince >= STILL_FOR_MS) connection.cut('slow_reader');
    else response.setTimeout(STILL_EVENT_MS);
  });
  response.setTimeout(STILL_EVENT_MS);
  // Must run before the server's own listener, which sets the keep-alive timeout.
  response.prependOnceListener('finish', () => response.setTimeout(0));
}
