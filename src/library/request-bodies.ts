import type { IncomingMessage } from 'node:http';
import { clientOf } from '../http/client-address.js';
import { type ByteBudget, createByteBudget } from '../server/connections/byte-budget.js';
import { type ReadBody, readBody } from '../server/connections/read-body.js';

/** A request of node:http, and what frameworks add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The whole target, where a router has cut `url` (Express). */
  readonly originalUrl?: string;
  /** The body, where it was parsed before (Express, Fastify). */
  readonly body?: unknown;
}

/** Reads the body of a request of `fetch`, and hardly more of it than the limit. */
export async function readRequest(request: Request, maxBodyBytes: number): Promise<ReadBody> {
  if (request.method === 'GET' || request.method === 'HEAD') return { bytes: 0 };
  const reader = request.body?.getReader();
  if (!reader) return { body: '', bytes: 0 };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { value } = await reader.read();
    if (!value) return { body: textOf(chunks), bytes };
    bytes += value.byteLength;
    if (bytes > maxBodyBytes) {
      await reader.cancel().catch(() => {});
      return { bytes };
    }
    chunks.push(value);
  }
}

function textOf(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (chunks.length !== 1 || !first) return Buffer.concat(chunks).toString();
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength).toString();
}

/** For all bodies that arrive in parts, as in the server. */
const MAX_UNANSWERED_REQUEST_BYTES = 32 * 2 ** 20;

/**
 * Makes the function that reads the bodies of node:http requests: within the limits of the server, and also after a
 * framework has read and parsed them.
 */
export function createBodyReader(maxBodyBytes: number) {
  const budget: ByteBudget = createByteBudget(MAX_UNANSWERED_REQUEST_BYTES);
  return (request: NodeRequest, done: (read: ReadBody) => void): void => {
    const parsed = request.method === 'GET' || request.method === 'HEAD' ? undefined : request.body;
    if (parsed !== undefined || request.readableEnded) {
      const body = textOfParsed(parsed);
      const bytes = Buffer.byteLength(body);
      done(bytes > maxBodyBytes ? { bytes } : { body, bytes });
      return;
    }
    const { socket } = request;
    const client = clientOf(socket.remoteAddress);
    const connection = {
      reserve: (its: ByteBudget, buffer: object, bytes: number, onEvict: () => void) =>
        its.reserve(client, buffer, bytes, onEvict),
      cut: () => socket.destroy(),
    };
    readBody(request, connection, { maxBodyBytes, budget }, done);
  };
}

function textOfParsed(parsed: unknown): string {
  if (parsed === undefined) return '';
  if (typeof parsed === 'string') return parsed;
  return Buffer.isBuffer(parsed) ? parsed.toString() : JSON.stringify(parsed, asParsed);
}

/** A number such as 1e999 is refused as the text, and would be accepted as null. */
function asParsed(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
