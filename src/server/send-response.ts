import { cachingHeaders, type ResponseInfo } from '../graph/dependencies.js';
import { encodingFor } from '../http/encodings.js';
import { hasTag } from '../http/etags.js';
import type { Exchange } from './http-server.js';
import type { EncodedBody, KeptAnswer, Question } from './response-cache.js';

/**
 * Sends a whole answer: compressed as the client takes it, and for GET with what lets caches hold it and ask
 * whether it has changed.
 *
 * @param isLast whether the client is to use the connection no more
 */
export function sendAnswer(
  question: Question,
  exchange: Exchange,
  answer: KeptAnswer,
  info: ResponseInfo,
  requestId: string,
  isLast: boolean,
): void {
  const body = answer.encoded(encodingFor(question.acceptEncoding));
  const headers = [...answer.headers, 'x-request-id', requestId];
  if (info.staleListings !== undefined) headers.push('x-stale-listings', info.staleListings);
  if (isLast) headers.push('connection', 'close');
  if (!(body instanceof Promise)) send(question, exchange, answer, info, headers, body);
  else {
    body.then(
      (encoded) => send(question, exchange, answer, info, headers, encoded),
      (error: Error) => exchange.response.destroy(error),
    );
  }
}

function send(
  { method, ifNoneMatch }: Question,
  exchange: Exchange,
  answer: KeptAnswer,
  info: ResponseInfo,
  headers: string[],
  { encoding, bytes }: EncodedBody,
): void {
  if (encoding !== 'identity') headers.push('content-encoding', encoding);
  if (method === 'GET') {
    const etag = answer.etag(encoding);
    headers.push('etag', etag, ...cachingHeaders(info));
    if (ifNoneMatch !== undefined && hasTag(ifNoneMatch, etag)) {
      exchange.response.writeHead(304, headers).end();
      return;
    }
  }
  headers.push('content-length', String(bytes.byteLength));
  exchange.response.writeHead(200, headers);
  exchange.end(bytes);
}

/** Headers that are for the server to set. */
const OF_THE_CONNECTION = new Set(['connection', 'transfer-encoding']);

/**
 * Sends any response of the gateway. Its body is taken whole first: none is without end, and only bytes that are at
 * hand can be counted.
 */
export async function sendResponse(exchange: Exchange, answer: Response): Promise<void> {
  const body: ArrayBuffer | Buffer = await answer.arrayBuffer();
  // What Yoga's responses give is a Buffer; a page's is the very one that is sent to everybody.
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const { response } = exchange;
  for (const [name, value] of answer.headers)
    if (!OF_THE_CONNECTION.has(name.toLowerCase())) response.setHeader(name, value);
  if (bytes.byteLength > 0) response.setHeader('content-length', bytes.byteLength);
  response.writeHead(answer.status);
  exchange.end(bytes);
}
