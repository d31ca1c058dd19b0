import pino, { type DestinationStream, type Logger } from 'pino';

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
  /** Where the lines go; standard output unless given. */
  readonly destination?: DestinationStream;
}

/**
 * Makes the log.
 *
 * Writes are synchronous, so that the last line before an exit is not lost.
 */
export async function createLogger({ level, readable, destination }: LoggerOptions): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!readable) return pino(options, destination ?? pino.destination({ dest: 1, sync: true }));
  // Loaded only for a terminal: a service that writes JSON lines need not pay for it at its start.
  const { default: pretty } = await import('pino-pretty');
  const stream = pretty({
    singleLine: true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    destination: destination ?? 1,
  });
  return pino(options, stream);
}
