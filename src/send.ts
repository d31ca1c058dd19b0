import type { ServerResponse } from 'node:http';
import type { EncodedBody, KeptAnswer, Question } from './answers.js';
import { encodingFor } from './encodings.js';
import { hasTag } from './etags.js';
import type { Standing } from './gateway.js';

/** What the system takes off our hands at once. */
const ENDED_AT_ONCE_BYTES = 65_536;
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
  response: ServerResponse,
  answer: KeptAnswer,
  standing: Standing,
  requestId: string,
  isLast: boolean,
): void {
  const body = answer.encoded(encodingFor(question.acceptEncoding));
  const headers = [...answer.headers, 'x-request-id', requestId];
  if (standing.stale !== undefined) headers.push('x-stale-listings', standing.stale);
  if (isLast) headers.push('connection', 'close');
  if (!(body instanceof Promise)) send(question, response, answer, standing, headers, body);
  else {
    body.then(
      (encoded) => send(question, response, answer, standing, headers, encoded),
      (error: Error) => response.destroy(error),
    );
  }
}

function send(
  { method, ifNoneMatch }: Question,
  response: ServerResponse,
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
      response.writeHead(304, headers).end();
      return;
    }
  }
  headers.push('content-length', String(bytes.byteLength));
  response.writeHead(200, headers);
  // A connection counts as idle as soon as its answer has ended, be it sent or not, and is closed at a stop.
  if (bytes.byteLength > ENDED_AT_ONCE_BYTES) response.write(bytes, () => response.end());
  else response.end(bytes);
}

function forCaches(etag: string, { freshForMs, takenAt }: Standing): readonly string[] {
  const maxAge = Math.floor(Number.isFinite(freshForMs) ? freshForMs / 1000 : MAX_AGE_OF_SCHEMA);
  const control = `public, max-age=${maxAge}, stale-while-revalidate=${STALE_WHILE_REVALIDATE}, stale-if-error=${STALE_IF_ERROR}`;
  const headers = ['etag', etag, 'cache-control', control, 'age', '0'];
  if (takenAt < Number.POSITIVE_INFINITY) headers.push('last-modified', new Date(takenAt).toUTCString());
  return headers;
}
