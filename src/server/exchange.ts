/** One request and its response, of node:http or of `fetch`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientFinder } from '../http/client-address.js';
import type { EncodedBody } from '../http/encodings.js';
import { requestIdFrom } from '../http/headers.js';
import { pathIn, type RequestHead } from '../http/operations.js';
import type { EndSpan } from '../tracing.js';
import { type ReadBody, sendBody } from './bodies.js';
import type { ByteBudget } from './byte-budget.js';
import type { Connection } from './connections.js';

/** Exactly one response is sent. */
export abstract class Exchange implements RequestHead {
  /** The method as the client sent it. `method` is the same, but GET in place of HEAD. */
  abstract readonly sentMethod: string;
  /** The target of the request, as it was sent; in an exchange of `fetch`, its path and query string. */
  abstract readonly url: string;
  /** When the request was complete and the earlier requests of its connection were answered, by `performance.now()`. */
  startedAt = 0;
  read: ReadBody = { bytes: 0 };
  endSpan: EndSpan | undefined;
  /** The client, such as its address. All requests without a client count as one client. */
  abstract readonly client: string | undefined;
  /** Whether the request has an `X-Forwarded-For` that could not be used: `client` may be a proxy. */
  abstract readonly isForwarded: boolean;
  /** The HTTP status of the response, and the length of its body, after it was sent. */
  abstract readonly status: number;
  bodyBytes = 0;
  /** Whether the client closed the connection before the whole response was sent. */
  abstract readonly isAborted: boolean;
  #requestId: string | undefined;

  get requestId(): string {
    this.#requestId ??= requestIdFrom(this.header('x-request-id'));
    return this.#requestId;
  }

  get method(): string {
    return this.sentMethod === 'HEAD' ? 'GET' : this.sentMethod;
  }

  get accept(): string | undefined {
    return this.header('accept');
  }

  get contentType(): string | undefined {
    return this.header('content-type');
  }

  get origin(): string | undefined {
    return this.header('origin');
  }

  /** A header of the request. The values of a header that was sent several times are joined. */
  abstract header(name: string): string | undefined;

  /** The request for GraphQL Yoga. It is aborted when the client no longer waits. */
  abstract toRequest(RequestClass: typeof Request): Request;

  /** For {@link toRequest}. A body without a type is passed as bytes: `fetch` would give a text the type `text/plain`. */
  protected init() {
    const { method, contentType } = this;
    const { body = null } = this.read;
    const isText = body === null || contentType !== undefined;
    return { method, body: isText ? body : new TextEncoder().encode(body) };
  }

  /** @param headers names and values, alternating. Returns false if another response has begun, which is then cut off. */
  abstract send(status: number, headers: string[], parts?: EncodedBody['parts'], isLast?: boolean): boolean;
}

/** A request of node:http, with the members that frameworks add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The whole target, if a router has shortened `url` (Express). */
  readonly originalUrl?: string;
  /** The body, if it was parsed before (Express, Fastify). */
  readonly body?: unknown;
}

export interface NodeServerFacts {
  readonly findClient: ClientFinder;
  /** Bounds the responses that clients have not read yet. */
  readonly unread?: ByteBudget | undefined;
  /** Whether the server is stopping: then each response closes its connection. */
  readonly isStopping: boolean;
}

export class NodeExchange extends Exchange {
  readonly sentMethod: string;
  readonly url: string;
  #client: string | undefined;

  constructor(
    readonly request: NodeRequest,
    readonly response: ServerResponse,
    private readonly connection: Connection,
    private readonly server: NodeServerFacts,
  ) {
    super();
    this.sentMethod = request.method ?? 'GET';
    this.url = request.originalUrl || (request.url ?? '/');
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'object' ? value.join(', ') : value;
  }

  /** The client that a trusted proxy names; otherwise the client at the other end of the connection. */
  get client(): string {
    if (this.#client !== undefined) return this.#client;
    const forwardedFor = this.header('x-forwarded-for');
    // `findClient` is not called without the header: to read the address of the connection again would be slow.
    const forwarded = forwardedFor && this.server.findClient(this.request.socket.remoteAddress, forwardedFor);
    this.#client = forwarded || this.connection.client;
    return this.#client;
  }

  get isForwarded(): boolean {
    return this.client === this.connection.client && this.request.headers['x-forwarded-for'] !== undefined;
  }

  get status(): number {
    return this.response.statusCode;
  }

  get isAborted(): boolean {
    return this.request.socket.destroyed;
  }

  toRequest(RequestClass: typeof Request): Request {
    const { response } = this;
    const { headers } = this.request;
    const closed = new AbortController();
    response.once('close', () => {
      // After a complete response nothing is left to abort, and an abort costs as much as a small operation.
      if (!response.writableFinished) closed.abort();
    });
    const { signal } = closed;
    // A host can serve HTTP/2, whose pseudo-headers, such as `:path`, a Request must not have.
    const named = Object.entries(headers as Record<string, string>).filter(([name]) => !name.startsWith(':'));
    const init = { ...this.init(), headers: Object.fromEntries(named), signal };
    return new RequestClass(urlOf(this.url, headers.host), init);
  }

  send(status: number, headers: string[], parts: EncodedBody['parts'] = [], isLast = false): boolean {
    const { response, server } = this;
    if (response.headersSent) {
      response.destroy();
      return false;
    }
    if (isLast || server.isStopping || this.read.isCutOff) headers.push('connection', 'close');
    response.writeHead(status, headers);
    this.bodyBytes = sendBody(this.connection, response, parts, server.unread);
    return true;
  }
}

/**
 * The URL of a target. Three kinds of targets get a path that does not exist:
 *
 * - one that is neither a path nor an http URL;
 * - a URL with another host than the Host header;
 * - a path that normalisation would change, such as `/x/../metrics`: a proxy may block `/metrics` by comparing paths.
 */
function urlOf(target: string, host = ''): string {
  const [origin = '', authority = host] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  const path = target.slice(origin.length) || '/';
  const url = `http://gateway${path}`;
  const isOurs = authority.toLowerCase() === host.toLowerCase() && path.startsWith('/');
  if (isOurs && URL.canParse(url) && new URL(url).pathname === pathIn(path)) return url;
  // The path that does not exist: the target as one segment.
  return `http://gateway/${encodeURIComponent(target)}`;
}
