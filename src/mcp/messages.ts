/** Reads the messages of the Model Context Protocol: one for each request, which is JSON within limits. */
import { createPartCheck } from '../domain/json-parts.js';
import { shown } from '../domain/text-limits.js';
import { type CorsOrigins, isForeignOrigin } from '../http/headers.js';
import { isJsonType } from '../http/operations.js';
import type { Refusal } from '../http/refusal.js';

/**
 * A message beyond these limits is refused. Messages need about five levels, and 500 items in a list. Without the
 * limits, recursive functions such as JSON.stringify could exhaust the stack, and a check against a schema takes a
 * microsecond or more for each value.
 */
const LIMITS = { containers: 5_000, commas: 5_000, names: 5_000, levels: 64 };
/** Error codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * The refusal of a request that is not a POST of JSON, or that comes from the page of a foreign origin.
 *
 * @param corsOrigins decides which pages may send messages
 */
export function refusalOf({ method, headers }: Request, corsOrigins: CorsOrigins): Refusal | undefined {
  if (method !== 'POST') {
    const message = `Expected POST with a message of the Model Context Protocol, got ${method}.`;
    return { status: 405, message, headers: { allow: 'POST, OPTIONS' } };
  }
  const origin = headers.get('origin');
  if (isForeignOrigin(corsOrigins, origin)) {
    const message = `Expected no Origin header, as programs send none, or an origin that this gateway allows (CORS_ORIGINS), got ${shown(origin ?? '')}.`;
    return { status: 403, message };
  }
  const type = headers.get('content-type') ?? '';
  if (isJsonType(type)) return undefined;
  const message = `Expected the Content-Type application/json, got ${type ? shown(type) : 'none'}.`;
  return { status: 415, message };
}

/** The message in a body, parsed; or the response to a text that is no message. */
export function messageIn(text: string): { readonly message: unknown; readonly error?: string } {
  let message: unknown;
  const exceeded = createPartCheck(LIMITS)(Buffer.from(text));
  if (exceeded) {
    const expected = `Expected JSON of at most ${exceeded}, got more.`;
    return { message, error: rpcError(INVALID_REQUEST, expected) };
  }
  try {
    message = JSON.parse(text);
  } catch {
    const got = text ? shown(text) : 'nothing';
    const expected = `Expected a JSON-RPC message, such as {"jsonrpc":"2.0","id":1,"method":"tools/list"}, got ${got}.`;
    return { message, error: rpcError(PARSE_ERROR, expected) };
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return { message };
  // Batches are no longer part of the protocol. One request with a batch could cost as much as thousands of requests.
  const other = typeof message === 'string' ? shown(message) : String(message);
  const got = Array.isArray(message) ? `an array of ${message.length}` : other;
  const expected = `Expected one JSON-RPC message, which is an object, got ${got}.`;
  return { message, error: rpcError(INVALID_REQUEST, expected) };
}

function rpcError(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } });
}
