/** Decides which requests get a line in the log, and writes it. Limits the lines that clients can cause. */
import type { Config } from '../config/config.js';
import { MONITORING_PATHS } from '../http/paths.js';
import type { Logger } from '../logger/logger.js';
import { type CacheResult, type Executor, isInternal, outcomeOf } from './request-metrics.js';

const SLOW_REQUEST_MS = 1_000;

export interface AnsweredFacts {
  readonly cache: CacheResult;
  /** Present if an operation was executed to its end. */
  readonly executor?: Executor | undefined;
  readonly operation?: string | undefined;
  /** For how many tokens the operation has asked for routes that were not cached. */
  readonly askedRoutes?: number | undefined;
  readonly codes?: readonly string[] | undefined;
  /** If `codes` has overloads or failures of the upstream: whether the client itself caused all of them. */
  readonly isByClient?: boolean | undefined;
}

/** Texts of the client are cut, so that a line takes at most about 1 kB. */
interface RequestLine extends Omit<AnsweredFacts, 'isByClient'> {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** True if the client closed the connection before it had the whole response; absent otherwise. */
  readonly isAborted?: boolean | undefined;
  readonly client?: string | undefined;
  readonly bytes?: number | undefined;
  readonly ms: number;
}

/** A longer path is cut: a client has made it up. */
const MAX_PATH_LENGTH = 200;
/** Often enough to show an attack, seldom enough not to fill the log. */
const LINE_EVERY_MS = 1_000;

/**
 * Limits lines that clients can cause in any number: the first line of a key is written at once, then one line a second,
 * the newest, with the number of all as `count`. There must be few keys.
 */
export function createFloodLimit<Line extends object>(
  write: (line: Line & { readonly count?: number }) => void,
) {
  /** By key: the newest line, and how many there were since the last one that was written. */
  const recent = new Map<string, { newest: Line; count: number }>();

  function writeNow(key: string, line: Line, count = 1): void {
    write(count === 1 ? line : { ...line, count });
    const state = { newest: line, count: 0 };
    recent.set(key, state);
    const writeNext = () => {
      recent.delete(key);
      if (state.count > 0) writeNow(key, state.newest, state.count);
    };
    setTimeout(writeNext, LINE_EVERY_MS).unref();
  }

  return (key: string, line: Line): void => {
    const state = recent.get(key);
    if (state) {
      state.newest = line;
      state.count++;
    } else writeNow(key, line);
  };
}

export function createRequestLog(log: Logger, logRequests: Config['logRequests'], basePath = '') {
  const quietPaths = new Set(MONITORING_PATHS.map((path) => basePath + path));
  const logsAll = logRequests === 'all' && log.isLevelEnabled('info');
  const writeRefused = createFloodLimit(write);

  function write(line: RequestLine): void {
    const { status, codes = [], path } = line;
    const written = path.length > MAX_PATH_LENGTH ? { ...line, path: path.slice(0, MAX_PATH_LENGTH) } : line;
    log[quietPaths.has(path) ? 'debug' : isInternal(status, codes) ? 'warn' : 'info'](written, 'Answered');
  }

  return (line: RequestLine): void => {
    const { status, codes = [], cache, ms } = line;
    const isRefused = cache === 'refused' || (status >= 400 && status < 500);
    const isNotable = isRefused || status >= 500 || codes.length > 0 || ms >= SLOW_REQUEST_MS;
    if (!logsAll && (logRequests === 'none' || !isNotable)) return;
    if (isRefused) writeRefused(codes.length > 0 ? outcomeOf(status, codes) : String(status), line);
    else write(line);
  };
}
