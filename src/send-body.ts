import type { ServerResponse } from 'node:http';
import type { ByteBudget, Hold } from './byte-budget.js';
import type { Connection } from './connections.js';

/** Sends response bodies, and cuts off clients that do not read them. */
export interface BodySender {
  /** Ends the response with these bytes; its head has been written. */
  end(connection: Connection, response: ServerResponse, bytes: Uint8Array): void;
  /** Stops watching. */
  close(): void;
}

/**
 * A body is sent in pieces of this size, and the next piece when the system has taken the last: so progress shows,
 * and a connection does not count as idle, and is not closed at a stop, before all is sent.
 */
const PIECE_BYTES = 65_536;
/** A client has so long for each piece, in milliseconds. */
const PIECE_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 1_000;

interface Sending {
  readonly connection: Connection;
  progressAt: number;
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
    for (const { connection, progressAt } of unsent) {
      if (now - progressAt > PIECE_WITHIN_MS) connection.cut('slow_reader');
    }
  }, CHECK_EVERY_MS).unref();

  function watch(connection: Connection, response: ServerResponse, { buffer }: Uint8Array): Sending {
    const sending: Sending = { connection, progressAt: performance.now() };
    unsent.add(sending);
    // Small bodies can share one buffer, which is in memory as long as one of them.
    const hold: Hold = connection.hold(budget, buffer, buffer.byteLength, () =>
      connection.cut('response_bytes'),
    );
    response.once('close', () => {
      unsent.delete(sending);
      hold.release();
    });
    return sending;
  }

  function endInPieces(response: ServerResponse, bytes: Uint8Array, sending: Sending, from: number): void {
    const to = from + PIECE_BYTES;
    response.write(bytes.subarray(from, to), (error) => {
      if (error) return;
      sending.progressAt = performance.now();
      if (to < bytes.byteLength) endInPieces(response, bytes, sending, to);
      else response.end();
    });
  }

  return {
    end(connection, response, bytes) {
      if (bytes.byteLength > PIECE_BYTES) {
        endInPieces(response, bytes, watch(connection, response, bytes), 0);
        return;
      }
      response.end(bytes);
      // Mostly the system has taken them by now.
      if (response.writableLength > 0 && !response.closed) watch(connection, response, bytes);
    },
    close: () => clearInterval(checking),
  };
}
