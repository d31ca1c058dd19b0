/** The differences between HTTP methods that matter to the gateway. */
/** The HTTP method QUERY (RFC 10008): safe and cacheable as GET, with the request in a body as POST. */
export const QUERY = 'QUERY';

/** The media type of the content of a QUERY request, for the header `Accept-Query`. */
export const QUERY_TYPE = 'application/json';

/** Whether responses to this method can be cached, and conditional requests are answered with 304. */
export function isCacheableMethod(method: string): boolean {
  return method === 'GET' || method === QUERY;
}

/** The method to respond to: GET for HEAD (RFC 9110), whose response is sent without its body. */
export function answeredAs(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** Whether requests of this method carry the operation in their body. */
export function isAskedByBody(method: string): boolean {
  return method === 'POST' || method === QUERY;
}
