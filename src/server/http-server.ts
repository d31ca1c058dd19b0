/** The HTTP server: it bounds the connections, time and memory that clients can take. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { CorsOrigins } from '../http/cors.js';
import { hasOneHost } from '../http/request-target.js';
import type { Logger } from '../logger/logger.js';
import { MAX_UNANSWERED_REQUEST_BYTES, type ReadBody, readBody, sendBody } from './bodies.js';
import { createByteBudget } from './byte-budget.js';
import { type Connection, type CutCounter, createConnections, createCutReport } from './connections.js';
import { createClientFinder } from './forwarded-client.js';
import { NodeExchange } from './node-exchange.js';
import {
  refuseConnection,
  type ServerRefusal,
  sendRefusal,
  TOO_MANY_REQUEST_BYTES,
  unreadable,
} from './refusals.js';
import type { RequestObserver } from './request-observer.js';

export interface HttpServerOptions {
  /** A larger request body is dropped. */
  readonly maxBodyBytes: number;
  /** How many connections can be open at once; unlimited unless given. */
  readonly maxConnections?: number | undefined;
  /** The origins whose pages may read the refusals of the server; all unless given. */
  readonly corsOrigins?: CorsOrigins | undefined;
  /** Networks of proxies whose `X-Forwarded-For` is trusted; none unless given. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly metrics?: CutCounter | undefined;
  readonly log: Logger;
  /** Gets the requests that the server refuses itself. */
  readonly observer?: RequestObserver | undefined;
}

/** The memory for all responses that clients have not read yet. */
const MAX_UNREAD_RESPONSE_BYTES = 64 * 2 ** 20;
/** How long a client may take to send a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the server looks for requests that take too long. Node's default of 30 s would double the timeout. */
const CHECK_TIMEOUTS_EVERY_MS = 3_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close first and no request is lost. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Estimated size of a request without its body and headers, in bytes. */
const REQUEST_BYTES = 4_096;

/**
 * Creates the server. Only `listen` opens a port.
 *
 * @param handle called with each request when its body was read or refused; pipelined requests are handled one after the
 *   other
 */
export function createHttpServer(
  options: HttpServerOptions,
  handle: (read: ReadBody, exchange: NodeExchange) => void,
) {
  const {
    maxBodyBytes,
    maxConnections = Number.POSITIVE_INFINITY,
    corsOrigins = '*',
    log,
    observer,
  } = options;
  const findClient = createClientFinder(options.trustedProxies ?? []);
  const onCut = createCutReport(log, options.metrics);
  const bodies = { maxBodyBytes, budget: createByteBudget(MAX_UNANSWERED_REQUEST_BYTES) };
  const unread = createByteBudget(MAX_UNREAD_RESPONSE_BYTES);

  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
      // Node does not check the Host header (`requireHostHeader`), because its refusal has no message.
      requireHostHeader: false,
    },
    (request, response) => {
      // The parser also emits requests that arrived before their connection was cut.
      if (request.socket.destroyed) return;
      const connection = connections.of(request.socket);
      const earlier = connection.begin(response);
      const exchange = new NodeExchange(request, response, connection.client, findClient, corsOrigins, {
        send: (parts) => sendBody(connection, response, parts, unread),
      });
      // A callback, because with a promise a cache hit would take 50 % longer.
      readBody(request, connection, bodies, (read) => {
        if (read.release) response.once('close', read.release);
        if (earlier && !response.socket) wait(connection, earlier, read, exchange);
        else handleOrRefuse(read, exchange);
      });
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const connections = createConnections(server, maxConnections, onCut);

  function refuse(exchange: NodeExchange, refusal: ServerRefusal): void {
    const sent = exchange.refuse(refusal);
    if (sent) observer?.refused(exchange, sent);
  }

  function handleOrRefuse(read: ReadBody, exchange: NodeExchange): void {
    exchange.startedAt = performance.now();
    if (!hasOneHost(exchange.request)) {
      refuse(exchange, { status: 400, message: 'Expected one Host header.', isLast: true });
    } else if (read.isOverloaded) {
      onCut('request_bytes');
      refuse(exchange, TOO_MANY_REQUEST_BYTES);
    } else handle(read, exchange);
  }

  /** Handles a pipelined request after the earlier ones, and reserves its memory until then. */
  function wait(
    connection: Connection,
    earlier: ServerResponse,
    read: ReadBody,
    exchange: NodeExchange,
  ): void {
    const { rawHeaders, url = '' } = exchange.request;
    const headBytes = rawHeaders.reduce((sum, { length }) => sum + length, url.length);
    const bytes = REQUEST_BYTES + headBytes + (read.body?.length ?? 0);
    const cut = () => connection.cut('request_bytes');
    const release = connection.reserve(bodies.budget, exchange, bytes, cut);
    connection.after(earlier, () => {
      release();
      handleOrRefuse(read, exchange);
    });
  }

  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'Expected no other expectation than 100-continue.';
    sendRefusal(request, response, corsOrigins, { status: 417, message, isLast: true });
    observer?.unreadable(417);
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.destroyed) return;
    connections.of(socket).fail(code === 'ERR_HTTP_REQUEST_TIMEOUT', () => {
      if (!socket.writable || code === 'ECONNRESET') socket.destroy();
      else {
        const refusal = unreadable(code, REQUEST_TIMEOUT_MS);
        refuseConnection(socket, refusal);
        observer?.unreadable(refusal.status);
      }
    });
  });
  return {
    server,
    closeSilent: connections.closeSilent,
    /**
     * Opens the port. Port 0 stands for any free port.
     *
     * @returns the address to open, such as `http://127.0.0.1:4000`
     * @throws an error of `node:net`, such as EADDRINUSE
     */
    async listen(host: string, port: number): Promise<string> {
      await once(server.listen(port, host), 'listening');
      // Too many open files cause this event, for example. Without a listener, it would end the process.
      server.on('error', (err) => onCut('accept_failed', { err }));
      const shownHost = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
      const { port: opened } = server.address() as AddressInfo;
      return `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${opened}`;
    },
  };
}
