/** The HTTP servers, for clients and on `ADMIN_PORT` for operators: bounded in connections, time and memory. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { createClientFinder } from '../http/client-address.js';
import { plainRefusal, type Refusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { Monitoring, RefreshAnswer } from '../observability/monitoring.js';
import { currentTracing } from '../tracing.js';
import { MAX_UNANSWERED_REQUEST_BYTES, type ReadBody, readBody } from './bodies.js';
import { createByteBudget } from './byte-budget.js';
import { type Connection, createConnections, createCutReport } from './connections.js';
import { NodeExchange, type NodeServerFacts } from './exchange.js';
import { refuseConnection, tooManyHeaders, unreadable } from './refusals.js';
import { createRequestObserver, type RequestObserver } from './request-observer.js';
import { createResponder, type ResponderOptions } from './responder.js';
import { sendPlain } from './send-response.js';

interface HttpServerOptions extends Pick<Config, 'maxBodyBytes' | 'maxConnections' | 'trustedProxies'> {
  readonly metrics?: Pick<Metrics, 'connectionCut'> | undefined;
  readonly log: Logger;
  readonly observer: RequestObserver;
}

/** Responses that clients have not read yet may take this memory in all: eight of the largest usual responses. */
const MAX_UNREAD_RESPONSE_BYTES = 32 * 2 ** 20;
const REQUEST_TIMEOUT_MS = 30_000;
/** The server looks this often for requests that take too long. Node's default of 30 s would double the timeout. */
const CHECK_TIMEOUTS_EVERY_MS = 3_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close first and no request is lost. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A request with more headers is refused: in small headers, the 16 KiB of a head would take 100 kB of memory. */
const MAX_HEADERS = 100;
/** A request is estimated to take this many bytes beside its body and headers. */
const REQUEST_BYTES = 4_096;
/** After the port has closed, an open connection may still send its next request for this long. */
const NEXT_REQUEST_GRACE_MS = 1_000;

/**
 * Only `listen` opens a port.
 *
 * @param handle called with each request that the server does not refuse, after its body was read or was
 *   found too large; pipelined requests are handled one after the other
 */
