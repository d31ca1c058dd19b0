/** Connects a request and response of node:http to the responder. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CorsOrigins } from '../http/cors.js';
import { urlOf } from '../http/request-target.js';
import type { TraceSpan } from '../tracing.js';
import { type CacheableRequest, type Exchange, NotAPath, totalBytes, typedBody } from './exchange.js';
import type { ClientFinder } from './forwarded-client.js';
import { type SentRefusal, type ServerRefusal, sendRefusal } from './refusals.js';

export class NodeExchange implements Exchange {
  startedAt = 0;
  bodyBytes = 0;
  span: TraceSpan | undefined;
  #client: string | undefined;

  /** @param connectionClient the client at the other end of the connection */
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    private readonly connectionClient: string,
    private readonly findClient: ClientFinder,
    private readonly corsOrigins: CorsOrigins,
    private readonly options: {
      /** The target of the request, if a framework has shortened `request.url`. */
      readonly originalUrl?: string | undefined;
      /** Ends the response with this body, after its head. If not given, unread bodies are not bounded. */
      readonly send?: (parts: readonly Uint8Array[]) => void;
    } = {},
  ) {}

  get method(): string {
    return this.request.method ?? 'GET';
  }

  get url(): string {
    return this.options.originalUrl || (this.request.url ?? '/');
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'object' ? value.join(', ') : value;
  }

  /** The client that a trusted proxy names, otherwise that of the connection. */
  get client(): string {
    this.#client ??= this.#findForwarded() ?? this.connectionClient;
    return this.#client;
  }

  get isForwarded(): boolean {
    return this.client === this.connectionClient && this.request.headers['x-forwarded-for'] !== undefined;
  }

  #findForwarded(): string | undefined {
    const { headers, socket } = this.request;
    const forwardedFor = headers['x-forwarded-for'];
    // Reading the socket's address is slow, and without the header the client is that of the connection anyway.
    return forwardedFor === undefined ? undefined : this.findClient(socket.remoteAddress, forwardedFor);
  }

  get status(): number {
    return this.response.statusCode;
  }

  get isAborted(): boolean {
    return this.request.socket.destroyed;
  }

  get isClosed(): boolean {
    return this.response.destroyed;
  }

  toRequest(RequestClass: typeof Request, asked: CacheableRequest, body: string | undefined): Request {
    const { request, response } = this;
    const url = urlOf({ url: asked.url, headers: request.headers });
    if (!url) throw new NotAPath();
    const closed = new AbortController();
    response.once('close', () => {
      // After a complete response nothing is left to abort, and an abort costs as much as a small operation.
      if (!response.writableFinished) closed.abort();
    });
    return new RequestClass(url, {
      method: asked.method,
      headers: request.headers as Record<string, string>,
      body: typedBody(asked, body),
      signal: closed.signal,
    });
  }

  send(status: number, headers: string[], parts?: readonly Uint8Array[]): void {
    this.response.writeHead(status, headers);
    if (parts) {
      this.bodyBytes = totalBytes(parts);
      if (this.options.send) this.options.send(parts);
      else {
        for (const part of parts.slice(0, -1)) this.response.write(part);
        this.response.end(parts.at(-1));
      }
    } else this.response.end();
  }

  refuse(refusal: ServerRefusal): SentRefusal | undefined {
    if (this.response.headersSent) {
      this.response.destroy();
      return undefined;
    }
    const sent = sendRefusal(this.request, this.response, this.corsOrigins, refusal);
    this.bodyBytes = sent.bytes;
    return sent;
  }

  destroy(error: Error): void {
    this.response.destroy(error);
  }
}
