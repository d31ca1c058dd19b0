import type { OperationParameters } from '../execution/operation-writer.js';
import type { CacheableRequest } from './response-cache.js';

/** The parameters of a request, with any others that it has. */
export type RequestParameters = OperationParameters & Readonly<Record<string, unknown>>;

/**
 * Reads the parameters of a request to the GraphQL endpoint.
 *
 * @param path the path of the endpoint, such as `/graphql`
 * @returns undefined for an unusual request, such as a form or a parameter that is given twice
 */
export function parametersOf(request: CacheableRequest, path: string): RequestParameters | undefined {
  return request.method === 'POST' ? fromBody(request, path) : fromUrl(request, path);
}

function fromBody({ url, contentType = '', body }: CacheableRequest, path: string) {
  if (url !== path || !/^application\/json(;|$)/.test(contentType)) return undefined;
  return parsed(body);
}

function fromUrl({ method, url }: CacheableRequest, path: string): RequestParameters | undefined {
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // A parameter that is given twice: the GraphQL server decides.
  if (new Set(search.keys()).size < [...search.keys()].length) return undefined;
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
