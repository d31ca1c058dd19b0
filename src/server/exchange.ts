/** A request, the parts that its response depends on, and how the response is sent. */
import type { RequestParameters } from '../gateway.js';
import { answeredAs, isAskedByBody } from '../http/query-method.js';
import type { TraceSpan } from '../tracing.js';
import type { SentRefusal, ServerRefusal } from './refusals.js';

/** One request and its response, of node:http or of `fetch`. Exactly one response is sent. */
export interface Exchange {
  readonly method: string;
  /** The target of the request, as it was sent. */
  readonly url: string;
  /** A header of the request. The values of a header that was sent several times are joined. */
  header(name: string): string | undefined;
  /** When the request was complete and earlier ones of its connection were answered, by `performance.now()`. */
  readonly startedAt: number;
  /** The span of the request, if it is traced. */
  readonly span?: TraceSpan | undefined;
  /** The client, such as its address. Clients take turns, and all requests without a client count as one client. */
  readonly client: string | undefined;
  /** Whether a proxy that is not trusted may have sent the request for another client. */
  readonly isForwarded: boolean;
  /** The HTTP status, once a response was sent. */
  readonly status: number;
  /** The length of the response body, once it was sent. */
  readonly bodyBytes: number;
  /** Whether the client closed the connection before the whole response was sent. */
  readonly isAborted: boolean;
  /** Whether the connection or the request of `fetch` has ended: a response can no longer be sent. */
  readonly isClosed: boolean;
  /**
   * Creates the request for GraphQL Yoga. It is aborted when the client no longer waits for the response.
   *
   * @param body undefined for a request without one, and for a refused body
   * @throws NotAPath if the target of the request is not a path
   */
  toRequest(RequestClass: typeof Request, request: CacheableRequest, body: string | undefined): Request;
  /**
   * Sends a whole response.
   *
   * @param headers names and values, alternating
   * @param parts the body, which must not change afterwards; undefined for a response without one
   */
  send(status: number, headers: string[], parts?: readonly Uint8Array[]): void;
  /**
   * Sends a refusal.
   *
   * @returns undefined if another response has begun, which is then cut off
   */
  refuse(refusal: ServerRefusal): SentRefusal | undefined;
  /** Ends the exchange without a response. */
  destroy(error: Error): void;
}

/**
 * The body for a request of `fetch`. A body without a type is passed as bytes: `fetch` would add the type `text/plain` to
 * a text, and hide that the type is missing.
 */
export function typedBody(
  { contentType }: CacheableRequest,
  body: string | undefined,
): string | Uint8Array<ArrayBuffer> | null {
  if (body === undefined) return null;
  return contentType === undefined ? new TextEncoder().encode(body) : body;
}

/** The length of all parts, in bytes. */
export function totalBytes(parts: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { byteLength } of parts) bytes += byteLength;
  return bytes;
}

/** Thrown for a request whose target is not a path, such as `example.org:443`. */
export class NotAPath extends Error {}

/** The parts of a request that its response depends on. */
export interface CacheableRequest {
  /** GET for a HEAD request. */
  readonly method: string;
  /** The target of the request, with its query string. */
  readonly url: string;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** The encoding of the request body; undefined without the header. */
  readonly contentEncoding: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  /** Empty for a request without a body. */
  readonly body: string;
}

/**
 * Reads the parts of a request that its response depends on.
 *
 * @param isDecoded whether a framework has decoded the body
 * @param compresses whether the response may be compressed
 */
export function toCacheableRequest(
  exchange: Pick<Exchange, 'method' | 'url' | 'header'>,
  body: string,
  isDecoded: boolean,
  compresses: boolean,
): CacheableRequest {
  return {
    method: answeredAs(exchange.method),
    url: exchange.url,
    accept: exchange.header('accept'),
    origin: exchange.header('origin'),
    contentType: exchange.header('content-type'),
    contentEncoding: isDecoded ? undefined : exchange.header('content-encoding'),
    acceptEncoding: compresses ? exchange.header('accept-encoding') : undefined,
    ifNoneMatch: exchange.header('if-none-match'),
    requestId: exchange.header('x-request-id'),
    body,
  };
}

/** The parameters that GraphQL over HTTP defines. Others are ignored. */
const KNOWN_PARAMETERS = ['query', 'operationName', 'variables', 'extensions', 'documentId', 'doc_id'];

/**
 * Reads the parameters of a request to the GraphQL endpoint.
 *
 * @param path the path of the endpoint, such as `/graphql`
 * @returns undefined for an unusual request, such as a form or a parameter that is given twice
 */
export function parametersOf(request: CacheableRequest, path: string): RequestParameters | undefined {
  return isAskedByBody(request.method) ? fromBody(request, path) : fromUrl(request, path);
}

const OTHER_PARAMETER = new RegExp(`[?&](?!(${KNOWN_PARAMETERS.join('|')})=)[^&]`);

/** A longer request is parsed only when it is next in the queue. */
const MAX_PARSED_EARLY = 16_384;

/**
 * Whether a request to the endpoint has members or parameters that are ignored. False for a long request, and for an
 * unusual body.
 */
export function hasIgnoredMembers(request: CacheableRequest, path: string): boolean {
  if (request.body.length + request.url.length > MAX_PARSED_EARLY) return false;
  // The URL is not decoded for this check. A wrong `true` only costs time.
  if (!isAskedByBody(request.method)) return OTHER_PARAMETER.test(request.url);
  return Object.keys(parametersOf(request, path) ?? {}).some((name) => !KNOWN_PARAMETERS.includes(name));
}

/**
 * The body that was parsed last, since the same request is usually executed next. It is one short body only: parsed
 * members take far more memory than their text.
 */
let lastParsed: { readonly body: string; readonly parameters: RequestParameters | undefined } | undefined;

function fromBody({ url, contentType = '', body }: CacheableRequest, path: string) {
  if (url !== path || !/^application\/json(;|$)/.test(contentType)) return undefined;
  if (body.length > MAX_PARSED_EARLY) return parsed(body);
  if (lastParsed?.body !== body) lastParsed = { body, parameters: parsed(body) };
  return lastParsed.parameters;
}

function fromUrl({ method, url }: CacheableRequest, path: string): RequestParameters | undefined {
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // GraphQL Yoga decides about a parameter that is given twice.
  if (KNOWN_PARAMETERS.some((name) => search.getAll(name).length > 1)) return undefined;
  const { variables, extensions, ...plain } = Object.fromEntries(search);
  return {
    ...plain,
    variables: variables === undefined ? undefined : (parsed(variables) ?? variables),
    extensions: extensions === undefined ? undefined : (parsed(extensions) ?? extensions),
  };
}

function parsed(text: string): RequestParameters | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as RequestParameters)
      : undefined;
  } catch {
    return undefined;
  }
}
