/** Groups HTTP methods, and reads the heads of requests. */

/** The HTTP method QUERY (RFC 10008): safe and cacheable as GET, with the request in a body as POST. */
export const QUERY = 'QUERY';

/** The media type of the body of a QUERY request, for the header `Accept-Query`. */
export const QUERY_TYPE = 'application/json';

/** Whether a Content-Type is `application/json`, in any letter case and with any parameters. */
export function isJsonType(contentType: string): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType);
}

export function isAskedByBody(method: string): boolean {
  return method === 'POST' || method === QUERY;
}

export interface RequestHead {
  /** The HTTP method, with GET in place of HEAD. */
  readonly method: string;
  /** The target: a path with its query string, or a whole URL. */
  readonly url: string;
  readonly accept?: string | null | undefined;
}

export function pathIn(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
  const end = path.indexOf('?');
  return end < 0 ? path : path.slice(0, end);
}
