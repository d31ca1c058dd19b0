import { cachingHeaders, type ResponseInfo } from '../../graph/dependencies.js';
import { encodingFor } from '../../http/encodings.js';
import { hasTag } from '../../http/etags.js';
import type { Exchange } from '../http-server.js';
import type { CacheableRequest } from './cacheable-request.js';
import type { CompleteResponse, EncodedBody } from './complete-response.js';

/**
 * Sends a complete response in an encoding that the client accepts. For GET it adds caching headers and answers
 * conditional requests.
 *
 * @param isLast whether the connection closes after it
 * @returns a promise if the body must be compressed first; it is settled when the response was handed over
 */
export function sendComplete(
  { method, acceptEncoding, ifNoneMatch }: CacheableRequest,
  exchange: Exchange,
  complete: CompleteResponse,
  info: ResponseInfo,
  requestId: string,
  isLast: boolean,
): Promise<void> | undefined {
  const { response } = exchange;
  const send = ({ encoding, bytes }: EncodedBody) => {
    const headers = [...complete.headers, 'x-request-id', requestId];
    if (info.staleListings !== undefined) headers.push('x-stale-listings', info.staleListings);
    if (isLast) headers.push('connection', 'close');
    if (encoding !== 'identity') headers.push('content-encoding', encoding);
    if (method === 'GET') {
      const etags = complete.etags(encoding);
      headers.push('etag', etags[0], ...cachingHeaders(info));
      if (ifNoneMatch !== undefined && etags.some((etag) => hasTag(ifNoneMatch, etag))) {
        response.writeHead(304, headers).end();
        return;
      }
    }
    headers.push('content-length', String(bytes.byteLength));
    response.writeHead(200, headers);
    exchange.end(bytes);
  };
  const body = complete.encoded(encodingFor(acceptEncoding));
  if (body instanceof Promise) {
    return body.then(send, (error: Error) => {
      response.destroy(error);
    });
  }
  send(body);
  return undefined;
}

/** Sends a response that holds for this moment only. */
export function sendOnce(
  exchange: Exchange,
  { headers: given, body }: CompleteResponse,
  staleListings: string | undefined,
  requestId: string,
  isLast: boolean,
): void {
  const headers = [...given, 'x-request-id', requestId, 'cache-control', 'no-store'];
  if (staleListings !== undefined) headers.push('x-stale-listings', staleListings);
  if (isLast) headers.push('connection', 'close');
  headers.push('content-length', String(body.byteLength));
  exchange.response.writeHead(200, headers);
  exchange.end(body);
}

/** Headers that the server sets itself. */
const CONNECTION_HEADERS = new Set(['connection', 'transfer-encoding']);

/**
 * Sends any response of the gateway. Its body is collected first: none is an endless stream, and the memory budget
 * needs to know its size.
 *
 * @returns the body
 */
export async function sendResponse(exchange: Exchange, from: Response, isLast: boolean): Promise<Buffer> {
  const { response } = exchange;
  if (isLast) response.setHeader('connection', 'close');
  const body: ArrayBuffer | Buffer = await from.arrayBuffer();
  // Yoga's responses return a Buffer. For a page it is the one buffer that all clients share, so do not copy it.
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  for (const [name, value] of from.headers)
    if (!CONNECTION_HEADERS.has(name.toLowerCase())) response.setHeader(name, value);
  if (bytes.byteLength > 0) response.setHeader('content-length', bytes.byteLength);
  response.writeHead(from.status);
  exchange.end(bytes);
  return bytes;
}
