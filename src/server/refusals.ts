/** Refusals that the server sends without the gateway. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import { CACHE_STATUS, MISS, requestIdFrom } from '../http/headers.js';
import { plainRefusal, type Refusal } from '../http/refusal.js';

export const INTERNAL_ERROR: Refusal = {
  status: 500,
  message: 'Unexpected error.',
  code: 'INTERNAL_SERVER_ERROR',
  isLast: true,
};

/** The refusal of an encoded body: decoded, it could be a thousand times larger. */
export const ENCODED_BODY: Refusal = {
  status: 415,
  message:
    'Expected a request body without a Content-Encoding, or with "identity": this gateway does not decode bodies. Send the body as it is.',
  code: 'BAD_REQUEST',
  headers: { 'accept-encoding': 'identity' },
};

/** @param limit such as "1048576 bytes" or "64 levels of objects and arrays" */
export function tooLargeBody(limit: string): Refusal {
  const message = `Expected a request body of at most ${limit}, got more.`;
  return { status: 413, message, code: 'LIMIT_EXCEEDED' };
}

export function tooManyHeaders(limit: number): Refusal {
  return { status: 431, message: `Expected at most ${limit} request headers, got more.`, isLast: true };
}

export const TOO_MANY_REQUEST_BYTES: Refusal = {
  status: 503,
  message: 'The gateway is reading too many large requests at once; send a smaller one, or try again.',
  code: 'OVERLOADED',
  headers: { 'retry-after': '5' },
  isLast: true,
};

const READ_REFUSAL_WITHIN_MS = 2_000;

/** Reads on for a while: a connection that is closed with unread bytes is reset, and the client may not see the refusal. */
export function refuseConnection(socket: Duplex, refusal: Refusal): void {
  const { headers, body } = plainRefusal(refusal);
  const all = {
    ...headers,
    'x-content-type-options': 'nosniff',
    [CACHE_STATUS]: MISS,
    'x-request-id': requestIdFrom(undefined),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`);
  const deadline = setTimeout(() => socket.destroy(), READ_REFUSAL_WITHIN_MS);
  socket.once('close', () => clearTimeout(deadline));
}

/** @param code of Node's error */
export function unreadable(code: string | undefined, requestTimeoutMs: number): Refusal {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, message: `Expected a whole request within ${requestTimeoutMs / 1000} seconds.` };
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, message: 'Expected request headers of at most 16 KiB in all.' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, message: 'Expected chunks of a request body without extensions.' };
    default:
      return {
        status: 400,
        message: `Expected an HTTP/1.1 request, such as POST /graphql with a JSON body, got none${code ? ` (${code})` : ''}.`,
      };
  }
}
