/** The server on `ADMIN_PORT`, for operators. */
import { once } from 'node:events';
import type { PlainResponse } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { createRefreshAnswer, Monitoring } from '../observability/monitoring.js';
import { createHttpServer } from './http-server.js';
import type { NodeExchange } from './node-exchange.js';

/** Enough for probes and a few scrapers. */
const MAX_CONNECTIONS = 100;
const MAX_BODY_BYTES = 1_024;

export interface AdminServerOptions {
  readonly monitoring: Monitoring;
  /** Answers `/refresh`. */
  readonly refresh: ReturnType<typeof createRefreshAnswer>;
  readonly log: Logger;
}

/** Creates the server, bounded like the public one; it answers the monitoring paths and `POST /refresh`. */
export function createAdminServer({ monitoring, refresh, log }: AdminServerOptions) {
  const options = { maxBodyBytes: MAX_BODY_BYTES, maxConnections: MAX_CONNECTIONS, corsOrigins: [], log };
  const { server, listen } = createHttpServer(options, (_read, exchange) => {
    const { method = 'GET', url = '/' } = exchange.request;
    const [path = '/'] = url.split('?');
    const { origin } = exchange.request.headers;
    const answer = path === '/refresh' && !origin ? refresh(method) : monitoring(method, path);
    // Only a page in a browser sends an Origin header. A foreign page must not trigger a refresh.
    if (!answer) exchange.refuse({ status: 404, message: 'Nothing is here.' });
    else if (answer instanceof Promise) answer.then((response) => send(exchange, response));
    else send(exchange, answer);
  });
  return {
    listen,
    /** Closes the port and all its connections. */
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(exchange: NodeExchange, { status, headers, body }: PlainResponse): void {
  const bytes = Buffer.from(body ?? '');
  const given = Object.entries(headers).flat();
  const length = String(bytes.byteLength);
  exchange.send(status, [...given, 'x-content-type-options', 'nosniff', 'content-length', length], [bytes]);
}
