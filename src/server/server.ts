/** The HTTP server around a gateway, and how it stops. */
import { once } from 'node:events';
import { Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Metrics } from '../observability/metrics.js';
import { currentTracing } from '../tracing.js';
import { createHttpServer, type HttpServerOptions } from './http-server.js';
import { createRequestObserver, type RequestObserverOptions } from './request-observer.js';
import { createResponder, type ResponderOptions } from './responder.js';

export interface GatewayServerOptions
  extends Omit<HttpServerOptions, 'observer' | 'metrics'>,
    Omit<ResponderOptions, 'observer'>,
    Omit<RequestObserverOptions, 'metrics'> {
  readonly metrics?: Metrics | undefined;
}

/** How long a connection that is open when the port closes may take to send its next request, in milliseconds. */
const NEXT_REQUEST_GRACE_MS = 1_000;

/** Creates the server. Only `listen` opens a port. */
export function createGatewayServer(options: GatewayServerOptions) {
  let isPortClosed = false;
  const observer = createRequestObserver(options);
  const respond = createResponder({ ...options, observer });
  const tracing = currentTracing();
  const portClosed = () => isPortClosed;
  const { server, closeSilent, listen } = createHttpServer({ ...options, observer }, (read, exchange) => {
    if (!tracing) respond(read, exchange, portClosed);
    else
      tracing.inRequest('request', exchange.request.headers, (span) => {
        exchange.span = span;
        respond(read, exchange, portClosed);
      });
  });

  return {
    listen,
    /**
     * Stops without losing a request. It serves as before for `lameDuckMs`. Then it closes the port, sends
     * `Connection: close` with each response, and resolves when all connections are closed. It destroys connections that
     * are still open after `withinMs`.
     */
    async drain(lameDuckMs: number, withinMs: number): Promise<void> {
      const cutOff = setTimeout(() => server.closeAllConnections(), withinMs);
      await sleep(lameDuckMs);
      isPortClosed = true;
      const closed = once(server, 'close');
      // http.Server's own close() would also close connections that have not sent their first request yet.
      NetServer.prototype.close.call(server);
      const closeIdle = setInterval(async () => {
        // Waits for one tick: a request that has arrived is read first, so that its connection does not count as idle.
        await setImmediate();
        server.closeIdleConnections();
        closeSilent();
      }, NEXT_REQUEST_GRACE_MS);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(cutOff);
    },
  };
}
