import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CorsOrigins } from '../http/cors.js';
import { hasOneHost } from '../http/request-target.js';
import type { Logger } from '../logger.js';
import { createByteBudget } from './byte-budget.js';
import { type Connection, createConnections } from './connections.js';
import { type CutCounter, createCutReport } from './cut-report.js';
import { type ReadBody, readBody } from './read-body.js';
import { overloaded, type Refusal, refuseConnection, sendRefusal, unreadable } from './refusals.js';
import { type BodySender, createBodySender } from './send-body.js';

/** What {@link createHttpServer} takes. */
export interface HttpServerOptions {
  /** A body is read no further than this. */
  readonly maxBodyBytes: number;
  /** How many connections are open at once; without a bound unless given. */
  readonly maxConnections?: number | undefined;
  /** The origins whose pages may read what the server answers on its own; all unless given. */
  readonly corsOrigins?: CorsOrigins | undefined;
  /** Counts the connections that are cut. */
  readonly metrics?: CutCounter | undefined;
  readonly log: Logger;
}

/** The server, bounded in connections, time and memory whatever its clients do. */
export interface HttpServer {
  readonly server: Server;
  /** Closes connections that have not sent a whole request head yet. */
  closeSilent(): void;
}

/** What requests may take in all that came in parts, or that wait for others of their connection. */
const MAX_UNANSWERED_REQUEST_BYTES = 32 * 2 ** 20;
/** What responses that clients have not read may take in all. */
const MAX_UNREAD_RESPONSE_BYTES = 64 * 2 ** 20;
/** How long a client may take to send a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the server looks for requests that have taken too long. Node's 30 s would double the timeout. */
const CHECK_TIMEOUTS_EVERY_MS = 3_000;
/** Longer than the idle limit of common load balancers, so that they close first and lose no request. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** What a request takes beside its body and its headers. */
const REQUEST_BYTES = 4_096;
/** When to try again after a refusal for want of memory: what is sent too slowly is gone before long. */
const RETRY_AFTER_SECONDS = 5;

/** One request and its response. */
export class Exchange {
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    private readonly connection: Connection,
    private readonly sender: BodySender,
    private readonly corsOrigins: CorsOrigins,
  ) {}

  /** Ends the response with these bytes, once its head has been written. */
  end(bytes: Uint8Array): void {
    this.sender.end(this.connection, this.response, bytes);
  }

  /** Sends a whole response that says why there is no other. */
  refuse(refusal: Refusal): void {
    sendRefusal(this.request, this.response, this.corsOrigins, refusal);
  }
}

/**
 * Makes the server; it opens no port.
 *
 * @param answer called with each request that is read, or was too large to be; pipelined ones after each other
 */
export function createHttpServer(
  options: HttpServerOptions,
  answer: (read: ReadBody, exchange: Exchange) => void,
): HttpServer {
  const { maxBodyBytes, maxConnections = Number.POSITIVE_INFINITY, corsOrigins = '*', log } = options;
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
      // Of a connection that was cut, the parser still reads what had come.
      if (request.socket.destroyed) return;
      const connection = connections.of(request.socket);
      const earlier = connection.begin(response);
      const exchange = new Exchange(request, response, connection, sender, corsOrigins);
      // Called back, since most requests are answered with what is kept, and a promise would be half of that.
      readBody(request, connection, bodies, (read) => {
        const { hold } = read;
        if (hold) response.once('close', hold.release);
        if (earlier && !response.socket) wait(connection, earlier, read, exchange);
        else answerOrRefuse(read, exchange);
      });
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const connections = createConnections(server, { maxConnections, onCut });

  function answerOrRefuse(read: ReadBody, exchange: Exchange): void {
    if (!hasOneHost(exchange.request)) {
      exchange.refuse({ status: 400, message: 'Expected one Host header.', isLast: true });
    } else if (read.isOverloaded) {
      onCut('request_bytes');
      const message =
        'The gateway is reading too many large requests at once; send a smaller one, or try again.';
      exchange.refuse({ ...overloaded(message, RETRY_AFTER_SECONDS), isLast: true });
    } else answer(read, exchange);
  }

  /** Answers a pipelined request after those before it; meanwhile its memory is counted. */
  function wait(connection: Connection, earlier: ServerResponse, read: ReadBody, exchange: Exchange): void {
    const { rawHeaders, url = '' } = exchange.request;
    const headBytes = rawHeaders.reduce((sum, { length }) => sum + length, url.length);
    const bytes = REQUEST_BYTES + headBytes + (read.body?.length ?? 0);
    const cut = () => connection.cut('request_bytes');
    const hold = connection.hold(bodies.budget, exchange, bytes, cut);
    connection.after(earlier, () => {
      hold.release();
      answerOrRefuse(read, exchange);
    });
  }

  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'Expected no other expectation than 100-continue.';
    sendRefusal(request, response, corsOrigins, { status: 417, message, isLast: true });
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.destroyed) return;
    connections.of(socket).fail(code === 'ERR_HTTP_REQUEST_TIMEOUT', () => {
      if (!socket.writable || code === 'ECONNRESET') socket.destroy();
      else refuseConnection(socket, unreadable(code, REQUEST_TIMEOUT_MS));
    });
  });
  // Such as no more file handles: an error without a listener would end the process.
  server.on('error', (err) => onCut('accept_failed', { err }));
  server.once('close', () => sender.close());
  return { server, closeSilent: connections.closeSilent };
}
