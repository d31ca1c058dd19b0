/** Counts, logs and traces each request, and sends refusals, which are reported in the same way. */
import type { Config } from '../config/config.js';
import { CACHE_STATUS, MISS } from '../http/headers.js';
import { pathIn } from '../http/operations.js';
import { plainRefusal, type Refusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import { type AnsweredFacts, createRequestLog } from '../observability/request-log.js';
import { createRequestMetrics, isInternal, outcomeOf } from '../observability/request-metrics.js';
import type { Exchange } from './exchange.js';
import { commonHeaders, sendPlain } from './send-response.js';

export interface RequestObserverOptions extends Pick<Config, 'corsOrigins' | 'logRequests' | 'basePath'> {
  readonly metrics?: Pick<Metrics, 'requests'> | undefined;
  readonly log: Logger;
}

export type RequestObserver = ReturnType<typeof createRequestObserver>;

const NO_CODES: readonly string[] = [];

/** For each request of a client, exactly one of `answered`, `refuse` and `unreadable` must be called. */
export function createRequestObserver(options: RequestObserverOptions) {
  const metrics = options.metrics?.requests ?? createRequestMetrics();
  const logRequest = createRequestLog(options.log, options.logRequests, options.basePath);

  function answered(exchange: Exchange, facts: AnsweredFacts): void {
    const { sentMethod: method, status, isAborted } = exchange;
    const { cache, executor, operation, askedRoutes, codes = NO_CODES, isByClient = false } = facts;
    const ms = Math.round((performance.now() - exchange.startedAt) * 100) / 100;
    const bytes = method === 'HEAD' ? 0 : exchange.bodyBytes;
    exchange.endSpan?.(
      {
        'gateway.cache': cache,
        'http.response.status_code': status,
        'gateway.executor': executor,
        'graphql.operation.name': operation,
        'gateway.error_codes': codes.length > 0 ? [...codes] : undefined,
      },
      isInternal(status, codes) ? 'INTERNAL_SERVER_ERROR' : undefined,
    );
    metrics.answered(cache, isAborted ? 'ABORTED' : outcomeOf(status, codes), ms, bytes, isByClient);
    logRequest({
      requestId: exchange.requestId,
      method,
      path: pathIn(exchange.url),
      status,
      operation,
      cache,
      executor,
      askedRoutes: askedRoutes || undefined,
      codes: codes.length > 0 ? codes : undefined,
      isAborted: isAborted ? true : undefined,
      client: exchange.client,
      bytes,
      ms,
    });
  }

  return {
    began: metrics.began,
    ended: metrics.ended,
    /** Call it after the response was passed on, or if the client has closed the connection. */
    answered,
    refuse(exchange: Exchange, refusal: Refusal, isByClient = true): void {
      const headers = [...commonHeaders(exchange, options.corsOrigins), CACHE_STATUS, MISS];
      if (!sendPlain(exchange, plainRefusal(refusal), headers, refusal.isLast)) return;
      const codes = refusal.code === undefined ? NO_CODES : [refusal.code];
      answered(exchange, { cache: refusal.status === 500 ? 'miss' : 'refused', codes, isByClient });
    },
    /** Call it for input that is no request. Such input is only counted: cheap bytes must not fill the log. */
    unreadable: (status: number) => metrics.answered('refused', outcomeOf(status, NO_CODES), 0, 0, true),
  };
}
