import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, GatewayError } from '../domain/errors.js';
import { type CorsOrigins, corsHeaders } from '../http/cors.js';
import { requestIdFrom } from '../http/request-ids.js';

/** A response that the server gives on its own, without the gateway. */
export interface Refusal {
  readonly status: number;
  /** A sentence or two for a person: what was expected, what came, what to do next. */
  readonly message: string;
  /** With a code the body is that of a GraphQL error. */
  readonly code?: ErrorCode | 'INTERNAL_SERVER_ERROR';
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection ends with it. */
  readonly isLast?: boolean;
}

/** A fault of ours, of which the log says more. */
export const INTERNAL_ERROR: Refusal = {
  status: 500,
  message: 'Unexpected error.',
  code: 'INTERNAL_SERVER_ERROR',
  isLast: true,
};

const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** How long a client may take to read why its connection is closed, in milliseconds. */
const READ_REFUSAL_WITHIN_MS = 2_000;

/** HTTP 503: the gateway is busy, and the operation was refused before it was executed. */
export function overloaded(message: string, retryAfterSeconds: number): Refusal {
  const { code } = new GatewayError('OVERLOADED', message);
  return { status: 503, code, message, headers: { 'retry-after': String(retryAfterSeconds) } };
}

/** Sends a refusal, with the headers that every response has. */
export function sendRefusal(
  { headers: { origin, 'x-request-id': requestId } }: IncomingMessage,
  response: ServerResponse,
  corsOrigins: CorsOrigins,
  refusal: Refusal,
): void {
  const { status, headers, isLast = false } = refusal;
  const body = bodyOf(refusal);
  response.writeHead(status, {
    ...HEADERS,
    ...headers,
    ...Object.fromEntries(corsHeaders(corsOrigins, origin)),
    'x-request-id': requestIdFrom(typeof requestId === 'string' ? requestId : undefined),
    'content-length': String(Buffer.byteLength(body)),
    ...(isLast ? { connection: 'close' } : {}),
  });
  response.end(body);
}

/**
 * Sends a refusal on a connection where no request could be read, and closes it. What the client still sends is
 * let go by for a while: a connection that is closed with unread bytes is reset, and the refusal lost.
 */
export function refuseConnection(socket: Duplex, refusal: Refusal): void {
  const { status, headers } = refusal;
  const body = bodyOf(refusal);
  const lines = Object.entries({
    ...HEADERS,
    ...headers,
    'x-request-id': requestIdFrom(undefined),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  const cutOff = setTimeout(() => socket.destroy(), READ_REFUSAL_WITHIN_MS);
  socket.once('close', () => clearTimeout(cutOff));
}

/** Why a request could not be read, by the code of the error that Node's parser reports. */
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

function bodyOf({ code, message }: Refusal): string {
  return JSON.stringify(code ? { errors: [{ message, extensions: { code } }] } : { error: message });
}
