/** Creates the structured log. */
import pino, { type DestinationStream, type Logger } from 'pino';
import { currentTracing } from '../tracing.js';
import { escapedInJson, escapedOnTerminal } from './log-escapes.js';

/** A structured log: `log.info({ key: value }, 'sentence')`, `log.child({ key: value })`. */
export type { Logger } from 'pino';

/** The values of `LOG_LEVEL`, from the most lines to none. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  /** Lines below this level are dropped. */
  readonly level: LogLevel;
  /** True for readable lines on a terminal (if pino-pretty is installed), false for JSON lines. */
  readonly readable: boolean;
  /** Texts to remove from every line, such as API keys and passwords, which an upstream may echo. */
  readonly secrets?: readonly string[];
  /** Where the lines go; standard output unless given. */
  readonly destination?: DestinationStream;
}

/**
 * Creates the log. It escapes control characters, and those that change the direction of text, so that text from
 * upstreams and clients cannot control a terminal that shows the log.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const { level, readable, secrets = [], destination } = options;
  const hidden = secretParts(secrets);
  const pretty = readable ? await loadPretty() : undefined;
  const escaped = pretty ? escapedOnTerminal : escapedInJson;
  const tracing = currentTracing();
  const pinoOptions = {
    ...(tracing ? { mixin: () => tracing.ids() } : {}),
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
  const stream = pretty({
    singleLine: true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    destination: destination ?? 1,
  });
  return pino(pinoOptions, stream);
}

/** Creates the writer of times. To format a date is slow, so lines of the same millisecond share one text. */
function createTimestamps(): () => string {
  let writtenAt = Number.NaN;
  let written = '';
  return () => {
    const now = Date.now();
    if (now !== writtenAt) {
      writtenAt = now;
      written = `,"time":"${new Date(now).toISOString()}"`;
    }
    return written;
  };
}

/**
 * Loads the formatter of readable lines. Call this only for a terminal: it slows down the start. The formatter is a
 * development dependency; without it, a terminal gets JSON lines.
 */
async function loadPretty() {
  try {
    return (await import('pino-pretty')).default;
  } catch {
    return undefined;
  }
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
