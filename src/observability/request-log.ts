import type { Logger } from '../logger.js';
import type { CacheResult } from '../metrics/requests.js';

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

/** Writes one line for each request that is to be logged. */
export interface RequestLog {
  /** False if a line of a request without errors would be dropped, so that it need not be made. */
  readonly logsAll: boolean;
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
  return {
    logsAll: logRequests === 'all' && log.isLevelEnabled('info'),
    write(line) {
      const { status, codes = [], ms, cache } = line;
      if (logRequests === 'none') return;
      const isNotable = codes.length > 0 || status >= 400 || cache === 'refused' || ms >= SLOW_REQUEST_MS;
      if (logRequests === 'errors' && !isNotable) return;
      const path = line.path.slice(0, MAX_PATH_LENGTH);
      log[levelOf(status, codes, path)]({ ...line, path }, 'Answered');
    },
  };
}

function levelOf(status: number, codes: readonly string[], path: string): 'debug' | 'info' | 'warn' {
  if (QUIET_PATHS.has(path)) return 'debug';
  return status === 500 || codes.includes('INTERNAL_SERVER_ERROR') ? 'warn' : 'info';
}
