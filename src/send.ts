import type { EncodedBody, KeptAnswer, Question } from './answers.js';
import { encodingFor } from './encodings.js';
import { hasTag } from './etags.js';
import type { Standing } from './gateway.js';
import type { Exchange } from './http-server.js';

/** How long what is no longer fresh may be shown while a new answer is fetched, or cannot be had, in seconds. */
const STALE_WHILE_REVALIDATE = 60;
const STALE_IF_ERROR = 86_400;
/** How long caches may hold what is of no listing, in seconds: another release may know more types. */
const MAX_AGE_OF_SCHEMA = 300;

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
  standing: Standing,
  requestId: string,
  isLast: boolean,
): void {
  const body = answer.encoded(encodingFor(question.acceptEncoding));
  const headers = [...answer.headers, 'x-request-id', requestId];
  if (standing.stale !== undefined) headers.push('x-stale-listings', standing.stale);
  if (isLast) headers.push('connection', 'close');
  if (!(body instanceof Promise)) send(question, exchange, answer, standing, headers, body);
  else {
    body.then(
      (encoded) => send(question, exchange, answer, standing, headers, encoded),
      (error: Error) => exchange.response.destroy(error),
    );
  }
}

function send(
  { method, ifNoneMatch }: Question,
  exchange: Exchange,
  answer: KeptAnswer,
  standing: Standing,
  headers: string[],
  { encoding, bytes }: EncodedBody,
): void {
  if (encoding !== 'identity') headers.push('content-encoding', encoding);
  if (method === 'GET') {
    const etag = answer.etag(encoding);
    headers.push(...forCaches(etag, standing));
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

function forCaches(etag: string, { freshForMs, pricesGoodForMs, takenAt }: Standing): readonly string[] {
  const maxAge = Math.floor(Number.isFinite(freshForMs) ? freshForMs / 1000 : MAX_AGE_OF_SCHEMA);
  // Both begin when max-age ends, and no cache may show a price that is null here.
  const staleFor = Math.max(0, Math.floor(pricesGoodForMs / 1000) - maxAge);
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE, staleFor);
  const ifError = Math.min(STALE_IF_ERROR, staleFor);
  const control = `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`;
  const headers = ['etag', etag, 'cache-control', control, 'age', '0'];
  if (takenAt < Number.POSITIVE_INFINITY) headers.push('last-modified', new Date(takenAt).toUTCString());
  return headers;
}
