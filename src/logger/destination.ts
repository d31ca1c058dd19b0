import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import pino, { type DestinationStream } from 'pino';

/** Where the lines of the log go. */
export interface LogDestination extends DestinationStream {
  /** Gives the lines so far to the system, as many as it takes at once. For the end of a process. */
  flushNow(): void;
  /** Resolves when all lines so far have been read, or after this time. */
  flush(withinMs: number): Promise<void>;
}

export interface LogDestinationOptions {
  /** Called with each line that is dropped. */
  readonly onDrop: () => void;
  /** Of lines that nobody has read yet, in characters; 4 Mi unless given. */
  readonly maxPending?: number;
}

const MAX_PENDING = 4 * 2 ** 20;

/**
 * Opens a destination that never makes the process wait: while nobody reads the lines, they wait in a bounded buffer,
 * and further ones are dropped. A regular file is written to at once: it has no reader that could sleep.
 *
 * Not with the asynchronous writes of `node:fs`, which pino offers: one that blocks occupies a thread, and a process
 * with such a thread cannot exit.
 *
 * @param fd a file descriptor, such as 1 for standard output
 */
export function openLogDestination(fd: number, options: LogDestinationOptions): LogDestination {
  const kind = fstatSync(fd);
  if (kind.isFIFO() || kind.isSocket()) return createPipe(kind.isFIFO() ? ownPipe(fd) : fd, options);
  const file = pino.destination({ dest: fd, sync: true });
  return { write: (line) => file.write(line), flushNow() {}, async flush() {} };
}

/**
 * The same pipe, opened once more: a non-blocking mode would otherwise also apply to other processes that write to it.
 */
function ownPipe(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not Linux.
    return fd;
  }
}

function createPipe(fd: number, { onDrop, maxPending = MAX_PENDING }: LogDestinationOptions): LogDestination {
  const socket = new Socket({ fd, readable: false, writable: true });
  // The reader has gone. Nothing is left to be done, and the log is the place to say so.
  socket.on('error', () => {});
  let lines = '';

  function flushNow(): void {
    if (lines === '' || socket.destroyed) return;
    const batch = lines;
    lines = '';
    socket.write(batch);
  }

  return {
    write(line) {
      if (socket.destroyed || socket.writableLength + lines.length + line.length > maxPending) {
        onDrop();
        return;
      }
      // The lines of one turn of the event loop are written together.
      if (lines === '') setImmediate(flushNow);
      lines += line;
    },
    flushNow,
    async flush(withinMs) {
      flushNow();
      if (socket.destroyed || socket.writableLength === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        socket.write('', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
  };
}
