import pino, { type DestinationStream, type Logger } from 'pino';
import { escapedInJson, escapedOnTerminal } from './log-escapes.js';

/** A structured log: `log.info({ key: value }, 'sentence')`, `log.child({ key: value })`. */
export type { Logger } from 'pino';

/** The values that `LOG_LEVEL` takes, from most to least. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What {@link createLogger} takes. */
export interface LoggerOptions {
  /** Lines below this level are dropped. */
  readonly level: LogLevel;
  /** True for lines that a person reads on a terminal, false for JSON lines. */
  readonly readable: boolean;
  /** Texts that are in no line, whatever is logged: what is sent to be let in, and may come back. */
  readonly secrets?: readonly string[];
  /** Where the lines go; standard output unless given. */
  readonly destination?: DestinationStream;
}

/**
 * Makes the log.
 *
 * Writes are synchronous, so that the last line before an exit is not lost. What upstreams and clients send can
 * neither steer a terminal that shows the log nor turn its text round: control characters and those that set
 * the direction of writing are escaped.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const { level, readable, secrets = [], destination } = options;
  const hidden = secretParts(secrets);
  const escaped = readable ? escapedOnTerminal : escapedInJson;
  const pinoOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: {
      streamWrite: (line: string) =>
        escaped(hidden.reduce((rest, secret) => rest.replaceAll(secret, '***'), line)),
    },
  };
  if (!readable) return pino(pinoOptions, destination ?? pino.destination({ dest: 1, sync: true }));
  // Loaded only for a terminal: a service that writes JSON lines need not pay for it at its start.
  const { default: pretty } = await import('pino-pretty');
  const stream = pretty({
    singleLine: true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    destination: destination ?? 1,
  });
  return pino(pinoOptions, stream);
}

/** Shorter ones are no secrets, and would be found in everything. */
const MIN_SECRET_LENGTH = 6;

/** What is to be hidden of these: each as a whole and its words, as JSON writes them, longest first. */
function secretParts(secrets: readonly string[]): readonly string[] {
  return secrets
    .flatMap((secret) => [secret.trim(), ...secret.trim().split(/\s+/)])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .map((secret) => JSON.stringify(secret).slice(1, -1))
    .sort((one, other) => other.length - one.length);
}
