/** Counts, logs and traces each request. */
import { requestIdFrom } from '../http/request-ids.js';
import type { Logger } from '../logger/logger.js';
import { createRequestLog, type LogRequests } from '../observability/request-log.js';
import {
  type CacheResult,
  type Executor,
  outcomeOf,
  type RequestMetrics,
} from '../observability/request-metrics.js';
import type { TraceSpan } from '../tracing.js';
import type { Exchange } from './exchange.js';
import type { SentRefusal } from './refusals.js';

export interface RequestObserverOptions {
  readonly metrics?: { readonly requests: RequestMetrics } | undefined;
  readonly log: Logger;
  /** Which requests are logged; all unless given. */
  readonly logRequests?: LogRequests | undefined;
  /** The prefix of all paths; empty unless given. */
  readonly basePath?: string | undefined;
}

/** The parts of an exchange that the observer reads. */
export type ObservedExchange = Pick<
  Exchange,
  'method' | 'url' | 'client' | 'status' | 'startedAt' | 'bodyBytes' | 'isAborted' | 'span'
>;

/** How a request was answered. */
export interface AnsweredFacts {
  readonly cache: CacheResult;
  /** Present if an operation was executed. */
  readonly executor?: Executor | undefined;
  readonly requestId?: string | undefined;
  readonly operation?: string | undefined;
  /** The distinct codes of its errors. */
  readonly codes?: readonly string[] | undefined;
  /** Whether the client itself has caused the overload, or the failure of the upstream, that the codes name. */
  readonly isByClient?: boolean | undefined;
}

export type RequestObserver = ReturnType<typeof createRequestObserver>;

const NO_METRICS: RequestMetrics = { began() {}, ended() {}, answered() {} };
const NO_CODES: readonly string[] = [];

/**
 * Creates the observer, which counts and logs requests, and ends the span of each request that is traced. Exactly one of
 * `answered`, `refused` and `unreadable` must be called for each request.
 */
export function createRequestObserver(options: RequestObserverOptions) {
  const metrics = options.metrics?.requests ?? NO_METRICS;
  const requestLog = createRequestLog(options.log, options.logRequests, options.basePath);

  function answered(exchange: ObservedExchange, facts: AnsweredFacts): void {
    const { method, status, isAborted, startedAt } = exchange;
    const { cache, executor, operation, requestId, codes = NO_CODES, isByClient = false } = facts;
    const ms = Math.round((performance.now() - startedAt) * 100) / 100;
    const bytes = method === 'HEAD' ? 0 : exchange.bodyBytes;
    if (exchange.span) endSpan(exchange.span, status, facts);
    metrics.answered(cache, isAborted ? 'ABORTED' : outcomeWith(status, codes), ms, bytes, isByClient);
    if (!requestLog.shouldLog({ status, codes, ms, cache })) return;
    requestLog.write({
      requestId: requestId ?? requestIdFrom(undefined),
      method,
      path: pathOf(exchange.url),
      status,
      operation,
      cache,
      executor,
      codes: codes.length > 0 ? codes : undefined,
      isAborted: isAborted ? true : undefined,
      client: exchange.client,
      bytes,
      ms,
    });
  }

  return {
    /** A request that cannot be answered at once has begun. Call `ended` when it is answered. */
    began: metrics.began,
    ended: metrics.ended,
    /** The response was passed to Node to be sent. */
    answered,
    /** The server sent a refusal in place of a response of the gateway. */
    refused(exchange: ObservedExchange, { status, code, requestId }: SentRefusal) {
      const cache = status === 500 ? 'miss' : 'refused';
      answered(exchange, {
        cache,
        requestId,
        codes: code === undefined ? NO_CODES : [code],
        isByClient: true,
      });
    },
    /** The input was not a request. It is counted and not logged: bytes that cost nothing to send must not fill the log. */
    unreadable: (status: number) => metrics.answered('refused', outcomeWith(status, NO_CODES), 0, 0, true),
  };
}

function endSpan(
  span: TraceSpan,
  status: number,
  { cache, executor, operation, codes = NO_CODES }: AnsweredFacts,
): void {
  const attributes = {
    'gateway.cache': cache,
    'http.response.status_code': status,
    ...(executor === undefined ? {} : { 'gateway.executor': executor }),
    ...(operation === undefined ? {} : { 'graphql.operation.name': operation }),
    ...(codes.length > 0 ? { 'gateway.error_codes': [...codes] } : {}),
  };
  const isInternal = status === 500 || codes.includes('INTERNAL_SERVER_ERROR');
  span.end(attributes, isInternal ? 'INTERNAL_SERVER_ERROR' : undefined);
}

/** The path as it was sent, without its query string. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function outcomeWith(status: number, codes: readonly string[]): string {
  if (codes.length > 0) return outcomeOf(codes);
  if (status < 400) return 'ok';
  return status < 500 ? 'HTTP_4XX' : 'HTTP_5XX';
}
