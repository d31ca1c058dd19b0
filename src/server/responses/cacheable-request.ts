import type { RequestParameters } from '../../gateway.js';
import { answeredAs, isAskedByBody } from '../../http/query-method.js';

/** The parts of a request on which its response depends. */
export interface CacheableRequest {
  /** GET for HEAD. */
  readonly method: string;
  /** With its query string. */
  readonly url: string;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** Of the body of the request; undefined if it has none. */
  readonly contentEncoding: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  /** Empty for a request without a body. */
  readonly body: string;
}

/** Picks these parts from a request. @param header reads a header; one that was sent more than once is a list */
export function toCacheableRequest(
  method: string,
  url: string,
  header: (name: string) => string | string[] | null | undefined,
  body: string,
): CacheableRequest {
  const text = (name: string) => {
    const value = header(name) ?? undefined;
    return typeof value === 'object' ? value.join(', ') : value;
  };
  return {
    method: answeredAs(method),
    url,
    accept: text('accept'),
    origin: text('origin'),
    contentType: text('content-type'),
    contentEncoding: text('content-encoding'),
    acceptEncoding: text('accept-encoding'),
    ifNoneMatch: text('if-none-match'),
    requestId: text('x-request-id'),
    body,
  };
}

/** Others are ignored. */
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

function fromBody({ url, contentType = '', body }: CacheableRequest, path: string) {
  if (url !== path || !/^application\/json(;|$)/.test(contentType)) return undefined;
  return parsed(body);
}

function fromUrl({ method, url }: CacheableRequest, path: string): RequestParameters | undefined {
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // A parameter that is given twice: the GraphQL server decides.
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
