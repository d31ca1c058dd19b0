import { ageHeader, cachingHeaders, type ResponseInfo } from '../../graph/dependencies.js';
import { CACHE_STATUS, HIT, hasTag, MISS } from '../../http/caching.js';
import { encodingFor } from '../../http/encodings.js';
import { isCacheableMethod } from '../../http/query-method.js';
import { totalBytes } from '../../http/total-bytes.js';
import type { CacheableRequest } from './cacheable-request.js';
import type { CompleteResponse, EncodedBody } from './complete-response.js';
import type { Exchange } from './exchange.js';

/**
 * Sends a complete response in an encoding that the client accepts. For GET and QUERY it adds caching headers and answers
 * conditional requests.
 *
 * @param isLast whether the connection closes after it
 * @param ageMs how old a stored response is, in milliseconds; undefined for one that was just made
 * @returns a promise if the body must be compressed first; it is settled when the response was handed over
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
      // A 304 names the tag that the client has: a cache does not apply it to a response with another one.
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

/** Sends a response that holds for this moment only. */
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
 * Sends any response of the gateway. Its body is collected first: none is an endless stream, and the memory budget
 * needs to know its size.
 *
 * @param isUncached whether to forbid caches to store it
 * @returns the body
 */
export async function sendResponse(
  exchange: Exchange,
  from: Response,
  isUncached: boolean,
  isLast: boolean,
): Promise<Buffer> {
  const body: ArrayBuffer | Buffer = await from.arrayBuffer();
  // Yoga's responses return a Buffer. For a page it is the one buffer that all clients share, so do not copy it.
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
