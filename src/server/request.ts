/** The parts of a request that its response depends on, and the parameters in it. */
import type { RequestParameters } from '../gateway.js';
import { isAskedByBody } from '../http/operations.js';
import type { Exchange } from './exchange.js';

/** The parts of a request that its response depends on. */
export interface CacheableRequest {
  /** GET for a HEAD request. */
  readonly method: string;
  /** The target of the request, with its query string. */
  readonly url: string;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** Empty for a request without a body. */
  readonly body: string;
}

/** Reads the parts of a request that its response depends on. */
export function toCacheableRequest(exchange: Exchange): CacheableRequest {
  return {
    method: exchange.method === 'HEAD' ? 'GET' : exchange.method,
    url: exchange.url,
    accept: exchange.header('accept'),
    origin: exchange.header('origin'),
    contentType: exchange.header('content-type'),
    body: exchange.read.body ?? '',
  };
}

/** The parameters that GraphQL over HTTP defines, and the ids of documents. Others are ignored. */
const KNOWN_PARAMETERS = ['query', 'operationName', 'variables', 'extensions', 'documentId', 'doc_id'];

const OTHER_PARAMETER = new RegExp(`[?&](?!(${KNOWN_PARAMETERS.join('|')})=)[^&]`);

/** A longer request is parsed only when it is next in the queue. */
const MAX_PARSED_EARLY = 16_384;

/**
 * Whether a request to the endpoint has members or parameters that are ignored. False for a long request, and for an
 * unusual body.
 *
 * @param path the path of the endpoint, such as `/graphql`
 */
export function hasIgnoredMembers(request: CacheableRequest, path: string): boolean {
  if (request.body.length + request.url.length > MAX_PARSED_EARLY) return false;
  // The URL is not decoded for this check. A wrong `true` only costs time.
  if (!isAskedByBody(request.method)) return OTHER_PARAMETER.test(request.url);
  return Object.keys(parametersOf(request, path) ?? {}).some((name) => !KNOWN_PARAMETERS.includes(name));
}

/**
 * Reads the parameters of a request to the GraphQL endpoint.
 *
 * @param path the path of the endpoint, such as `/graphql`
 * @returns undefined for an unusual request, such as a form or a parameter that is given twice
 */
export function parametersOf(request: CacheableRequest, path: string): RequestParameters | undefined {
  return isAskedByBody(request.method) ? fromBody(request, path) : fromUrl(request, path);
}

/** The last short body that was parsed: the next call is usually for the same request. */
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
