/** A request and response of `fetch` as an exchange. */
import { isIP } from 'node:net';
import { type ClientFinder, clientOf } from '../http/client-address.js';
import type { ReadBody } from '../server/bodies.js';
import { Exchange } from '../server/exchange.js';

export class FetchExchange extends Exchange {
  status = 0;
  readonly method: string;
  /** The path and query string. The host has no meaning for the gateway. */
  readonly url: string;
  readonly client: string | undefined;
  readonly isForwarded: boolean;

  /** @param given the address at the other end of the connection, or any other text for the client; undefined if unknown */
  constructor(
    private readonly request: Request,
    override readonly read: ReadBody,
    given: string | undefined,
    findClient: ClientFinder,
    private readonly resolve: (response: Response) => void,
  ) {
    super();
    this.startedAt = performance.now();
    this.method = request.method;
    const { pathname, search } = new URL(request.url);
    this.url = pathname + search;
    const isAddress = given !== undefined && isIP(given) > 0;
    const forwardedFor = request.headers.get('x-forwarded-for');
    const forwarded = isAddress ? findClient(given, forwardedFor) : undefined;
    this.client = forwarded ?? (isAddress ? clientOf(given) : given);
    this.isForwarded = isAddress && forwardedFor !== null && this.client === clientOf(given);
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

  toRequest(RequestClass: typeof Request): Request {
    const { headers, signal } = this.request;
    return new RequestClass(`http://gateway${this.url}`, {
      ...this.init(),
      headers: Object.fromEntries(headers),
      signal,
    });
  }

  send(status: number, headers: readonly string[], parts: readonly Uint8Array<ArrayBuffer>[] = []): boolean {
    this.status = status;
    for (const { byteLength } of parts) this.bodyBytes += byteLength;
    const given: [string, string][] = [];
    for (let nth = 0; nth < headers.length; nth += 2)
      given.push([headers[nth] ?? '', headers[nth + 1] ?? '']);
    // Without bytes the body is null: some statuses forbid even an empty body.
    const hasBody = this.bodyBytes > 0 && this.method !== 'HEAD';
    const [first, ...others] = parts;
    const body = others.length > 0 ? Buffer.concat(parts) : first;
    this.resolve(new Response(hasBody ? body : null, { status, headers: given }));
    return true;
  }
}
