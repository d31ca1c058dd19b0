/** Decides which requests get a line in the log, and writes it. */
import type { Config } from '../config/config.js';
import { MONITORING_PATHS } from '../http/paths.js';
import type { Logger } from '../logger/logger.js';
import type { CacheResult, Executor } from './request-metrics.js';

const SLOW_REQUEST_MS = 1_000;

export interface AnsweredFacts {
  readonly cache: CacheResult;
  /** Present if an operation was executed. */
  readonly executor?: Executor | undefined;
  readonly operation?: string | undefined;
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
  /** How many requests the line stands for. Absent for one. */
  readonly count?: number | undefined;
}

/** A longer path is cut: a client has made it up. */
const MAX_PATH_LENGTH = 200;
/** Often enough to show the client, seldom enough not to fill the log. */
const REFUSALS_EVERY_MS = 1_000;
/** Beyond this number, the refused requests of all other clients are counted together. */
const MAX_REFUSED_CLIENTS = 1_000;
/** The key of the other clients. No client has this address. */
const OTHERS = '\n';

/**
 * A client's first request that is refused or has status 4xx gets a line at once. The next ones get one line a second
 * together: with the facts of the last one, and their number.
 */
export function createRequestLog(log: Logger, logRequests: Config['logRequests'], basePath = '') {
  const quietPaths = new Set(MONITORING_PATHS.map((path) => basePath + path));
  const logsAll = logRequests === 'all' && log.isLevelEnabled('info');
  /** By client: the last refused request, and how many there were since the last line. */
  const refused = new Map<string, { last: RequestLine; count: number }>();

  function writeNow(line: RequestLine): void {
    const { status, codes = [], path } = line;
    const isInternal = status === 500 || codes.includes('INTERNAL_SERVER_ERROR');
    const written = path.length > MAX_PATH_LENGTH ? { ...line, path: path.slice(0, MAX_PATH_LENGTH) } : line;
    log[quietPaths.has(path) ? 'debug' : isInternal ? 'warn' : 'info'](written, 'Answered');
  }

  function writeCounted(): void {
    for (const [client, { last, count }] of refused) {
      if (count === 0) refused.delete(client);
      else {
        writeNow(count === 1 ? last : { ...last, count });
        refused.set(client, { last, count: 0 });
      }
    }
    if (refused.size > 0) setTimeout(writeCounted, REFUSALS_EVERY_MS).unref();
  }

  function writeRefused(line: RequestLine): void {
    const { client = '' } = line;
    const key = refused.has(client) || refused.size < MAX_REFUSED_CLIENTS ? client : OTHERS;
    const before = refused.get(key);
    if (before) {
      before.count++;
      before.last = line;
      return;
    }
    writeNow(line);
    if (refused.size === 0) setTimeout(writeCounted, REFUSALS_EVERY_MS).unref();
    refused.set(key, { last: line, count: 0 });
  }

  return (line: RequestLine): void => {
    const { status, codes = [], cache, ms } = line;
    const isRefused = cache === 'refused' || (status >= 400 && status < 500);
    const isNotable = isRefused || status >= 500 || codes.length > 0 || ms >= SLOW_REQUEST_MS;
    if (!logsAll && (logRequests === 'none' || !isNotable)) return;
    if (isRefused) writeRefused(line);
    else writeNow(line);
  };
}
