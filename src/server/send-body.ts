import type { ServerResponse } from 'node:http';
import type { ByteBudget } from './byte-budget.js';
import type { Connection } from './connections.js';

/** Sends response bodies, and cuts off clients that do not read them. */
export interface BodySender {
  /** Ends the response with these bytes; its head has been written. */
  end(connection: Connection, response: ServerResponse, bytes: Uint8Array): void;
  /** Stops watching. */
  close(): void;
}

/**
 * A larger body ends its response when the system has taken it: a connection counts as idle as soon as its response
 * has ended, and is closed at a stop.
 */
const ENDED_AT_ONCE_BYTES = 65_536;
/** A client that takes nothing at all for so long is cut off, in milliseconds. */
const STILL_FOR_MS = 30_000;
/** How long nothing must have been taken before Node says so. */
const STILL_EVENT_MS = 5_000;
/** A client that takes less than this on the average is cut off: one byte now and then is no progress. */
const MIN_BYTES_PER_SECOND = 16_384;
const CHECK_EVERY_MS = 1_000;

interface Sending {
  readonly connection: Connection;
  /** When the last byte must have been taken (milliseconds of the process). */
  readonly until: number;
}

/**
 * Makes the sender.
 *
 * @param budget what bodies that the system has not taken yet may take in all
 */
export function createBodySender(budget: ByteBudget): BodySender {
  const unsent = new Set<Sending>();
  const checking = setInterval(() => {
    const now = performance.now();
    for (const { connection, until } of unsent) if (now > until) connection.cut('slow_reader');
  }, CHECK_EVERY_MS).unref();

  /** Watches a response that the system has not taken at once. */
  function watch(connection: Connection, response: ServerResponse, { buffer }: Uint8Array): void {
    const forMs = STILL_FOR_MS + (1000 * response.writableLength) / MIN_BYTES_PER_SECOND;
    const sending: Sending = { connection, until: performance.now() + forMs };
    unsent.add(sending);
    // Small bodies can share one buffer, which is in memory as long as one of them.
    const cut = () => connection.cut('response_bytes');
    const hold = connection.hold(budget, buffer, buffer.byteLength, cut);
    cutWhenStill(connection, response);
    response.once('close', () => {
      unsent.delete(sending);
      hold.release();
    });
  }

  return {
    end(connection, response, bytes) {
      const watchIfUnsent = () => {
        if (response.writableLength > 0 && !response.destroyed) watch(connection, response, bytes);
      };
      if (bytes.byteLength > ENDED_AT_ONCE_BYTES) {
        response.write(bytes, () => response.end());
        // Node passes it on later in this turn, together with the head.
        setImmediate(watchIfUnsent);
      } else {
        response.end(bytes);
        watchIfUnsent();
      }
    },
    close: () => clearInterval(checking),
  };
}

/**
 * Cuts off a client that takes nothing. Node's timeout event comes when a socket has neither received anything nor
 * written any part of what is queued, and then not again unless the timeout is set again.
 */
function cutWhenStill(connection: Connection, response: ServerResponse): void {
  let stillSince = performance.now();
  let saidAt = stillSince;
  response.on('timeout', () => {
    const now = performance.now();
    // No event for longer than one timeout means that there was progress in between.
    if (now - saidAt > 1.5 * STILL_EVENT_MS) stillSince = now - STILL_EVENT_MS;
    saidAt = now;
    if (now - stillSince >= STILL_FOR_MS) connection.cut('slow_reader');
    else response.setTimeout(STILL_EVENT_MS);
  });
  response.setTimeout(STILL_EVENT_MS);
  // Before the server's own listener, which sets the timeout of idle connections.
  response.prependOnceListener('finish', () => response.setTimeout(0));
}
