import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { CorsOrigins } from '../http/cors.js';
import { hasOneHost } from '../http/request-target.js';
import type { Logger } from '../logger.js';
import { createByteBudget } from './connections/byte-budget.js';
import {
  type Connection,
  type CutCounter,
  createConnections,
  createCutReport,
} from './connections/connections.js';
import { type ReadBody, readBody } from './connections/read-body.js';
import { type BodySender, createBodySender } from './connections/send-body.js';
import { type ClientFinder, createClientFinder } from './forwarded-client.js';
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
  /** The number of connections that can be open at once; unlimited unless given. */
  readonly maxConnections?: number | undefined;
  /** The origins whose pages may read the refusals of the server; all unless given. */
  readonly corsOrigins?: CorsOrigins | undefined;
  /** Networks of proxies that say who the client is; none unless given. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly metrics?: CutCounter | undefined;
  readonly log: Logger;
  /** Learns of the requests that the server refuses itself. */
  readonly observer?: RequestObserver | undefined;
}

/** A server that bounds the connections, time and memory that its clients can take. */
export interface HttpServer {
  readonly server: Server;
  /**
   * Opens the port; 0 takes a free one.
   *
   * @returns the address to open, such as `http://127.0.0.1:4000`
   * @throws what `node:net` throws, such as EADDRINUSE
   */
  listen(host: string, port: number): Promise<string>;
  /** Closes connections that have not sent a whole request head yet. */
  closeSilent(): void;
}

/** For all requests that arrived in parts, or that wait for earlier ones of their connection. */
const MAX_UNANSWERED_REQUEST_BYTES = 32 * 2 ** 20;
/** For all responses that clients have not read yet. */
const MAX_UNREAD_RESPONSE_BYTES = 64 * 2 ** 20;
/** How long a client may take to send a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the server looks for requests that take too long. Node's default of 30 s would double the timeout. */
const CHECK_TIMEOUTS_EVERY_MS = 3_000;
/** Longer than the idle timeout of common load balancers: if they close first, no request is lost. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Estimated size of a request without its body and headers. */
const REQUEST_BYTES = 4_096;

/** One request and its response, on a connection whose memory and time are bounded. */
export class ServerExchange extends NodeExchange {
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    private readonly connection: Connection,
    private readonly sender: BodySender,
    corsOrigins: CorsOrigins,
    findClient: ClientFinder,
  ) {
    super(request, response, connection.client, findClient, corsOrigins);
  }

  protected override end(parts: readonly Uint8Array[]): void {
    this.sender.end(this.connection, this.response, parts);
  }
}

/**
 * Creates the server; it opens no port.
 *
 * @param handle called with each request once its body was read or was too large; with pipelined requests one after
 *   the other
 */
export function createHttpServer(
  options: HttpServerOptions,
  handle: (read: ReadBody, exchange: ServerExchange) => void,
): HttpServer {
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
  const sender = createBodySender(createByteBudget(MAX_UNREAD_RESPONSE_BYTES));

  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
      // Checked here, where the refusal can say so.
      requireHostHeader: false,
    },
    (request, response) => {
      // The parser still emits requests that arrived before their connection was cut.
      if (request.socket.destroyed) return;
      const connection = connections.of(request.socket);
      const earlier = connection.begin(response);
      const exchange = new ServerExchange(request, response, connection, sender, corsOrigins, findClient);
      // A callback: for a cache hit, a promise would add half of its time.
      readBody(request, connection, bodies, (read) => {
        const { reservation } = read;
        if (reservation) response.once('close', reservation.release);
        if (earlier && !response.socket) wait(connection, earlier, read, exchange);
        else handleOrRefuse(read, exchange);
      });
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const connections = createConnections(server, maxConnections, onCut);

  function refuse(exchange: ServerExchange, refusal: ServerRefusal): void {
    const sent = exchange.refuse(refusal);
    if (sent) observer?.refused(exchange, sent);
  }

  function handleOrRefuse(read: ReadBody, exchange: ServerExchange): void {
    exchange.startedAt = performance.now();
    if (!hasOneHost(exchange.request)) {
      refuse(exchange, { status: 400, message: 'Expected one Host header.', isLast: true });
    } else if (read.isOverloaded) {
      onCut('request_bytes');
      refuse(exchange, TOO_MANY_REQUEST_BYTES);
    } else handle(read, exchange);
  }

  /** Handles a pipelined request after the earlier ones, and counts its memory until then. */
  function wait(
    connection: Connection,
    earlier: ServerResponse,
    read: ReadBody,
    exchange: ServerExchange,
  ): void {
    const { rawHeaders, url = '' } = exchange.request;
    const headBytes = rawHeaders.reduce((sum, { length }) => sum + length, url.length);
    const bytes = REQUEST_BYTES + headBytes + (read.body?.length ?? 0);
    const cut = () => connection.cut('request_bytes');
    const reservation = connection.reserve(bodies.budget, exchange, bytes, cut);
    connection.after(earlier, () => {
      reservation.release();
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
  // For example too many open files. Without a listener, the event would end the process.
  server.on('error', (err) => onCut('accept_failed', { err }));
  server.once('close', () => sender.close());
  return {
    server,
    closeSilent: connections.closeSilent,
    async listen(host, port) {
      await once(server.listen(port, host), 'listening');
      const shownHost = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
      const { port: opened } = server.address() as AddressInfo;
      return `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${opened}`;
    },
  };
}
