/** Creates the structured log, and writes its lines. A slow reader of a pipe or socket does not block the process. */
import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino, { type DestinationStream, type Logger } from 'pino';
import { currentTracing } from '../tracing.js';

/** A structured log: `log.info({ key: value }, 'sentence')`, `log.child({ key: value })`. */
export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  /** True for readable lines on a terminal (if pino-pretty is installed), false for JSON lines. */
  readonly readable: boolean;
  /** Texts to remove from every line, such as keys and passwords, which an upstream may echo. */
  readonly secrets?: readonly string[];
  /** Where the lines go; standard output unless given. */
  readonly destination?: DestinationStream | undefined;
}

/**
 * Creates the log. Removes secrets from each line, and escapes text of upstreams and clients: it must not control a
 * terminal that shows the log.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const { level, readable, secrets = [], destination } = options;
  const hidden = secretParts(secrets);
  // pino-pretty is loaded only for a terminal, since it slows down the start. It is a development dependency: if it is
  // not installed, a terminal gets JSON lines.
  const loaded = readable ? await import('pino-pretty').catch(() => undefined) : undefined;
  const pretty = loaded?.default;
  const escaped = pretty ? escapedOnTerminal : escapedInJson;
  const tracing = currentTracing();
  const pinoOptions = {
    ...(tracing && { mixin: tracing.ids }),
    level,
    formatters: { level: (label: string) => ({ level: label }) },
    base: null,
    timestamp: createTimestamps(),
    hooks: {
      streamWrite: (line: string) =>
        escaped(hidden.reduce((rest, secret) => rest.replaceAll(secret, '***'), line)),
    },
  };
  if (!pretty) return pino(pinoOptions, destination ?? pino.destination({ dest: 1, sync: true }));
  const form = { singleLine: true, sync: true, translateTime: 'SYS:HH:MM:ss' };
  return pino(pinoOptions, pretty({ ...form, destination: destination ?? 1 }));
}

/** Writes the time of a line. A busy gateway logs many lines in one millisecond, and formatting a date is slow. */
function createTimestamps(): () => string {
  let time = Number.NaN;
  let written = '';
  return () => {
    const now = Date.now();
    if (now !== time) written = `,"time":"${new Date(now).toISOString()}"`;
    time = now;
    return written;
  };
}

/** Shorter texts are not removed, because they match in many lines, and real secrets are longer. */
const MIN_SECRET_LENGTH = 6;

/** The texts to remove from lines: each secret and each of its words, escaped as in JSON, the longest first. */
function secretParts(secrets: readonly string[]): readonly string[] {
  return secrets
    .flatMap((secret) => [secret.trim(), ...secret.trim().split(/\s+/)])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .map((secret) => JSON.stringify(secret).slice(1, -1))
    .sort((one, other) => other.length - one.length);
}

/** JSON.stringify does not escape DEL, C1 controls, marks of the direction of text, and line ends of some terminals. */
const INVISIBLE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const ESCAPES = /\\(?:u[0-9a-f]{4}|.)/gi;
/** The start of a line in a stack: a position in the code, or the stack of a cause. */
const STACK_LINE = /^(?: +at |caused by: )/;

function escapedInJson(line: string): string {
  return line.replace(INVISIBLE, escapeOf);
}

/**
 * Escapes once more for a terminal, because there the JSON is decoded before it is shown. The terminal then shows a
 * control character as text, such as `\u001b`. Only line breaks before the lines of a stack stay.
 */
function escapedOnTerminal(line: string): string {
  const escaped = line.replace(ESCAPES, (sequence, at: number) =>
    sequence === '\\n' && STACK_LINE.test(line.slice(at + 2, at + 40)) ? sequence : shown(sequence),
  );
  return escaped.replace(INVISIBLE, (character) => `\\${escapeOf(character)}`);
}

function shown(sequence: string): string {
  return /^\p{Cc}$/u.test(String(JSON.parse(`"${sequence}"`))) ? `\\${sequence}` : sequence;
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export interface LogDestination extends DestinationStream {
  /** Call it at the end of the process. */
  flushNow(): void;
  /** Resolves when the system has accepted all lines so far, or after this time. */
  flush(withinMs: number): Promise<void>;
}

/** The most characters of unread lines: about ten thousand lines of requests. */
const MAX_PENDING = 4 * 2 ** 20;

/**
 * Unread lines of a pipe or socket stay in a buffer, and lines beyond its bound are dropped. Others are written at once.
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
