/** The servers of the process: for clients, and on `ADMIN_PORT` for operators. */
import { type PlainResponse, plainRefusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { Monitoring, RefreshAnswer } from '../observability/monitoring.js';
import { currentTracing } from '../tracing.js';
import type { NodeExchange } from './exchange.js';
import { createHttpServer } from './http-server.js';
import { createRequestObserver } from './request-observer.js';
import { createResponder, type ResponderOptions } from './responder.js';
import { sendPlain } from './send-response.js';

export interface GatewayServerOptions extends Omit<ResponderOptions, 'observer'> {
  readonly metrics: Metrics;
}

export function createGatewayServer(options: GatewayServerOptions) {
  const observer = createRequestObserver(options);
  const respond = createResponder({ ...options, observer });
  const tracing = currentTracing();
  const traced = (exchange: NodeExchange) =>
    tracing?.inRequest(exchange.request.headers, (end) => {
      exchange.endSpan = end;
      respond(exchange);
    });
  return createHttpServer({ ...options, observer }, tracing ? traced : respond);
}

const NOTHING_HERE = plainRefusal({ status: 404, message: 'Nothing is here.' });

/** Creates the server for operators: monitoring paths and `POST /refresh`. */
export function createAdminServer(monitoring: Monitoring, refresh: RefreshAnswer, log: Logger) {
  const observer = createRequestObserver({ corsOrigins: [], logRequests: 'none', basePath: '', log });
  // Enough for probes and a few scrapers, and for `POST /refresh`, which needs no body.
  const limits = { maxBodyBytes: 1_024, maxConnections: 100, trustedProxies: [] };
  return createHttpServer({ ...limits, observer, log }, (exchange) => {
    const { method, url } = exchange;
    const [path = '/'] = url.split('?');
    // Browsers send an Origin header with each POST of a page. A foreign page must not trigger a refresh.
    const isRefresh = path === '/refresh' && !exchange.header('origin');
    const answer = (isRefresh ? refresh(method) : monitoring(method, path)) ?? NOTHING_HERE;
    const send = (response: PlainResponse) =>
      sendPlain(exchange, response, ['x-content-type-options', 'nosniff']);
    if (answer instanceof Promise) answer.then(send);
    else send(answer);
  });
}
