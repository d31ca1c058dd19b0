/** Sends responses: complete ones with their caching headers, and all other responses of the gateway. */
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { cachingHeaders, type ResponseInfo } from '../graph/dependencies.js';
import type { EncodedBody, Encoding } from '../http/encodings.js';
import { CACHE_STATUS, type CorsOrigins, corsHeaders, HIT, hasTag, MISS } from '../http/headers.js';
import { QUERY_TYPE } from '../http/operations.js';
import type { PlainResponse } from '../http/refusal.js';
import type { Exchange } from './exchange.js';
import type { CompleteResponse } from './response-cache.js';

/**
 * @param staleListings the value of `x-stale-listings`; undefined if everything in the response is fresh
 * @param info undefined if caches must not store the response
 * @param ageMs the age of a cached response; undefined for a new one
 * @returns a promise if the body must be compressed first
 */
export function sendComplete(
  exchange: Exchange,
  response: CompleteResponse,
  encoding: Encoding,
  staleListings: string | undefined,
  info: ResponseInfo | undefined,
  ageMs?: number,
): Promise<void> | undefined {
  const { body } = response;
  const send = (encoded: EncodedBody) => {
    const headers = [
      ...response.headers,
      CACHE_STATUS,
      ageMs === undefined ? MISS : HIT,
      'x-request-id',
      exchange.requestId,
    ];
    if (staleListings !== undefined) headers.push('x-stale-listings', staleListings);
    if (encoded.encoding !== 'identity') headers.push('content-encoding', encoded.encoding);
    if (!info) headers.push('cache-control', 'no-store');
    else if (exchange.method !== 'POST') {
      const { etag } = body;
      headers.push('etag', etag, ...cachingHeaders(info, ageMs ?? 0));
      if (hasTag(exchange.header('if-none-match'), etag)) {
        exchange.send(304, headers);
        return;
      }
    } else if (ageMs !== undefined) headers.push('age', String(Math.floor(ageMs / 1000)));
    headers.push('content-length', String(encoded.byteLength));
    exchange.send(200, headers, encoded.parts);
  };
  const encoded = body.encoded(encoding);
  if (encoded instanceof Promise) return encoded.then(send);
  send(encoded);
  return undefined;
}

/** The headers of a response without errors, as alternating names and values; undefined if only Yoga can compute them. */
export function createResponseHeaders(corsOrigins: CorsOrigins) {
  /** The last result: most requests have the same headers as the one before. */
  let last: { accept: string; origin: string | undefined; headers: readonly string[] } | undefined;
  return ({ accept = '', origin }: Exchange): readonly string[] | undefined => {
    if (last?.accept === accept && last.origin === origin) return last.headers;
    const type = accept.length > TEXT_LIMITS.header ? undefined : typeFor(accept);
    if (type === undefined) return undefined;
    const common = ['content-type', type, 'x-content-type-options', 'nosniff', 'accept-query', QUERY_TYPE];
    const cors = corsHeaders(corsOrigins, origin);
    const headers = joined([...common, ...cors, 'vary', 'Accept, Accept-Encoding']);
    last = { accept, origin, headers };
    return headers;
  };
}

/**
 * Joins the values of headers with the same name, such as `Vary`. If the server around the gateway has set a header before,
 * Node sends only the last of these values.
 */
function joined(headers: readonly string[]): string[] {
  const values = new Headers();
  for (let nth = 0; nth < headers.length; nth += 2) values.append(headers[nth] ?? '', headers[nth + 1] ?? '');
  return [...values].flat();
}

/**
 * The content type that Yoga gives to a response: the first of the two JSON types in the Accept header. Quality values
 * are ignored. Undefined if the header allows neither type, such as a header with only event streams.
 */
function typeFor(accept: string): string | undefined {
  for (const range of (accept || '*/*').toLowerCase().replace(/\s/g, '').split(',')) {
    const [type = '', ...parameters] = range.split(';');
    const charset = parameters.find((parameter) => parameter.includes('charset='));
    if (charset !== undefined && charset !== 'charset=utf-8') continue;
    if (/^(\*|application)\/(\*|json)$/.test(type)) return 'application/json; charset=utf-8';
    if (/^(\*|application)\/graphql-response\+json$/.test(type))
      return 'application/graphql-response+json; charset=utf-8';
  }
  return undefined;
}

/** The headers of every response, as alternating names and values. */
export function commonHeaders(exchange: Exchange, corsOrigins: CorsOrigins): string[] {
  const cors = corsHeaders(corsOrigins, exchange.origin);
  return ['x-content-type-options', 'nosniff', 'x-request-id', exchange.requestId, ...cors];
}

/** The server sets these headers itself. */
const OF_SERVER = ['connection', 'content-length', 'transfer-encoding'];

/**
 * @param others headers besides those of the response, alternating names and values
 * @returns false if another response has begun (see `Exchange.send`)
 */
export function sendPlain(
  exchange: Exchange,
  { status, headers, body }: PlainResponse,
  others: readonly string[],
  isLast?: boolean,
): boolean {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const own = Object.entries(headers).filter(([name]) => !OF_SERVER.includes(name.toLowerCase()));
  const lines = joined([...others, ...own.flat()]);
  if (bytes?.byteLength) lines.push('content-length', String(bytes.byteLength));
  return exchange.send(status, lines, bytes ? [bytes] : [], isLast);
}
