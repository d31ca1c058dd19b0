/** Connects a request and response of `fetch` to the responder. */
import { isIP } from 'node:net';
import { clientOf } from '../http/client-address.js';
import type { CorsOrigins } from '../http/cors.js';
import { type CacheableRequest, type Exchange, totalBytes, typedBody } from '../server/exchange.js';
import type { ClientFinder } from '../server/forwarded-client.js';
import { refusalMessage, type SentRefusal, type ServerRefusal } from '../server/refusals.js';

export class FetchExchange implements Exchange {
  status = 0;
  bodyBytes = 0;
  readonly startedAt = performance.now();

  /** @param isForwarded whether a proxy that is not trusted may have sent the request for another client */
  constructor(
    private readonly request: Request,
    readonly url: string,
    readonly client: string | undefined,
    readonly isForwarded: boolean,
    private readonly corsOrigins: CorsOrigins,
    private readonly resolve: (response: Response) => void,
    private readonly reject: (reason: unknown) => void,
  ) {}

  get method(): string {
    return this.request.method;
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined;
  }

  get isAborted(): boolean {
    return this.isClosed;
  }

  get isClosed(): boolean {
    return this.request.signal.aborted;
  }

  /** Rejects when the request is aborted: at once if it is aborted already. */
  rejectWhenAborted(): void {
    const { signal } = this.request;
    if (signal.aborted) this.reject(signal.reason);
    else signal.addEventListener('abort', () => this.reject(signal.reason), { once: true });
  }

  toRequest(RequestClass: typeof Request, asked: CacheableRequest, body: string | undefined) {
    const { url, method } = asked;
    const { headers, signal } = this.request;
    // The host is fixed, as in the server, because it has no meaning for the gateway.
    return new RequestClass(`http://gateway${url}`, {
      method,
      headers: Object.fromEntries(headers),
      body: typedBody(asked, body),
      signal,
    });
  }

  send(status: number, headers: string[], parts: readonly Uint8Array[] = []): void {
    this.status = status;
    this.bodyBytes = totalBytes(parts);
    const given: [string, string][] = [];
    for (let nth = 0; nth < headers.length; nth += 2)
      given.push([headers[nth] ?? '', headers[nth + 1] ?? '']);
    // Without bytes the body is null: some statuses forbid even an empty body.
    const hasBody = this.bodyBytes > 0 && this.request.method !== 'HEAD';
    const [first, ...others] = parts as readonly Uint8Array<ArrayBuffer>[];
    const body = others.length > 0 ? Buffer.concat(parts) : first;
    this.resolve(new Response(hasBody ? body : null, { status, headers: given }));
  }

  refuse(refusal: ServerRefusal): SentRefusal {
    const message = refusalMessage(
      this.header('origin'),
      this.header('x-request-id'),
      this.corsOrigins,
      refusal,
    );
    this.status = refusal.status;
    this.bodyBytes = message.sent.bytes;
    this.resolve(new Response(message.body, { status: refusal.status, headers: message.headers }));
    return message.sent;
  }

  destroy(error: Error): void {
    this.reject(error);
  }
}

/** The client of a request of `fetch`. */
export interface FetchClient {
  /** Undefined if the caller does not name the client. */
  readonly client: string | undefined;
  /** Whether a proxy that is not trusted may have sent the request for another client. */
  readonly isForwarded: boolean;
}

/**
 * Finds the client of a request of `fetch`, which has no connection.
 *
 * @param given the address at the other end of the connection, or any other text; undefined if unknown
 */
export function fetchClient(
  { headers }: Request,
  given: string | undefined,
  findClient: ClientFinder,
): FetchClient {
  if (given === undefined) return { client: undefined, isForwarded: false };
  if (!isIP(given)) return { client: given, isForwarded: false };
  const forwardedFor = headers.get('x-forwarded-for');
  const connectionClient = clientOf(given);
  const client = findClient(given, forwardedFor) ?? connectionClient;
  return { client, isForwarded: forwardedFor !== null && client === connectionClient };
}
