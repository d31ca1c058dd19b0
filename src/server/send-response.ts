/** Responses as bytes, and how they are sent. */
import { createHash } from 'node:crypto';
import { ageHeader, cachingHeaders, type ResponseInfo } from '../graph/dependencies.js';
import { CACHE_STATUS, HIT, hasTag, MISS } from '../http/caching.js';
import { type Encoding, encode, encodingFor } from '../http/encodings.js';
import { isCacheableMethod } from '../http/query-method.js';
import { type CacheableRequest, type Exchange, totalBytes } from './exchange.js';

export interface EncodedBody {
  readonly encoding: Encoding;
  readonly parts: readonly Uint8Array[];
}

/** Smaller bodies are not compressed: one network packet holds them in any case. */
const MIN_COMPRESSED_BYTES = 1_024;

/** A complete response without errors, ready to be sent. Compressed bodies and ETags are made once and on demand. */
export class CompleteResponse {
  private encodedBodies: Map<Encoding, EncodedBody | Promise<EncodedBody>> | undefined;
  private digest: string | undefined;
  private whole: Uint8Array | undefined;

  /**
   * @param operation the operation's name, for the log
   * @param headers names and values, alternating: the headers that are equal for every request with the same cache key
   * @param parts the body
   * @param isReused whether the response is sent many times, so that the body is worth better and slower compression
   */
  constructor(
    readonly operation: string | undefined,
    readonly headers: readonly string[],
    readonly parts: readonly Uint8Array[],
    private readonly isReused: boolean,
  ) {}

  /** The body in one piece. */
  private get body(): Uint8Array {
    this.whole ??= this.parts.length === 1 && this.parts[0] ? this.parts[0] : Buffer.concat(this.parts);
    return this.whole;
  }

  /** The length of the uncompressed body. */
  get byteLength(): number {
    return totalBytes(this.parts);
  }

  /** The compressed body; a promise if it is not compressed yet. A small body stays as it is. */
  encoded(encoding: Encoding): EncodedBody | Promise<EncodedBody> {
    const { parts } = this;
    const plain: EncodedBody = { encoding: 'identity', parts };
    if (encoding === 'identity' || this.byteLength < MIN_COMPRESSED_BYTES) return plain;
    this.encodedBodies ??= new Map();
    const { encodedBodies } = this;
    const known = encodedBodies.get(encoding);
    if (known) return known;
    const encoded = encode(this.body, encoding, this.isReused).then((bytes) => {
      const smaller = bytes.byteLength < this.byteLength ? { encoding, parts: [bytes] } : plain;
      encodedBodies.set(encoding, smaller);
      return smaller;
    });
    encodedBodies.set(encoding, encoded);
    return encoded;
  }

  /** The strong ETag of the body in this encoding, then the ETag of the same body compressed at another level. */
  etags(encoding: Encoding): readonly [own: string, ...others: string[]] {
    this.digest ??= createHash('sha1').update(this.body).digest('base64url');
    if (encoding === 'identity') return [`"${this.digest}"`];
    const well = `"${this.digest}-${encoding}"`;
    const fast = `"${this.digest}-${encoding}-fast"`;
    return this.isReused ? [well, fast] : [fast, well];
  }
}

/**
 * Sends a complete response in an encoding that the client accepts. For GET and QUERY it adds caching headers and
 * answers conditional requests.
 *
 * @param isLast whether the connection closes after this response
 * @param ageMs the age of a cached response, in milliseconds; undefined for a new one
 * @returns a promise if the body must be compressed first; it resolves when the response was passed to the exchange
 */
export function sendComplete(
  { method, acceptEncoding, ifNoneMatch }: CacheableRequest,
  exchange: Exchange,
  complete: CompleteResponse,
  info: ResponseInfo,
  requestId: string,
  isLast: boolean,
  ageMs?: number,
): Promise<void> | undefined {
  const send = ({ encoding, parts }: EncodedBody) => {
    const cacheStatus = ageMs === undefined ? MISS : HIT;
    const headers = [...complete.headers, CACHE_STATUS, cacheStatus, 'x-request-id', requestId];
    if (info.staleListings !== undefined) headers.push('x-stale-listings', info.staleListings);
    if (isLast) headers.push('connection', 'close');
    if (encoding !== 'identity') headers.push('content-encoding', encoding);
    if (isCacheableMethod(method)) {
      const etags = complete.etags(encoding);
      const known = ifNoneMatch === undefined ? undefined : etags.find((etag) => hasTag(ifNoneMatch, etag));
      // A 304 has the tag that the client sent: a cache does not apply it to a response with another tag.
      headers.push('etag', known ?? etags[0], ...cachingHeaders(info, ageMs ?? 0));
      if (known !== undefined) {
        exchange.send(304, headers);
        return;
      }
    } else if (ageMs !== undefined) headers.push('age', ageHeader(ageMs));
    headers.push('content-length', String(totalBytes(parts)));
    exchange.send(200, headers, parts);
  };
  const body = complete.encoded(encodingFor(acceptEncoding));
  if (body instanceof Promise) return body.then(send, (error: Error) => exchange.destroy(error));
  send(body);
  return undefined;
}

/** Sends a response that must not be cached. */
export function sendOnce(
  exchange: Exchange,
  { headers: given, parts, byteLength }: CompleteResponse,
  staleListings: string | undefined,
  requestId: string,
  isLast: boolean,
): void {
  const headers = [...given, CACHE_STATUS, MISS, 'x-request-id', requestId, 'cache-control', 'no-store'];
  if (staleListings !== undefined) headers.push('x-stale-listings', staleListings);
  if (isLast) headers.push('connection', 'close');
  headers.push('content-length', String(byteLength));
  exchange.send(200, headers, parts);
}

/** Headers that the server sets itself. */
const CONNECTION_HEADERS = new Set(['connection', 'transfer-encoding']);

/**
 * Sends any response of the gateway. Its body is collected first, because the memory budget needs its size. Responses are
 * never endless streams.
 *
 * @param isUncached whether to add `Cache-Control: no-store`
 * @returns the body
 */
export async function sendResponse(
  exchange: Exchange,
  from: Response,
  isUncached: boolean,
  isLast: boolean,
): Promise<Buffer> {
  const body: ArrayBuffer | Buffer = await from.arrayBuffer();
  // Yoga's responses return a Buffer. Do not copy it: for a page, all clients share one.
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const headers: string[] = [];
  for (const [given, value] of from.headers) {
    const name = given.toLowerCase();
    const isOfServer = CONNECTION_HEADERS.has(name) || (name === 'content-length' && bytes.byteLength > 0);
    if (!isOfServer) headers.push(name, value);
  }
  if (isUncached) headers.push('cache-control', 'no-store');
  if (isLast) headers.push('connection', 'close');
  if (bytes.byteLength > 0) headers.push('content-length', String(bytes.byteLength));
  exchange.send(from.status, headers, [bytes]);
  return bytes;
}
