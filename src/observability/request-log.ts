import type { Logger } from '../logger.js';
import type { CacheResult, Executor } from './request-metrics.js';

/** Which requests get a line in the log. `errors`: those with errors, refused ones, and slow ones. */
export const LOG_REQUESTS = ['all', 'errors', 'none'] as const;

export type LogRequests = (typeof LOG_REQUESTS)[number];

/** A slower request is logged with `LOG_REQUESTS=errors`, too. */
export const SLOW_REQUEST_MS = 1_000;

/** The line of one request. Texts of the client are cut to these lengths: a line takes at most about 1 kB. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** Without its query string. */
  readonly path: string;
  readonly status: number;
  readonly operation?: string | undefined;
  readonly cache?: CacheResult | undefined;
  readonly executor?: Executor | undefined;
  /** The distinct codes of its errors. */
  readonly codes?: readonly string[] | undefined;
  /** True if the client closed the connection first; absent otherwise. */
  readonly isAborted?: boolean | undefined;
  /** The address of the client, as limits count it. */
  readonly client?: string | undefined;
  /** Of the response body as sent. */
  readonly bytes?: number | undefined;
  readonly ms: number;
}

type RequestOutcome = Pick<RequestLine, 'status' | 'codes' | 'ms' | 'cache'>;

/** Writes one line for each request that is to be logged. */
export interface RequestLog {
  /** False for a request whose line would be dropped, so that it need not be made. */
  shouldLog(outcome: RequestOutcome): boolean;
  /** Writes a line, if it is to be logged. Members that are undefined are left out. */
  write(line: RequestLine): void;
}

const MAX_PATH_LENGTH = 200;
/** Machines request these all the time. */
const QUIET_PATHS: ReadonlySet<string> = new Set(['/live', '/ready', '/metrics']);

/**
 * Creates the log of requests. Its lines are of level `info`; of `warn` for an internal error, and of `debug` for the
 * paths that machines request all the time.
 */
export function createRequestLog(log: Logger, logRequests: LogRequests = 'all'): RequestLog {
  const logsAll = logRequests === 'all' && log.isLevelEnabled('info');

  function shouldLog({ status, codes = [], ms, cache }: RequestOutcome): boolean {
    if (logRequests === 'none') return false;
    const isNotable = codes.length > 0 || status >= 400 || cache === 'refused' || ms >= SLOW_REQUEST_MS;
    return logsAll || isNotable;
  }

  return {
    shouldLog,
    write(line) {
      if (!shouldLog(line)) return;
      const { status, codes = [], path } = line;
      const isLong = path.length > MAX_PATH_LENGTH;
      const written = isLong ? { ...line, path: path.slice(0, MAX_PATH_LENGTH) } : line;
      log[levelOf(status, codes, path)](written, 'Answered');
    },
  };
}

function levelOf(status: number, codes: readonly string[], path: string): 'debug' | 'info' | 'warn' {
  if (QUIET_PATHS.has(path)) return 'debug';
  return status === 500 || codes.includes('INTERNAL_SERVER_ERROR') ? 'warn' : 'info';
}
