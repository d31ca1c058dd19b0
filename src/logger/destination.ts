/** Writes the lines of the log. A slow reader of a pipe or socket does not block the process. */
import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino, { type DestinationStream } from 'pino';

export interface LogDestination extends DestinationStream {
  /** Call it at the end of the process. */
  flushNow(): void;
  /** Resolves when the system has accepted all lines so far, or after this time. */
  flush(withinMs: number): Promise<void>;
}

/** The most characters of unread lines: about ten thousand lines of requests. */
const MAX_PENDING = 4 * 2 ** 20;

/**
 * Opens a destination. A pipe or socket never makes the process wait: unread lines stay in a buffer, and
 * lines beyond its bound are dropped. Lines for anything else, such as a regular file, are written at once.
 * Asynchronous writes of pino would not help: a write that blocks occupies a thread, and prevents the exit.
 */
export function openLogDestination(fd: number, onDrop: () => void): LogDestination {
  const kind = fstatSync(fd);
  if (kind.isFIFO() || kind.isSocket()) return createPipe(kind.isFIFO() ? ownPipe(fd) : fd, onDrop);
  const file = pino.destination({ dest: fd, sync: true });
  return { write: (line) => file.write(line), flushNow() {}, async flush() {} };
}

/** Opens the same pipe again: non-blocking mode on the given descriptor would affect other processes that share it. */
function ownPipe(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // On systems without /proc, the mode applies to all processes that write to the pipe.
    return fd;
  }
}

function createPipe(fd: number, onDrop: () => void): LogDestination {
  const socket = new Socket({ fd, readable: false, writable: true });
  // The reader has closed the pipe. The log is the only place to report it, so there is nothing to do.
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
      if (socket.destroyed || socket.writableLength + lines.length + line.length > MAX_PENDING) {
        onDrop();
        return;
      }
      // Lines of one tick are written together.
      if (lines === '') setImmediate(flushNow);
      lines += line;
    },
    flushNow,
    async flush(withinMs) {
      flushNow();
      if (socket.destroyed || socket.writableLength === 0) return;
      const written = new Promise<void>((resolve) => socket.write('', () => resolve()));
      await Promise.race([written, sleep(withinMs, undefined, { ref: false })]);
    },
  };
}