function createHttpServer(options: HttpServerOptions, handle: (exchange: NodeExchange) => void) {
  const { maxBodyBytes, maxConnections, log, observer } = options;
  const onCut = createCutReport(log, options.metrics);
  const bodies = { maxBodyBytes, budget: createByteBudget(MAX_UNANSWERED_REQUEST_BYTES) };
  const facts: NodeServerFacts = {
    findClient: createClientFinder(options.trustedProxies),
    unread: createByteBudget(MAX_UNREAD_RESPONSE_BYTES),
    get isStopping() {
      return !server.listening;
    },
  };

  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
      // The gateway checks the Host header itself, because Node's refusal has no message.
      requireHostHeader: false,
    },
    (request, response) => begin(request, response),
  );
  // Node drops further headers. One more than the limit, to recognise a request with more.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const connections = createConnections(server, maxConnections, onCut);

  /** @param expectation the refusal of a header `Expect`, before the body is read */
  function begin(request: IncomingMessage, response: ServerResponse, expectation?: Refusal): void {
    // After a connection was cut, the parser still emits requests that had arrived before.
    if (request.socket.destroyed) return;
    const connection = connections.of(request.socket);
    const earlier = connection.begin(response);
    const exchange = new NodeExchange(request, response, connection, facts);
    // A callback, because with a promise a cache hit would take 50 % longer.
    const onRead = (read: ReadBody) => {
      if (read.release) response.once('close', read.release);
      exchange.read = read;
      if (earlier && !response.socket) wait(connection, earlier, exchange);
      else handleOrRefuse(exchange);
    };
    const hasMany = request.rawHeaders.length > 2 * MAX_HEADERS;
    const refusal = expectation ?? (hasMany ? tooManyHeaders(MAX_HEADERS) : undefined);
    if (refusal) onRead({ bytes: 0, refusal });
    else readBody(request, connection, bodies, onRead);
  }

  function handleOrRefuse(exchange: NodeExchange): void {
    exchange.startedAt = performance.now();
    const { refusal } = exchange.read;
    if (refusal) observer.refuse(exchange, refusal);
    else if (!hasOneHost(exchange.request)) {
      observer.refuse(exchange, { status: 400, message: 'Expected one Host header.', isLast: true });
    } else handle(exchange);
  }

  /**
   * Handles a pipelined request one tick after the earlier request was answered, and reserves its memory until then.
   * Without that tick, the pipelined requests of one client would block the event loop.
   */
  function wait(connection: Connection, earlier: ServerResponse, exchange: NodeExchange): void {
    const { request, read } = exchange;
    const { rawHeaders, url = '' } = request;
    const headBytes = rawHeaders.reduce((sum, { length }) => sum + length, url.length);
    const bytes = REQUEST_BYTES + headBytes + (read.body?.length ?? 0);
    const release = bodies.budget.reserve(connection, exchange, bytes, () => connection.cut('request_bytes'));
    earlier.once('close', async () => {
      await setImmediate();
      if (connection.socket.destroyed) return;
      release();
      handleOrRefuse(exchange);
    });
  }

  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'Expected no Expect header other than "100-continue".';
    begin(request, response, { status: 417, message, isLast: true });
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.destroyed) return;
    connections.of(socket).fail(code === 'ERR_HTTP_REQUEST_TIMEOUT', () => {
      if (!socket.writable || code === 'ECONNRESET') socket.destroy();
      else {
        const refusal = unreadable(code, REQUEST_TIMEOUT_MS);
        refuseConnection(socket, refusal);
        observer.unreadable(refusal.status);
      }
    });
  });

  return {
    /** Returns the address, such as `http://127.0.0.1:4000`. Throws an error of `node:net`, such as EADDRINUSE. */
    async listen(host: string, port: number): Promise<string> {
      await once(server.listen(port, host), 'listening');
      // Without a listener, an error such as too many open files would end the process.
      server.on('error', (err) => onCut('accept_failed', { err }));
      const shownHost = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
      const { port: opened } = server.address() as AddressInfo;
      return `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${opened}`;
    },
    /**
     * Serves as before for `lameDuckMs`. Then closes the port, and gives open requests time to end: until `withinMs`
     * after this call. The promise resolves when all connections are closed.
     */
    async drain(lameDuckMs: number, withinMs: number): Promise<void> {
      const cutOff = setTimeout(() => server.closeAllConnections(), withinMs);
      await sleep(lameDuckMs);
      const closed = once(server, 'close');
      // http.Server's own close() would close idle connections at once, without time for a next request.
      NetServer.prototype.close.call(server);
      const closeIdle = setInterval(async () => {
        // Lets the server read requests that have arrived: their connections are then no longer idle.
        await setImmediate();
        server.closeIdleConnections();
        connections.closeSilent();
      }, NEXT_REQUEST_GRACE_MS);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(cutOff);
    },
  };
}

/** Whether a request has exactly one Host header; HTTP/1.0 needs none. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let nth = 0; nth < rawHeaders.length; nth += 2) {
    const name = rawHeaders[nth];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

export function createGatewayServer(options: Omit<ResponderOptions, 'observer'> & { metrics: Metrics }) {
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
    const { sentMethod: method, url } = exchange;
    const [path = '/'] = url.split('?');
    // Browsers send an Origin header with each POST of a page. A foreign page must not trigger a refresh.
    const isRefresh = path === '/refresh' && !exchange.header('origin');
    const answer = (isRefresh ? refresh(method) : monitoring(method, path)) ?? NOTHING_HERE;
    const others = ['x-content-type-options', 'nosniff'];
    Promise.resolve(answer).then((response) => sendPlain(exchange, response, others));
  });
}
