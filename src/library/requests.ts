/** Requests of the library: those of `fetch`, and those of node:http whose body a framework may have read before. */
import { isIP } from 'node:net';
import { type ParsedUrlQueryInput, stringify } from 'node:querystring';
import { type ClientFinder, clientOf } from '../http/client-address.js';
import type { EncodedBody } from '../http/encodings.js';
import type { Refusal } from '../http/refusal.js';
import { REFUSED_BODY_GRACE_MS, type ReadBody } from '../server/bodies.js';
import { Exchange, type NodeRequest } from '../server/exchange.js';

export class FetchExchange extends Exchange {
  status = 0;
  readonly sentMethod: string;
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
    this.sentMethod = request.method;
    const { pathname, search } = new URL(request.url);
    this.url = pathname + search;
    const isAddress = given !== undefined && isIP(given) > 0;
    const forwardedFor = this.header('x-forwarded-for');
    this.client = isAddress ? findClient(given, forwardedFor) : given;
    this.isForwarded = isAddress && forwardedFor !== undefined && this.client === clientOf(given);
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined;
  }

  get isAborted(): boolean {
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

  send(status: number, headers: readonly string[], parts: EncodedBody['parts'] = []): boolean {
    this.status = status;
    for (const { byteLength } of parts) this.bodyBytes += byteLength;
    const given: [string, string][] = [];
    for (let nth = 0; nth < headers.length; nth += 2)
      given.push([headers[nth] ?? '', headers[nth + 1] ?? '']);
    // Without bytes the body is null: some statuses forbid even an empty body.
    const hasBody = this.bodyBytes > 0 && this.sentMethod !== 'HEAD';
    const [first, ...others] = parts;
    const body = others.length > 0 ? Buffer.concat(parts) : first;
    this.resolve(new Response(hasBody ? body : null, { status, headers: given }));
    return true;
  }
}

/** At most this many bytes of a refused body are read and dropped, for {@link REFUSED_BODY_GRACE_MS} at most. */
const MAX_DROPPED_BYTES = 16 * 2 ** 20;

/** Bytes beyond the limit are read for a while and dropped: otherwise the client may never see the refusal. */
export async function readRequest({ method, body }: Request, maxBodyBytes: number): Promise<ReadBody> {
  if (method === 'GET' || method === 'HEAD') return { bytes: 0 };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let refusedAt: number | undefined;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
    else {
      chunks.length = 0;
      refusedAt ??= performance.now();
      // Leaving the loop cancels the stream.
      const isLate = performance.now() - refusedAt > REFUSED_BODY_GRACE_MS;
      if (isLate || bytes > maxBodyBytes + MAX_DROPPED_BYTES) break;
    }
  }
  return refusedAt === undefined ? { body: Buffer.concat(chunks).toString(), bytes } : { bytes };
}

/** The body of a node:http request that a framework has read and parsed; undefined if none has. It never throws. */
export function parsedBody(request: NodeRequest, maxBodyBytes: number): ReadBody | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  try {
    const { body: parsed, headers } = request;
    if (parsed === undefined && !request.readableEnded) return undefined;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (parsed === undefined && hasBody) return { bytes: 0, refusal: READ_BEFORE };
    const body = parsed === undefined ? '' : textOf(parsed, headers['content-type']);
    // Express 4 sets `{}` for a body that it has not read.
    if (/^({})?$/.test(body) && hasBody && !request.readableDidRead) return undefined;
    const bytes = Buffer.byteLength(body);
    return bytes > maxBodyBytes ? { bytes } : { body, bytes, isDecoded: true };
  } catch {
    return { bytes: 0, refusal: NOT_JSON };
  }
}

const FORM = /^application\/x-www-form-urlencoded\b/i;

const READ_BEFORE: Refusal = {
  status: 500,
  message:
    'The server around this gateway has read the request body and not passed it on: expected it as request.body.',
  code: 'INTERNAL_SERVER_ERROR',
};

const NOT_JSON: Refusal = {
  status: 400,
  message:
    'Expected a body that can be written as JSON, got one that is nested too deeply, circular or of another kind.',
  code: 'BAD_REQUEST',
};

/** @throws an error if the value is nested too deeply, circular, or not JSON for another reason */
function textOf(parsed: unknown, type = ''): string {
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return Buffer.from(parsed).toString();
  if (FORM.test(type)) return stringify(parsed as ParsedUrlQueryInput);
  const json: unknown = JSON.stringify(parsed, (_name, value: unknown) =>
    // JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null. Its text is refused later.
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
  if (typeof json !== 'string') throw new TypeError(`it is a ${typeof parsed}`);
  return json;
}
