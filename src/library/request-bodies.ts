import type { IncomingMessage } from 'node:http';
import { clientOf } from '../http/client-address.js';
import { type ByteBudget, createByteBudget } from '../server/connections/byte-budget.js';
import { type ReadBody, readBody } from '../server/connections/read-body.js';
import type { ServerRefusal } from '../server/refusals.js';

/** A request of node:http, and what frameworks add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The whole target, where a router has cut `url` (Express). */
  readonly originalUrl?: string;
  /** The body, where it was parsed before (Express, Fastify). */
  readonly body?: unknown;
}

/** Reads the body of a request of `fetch`, and hardly more of it than the limit. */
export async function readRequest({ method, body }: Request, maxBodyBytes: number): Promise<ReadBody> {
  if (method === 'GET' || method === 'HEAD') return { bytes: 0 };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > maxBodyBytes) return { bytes };
    chunks.push(chunk);
  }
  return { body: textOf(chunks), bytes };
}

/** Most bodies are one chunk, which is not copied. */
function textOf(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (chunks.length !== 1 || !first) return Buffer.concat(chunks).toString();
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength).toString();
}

/** For all bodies that arrive in parts, as in the server. */
const MAX_UNANSWERED_REQUEST_BYTES = 32 * 2 ** 20;

/** The body of a request of node:http. */
export interface HandlerBody extends ReadBody {
  /** Why a body that a framework has parsed cannot be used. */
  readonly refusal?: ServerRefusal;
  /** What is no longer as the headers say. */
  readonly replaced?: { readonly contentEncoding: undefined };
}

/**
 * Makes the function that reads the bodies of node:http requests: within the limits of the server, and also after a
 * framework has read and parsed them. It throws nothing.
 */
export function createBodyReader(maxBodyBytes: number) {
  const budget: ByteBudget = createByteBudget(MAX_UNANSWERED_REQUEST_BYTES);
  return (request: NodeRequest, done: (read: HandlerBody) => void): void => {
    const parsed = parsedBody(request, maxBodyBytes);
    if (parsed) {
      done(parsed);
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

/** The body that a framework has read; undefined if it has read none. */
function parsedBody(request: NodeRequest, maxBodyBytes: number): HandlerBody | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  try {
    const { body: parsed } = request;
    if (parsed === undefined && !request.readableEnded) return undefined;
    const body = parsed === undefined ? '' : textOfParsed(parsed, maxBodyBytes);
    const bytes = Buffer.byteLength(body);
    // The framework has decoded it.
    return bytes > maxBodyBytes ? { bytes } : { body, bytes, replaced: { contentEncoding: undefined } };
  } catch (error) {
    return error instanceof TooLong ? { bytes: error.bytes } : { bytes: 0, refusal: NOT_JSON };
  }
}

const NOT_JSON: ServerRefusal = {
  status: 400,
  message:
    'Expected a body that can be written as JSON, got one that is nested too deeply, circular or of another kind.',
  code: 'BAD_REQUEST',
};

class TooLong extends Error {
  /** @param bytes so many at least */
  constructor(readonly bytes: number) {
    super('The body is too long');
  }
}

/** @throws TooLong; anything else if it is nested too deeply or circular, or no JSON for another reason */
function textOfParsed(parsed: unknown, maxBytes: number): string {
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return textOf([parsed]);
  /** The text is no shorter than this: each value takes a character, and the next one a comma. */
  let leastBytes = 0;
  const json = JSON.stringify(parsed, (_name, value: unknown) => {
    leastBytes += 2 + (typeof value === 'string' ? value.length : 0);
    if (leastBytes > maxBytes + 2) throw new TooLong(leastBytes);
    // A number such as 1e999 is refused as the text, and would be accepted as null.
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  });
  if (typeof json !== 'string') throw new TypeError(`it is a ${typeof parsed}`);
  return json;
}
