import { LRUCache } from 'lru-cache';
import { CACHE_STATUS } from '../../http/caching.js';
import { type CorsOrigins, corsHeaders } from '../../http/cors.js';
import { QUERY_TYPE } from '../../http/query-method.js';
import type { CacheableRequest } from './cacheable-request.js';

/** The headers of a response without errors: names and values in turn, without those of one response alone. */
export interface KnownHeaders {
  /** If it holds for this moment only. */
  readonly plain: readonly string[];
  /** If caches may keep it: with those that it varies by. */
  readonly varying: readonly string[];
}

/** Headers that are set for each response. */
const OF_ONE_RESPONSE = new Set([CACHE_STATUS, 'x-request-id', 'x-stale-listings', 'content-length']);
/** Accept headers whose type is remembered; programs of one kind send equal ones. */
const MAX_KNOWN = 100;
/** A response to a longer Accept header is left to GraphQL Yoga. */
const MAX_ACCEPT_LENGTH = 500;

/**
 * Makes the function that gives a response that is written without GraphQL Yoga the headers that Yoga would give it:
 * undefined if only Yoga knows them.
 */
export function createResponseHeaders(
  corsOrigins: CorsOrigins,
): (request: Pick<CacheableRequest, 'accept' | 'origin'>) => KnownHeaders | undefined {
  const types = new LRUCache<string, { readonly type: string | undefined }>({
    max: MAX_KNOWN,
    memoMethod: (accept) => ({ type: typeFor(accept) }),
  });
  /** Most requests are like the one before. */
  let last: { accept: string; origin: string | undefined; headers: KnownHeaders } | undefined;
  return ({ accept = '', origin }) => {
    if (last?.accept === accept && last.origin === origin) return last.headers;
    const type = accept.length > MAX_ACCEPT_LENGTH ? undefined : types.memo(accept).type;
    if (type === undefined) return undefined;
    const common = ['content-type', type, 'x-content-type-options', 'nosniff', 'accept-query', QUERY_TYPE];
    const headers = withVarying([...common, ...corsHeaders(corsOrigins, origin).flat()]);
    last = { accept, origin, headers };
    return headers;
  };
}

/** The headers of a response by GraphQL Yoga. */
export function headersOf(response: Response): KnownHeaders {
  return withVarying([...response.headers].filter(([name]) => !OF_ONE_RESPONSE.has(name)).flat());
}

/**
 * The type that Yoga gives to a response: of those that it can write, the one that comes first in the Accept header. It
 * reads no quality values. Undefined for event streams, multipart responses and what is not acceptable.
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

function withVarying(plain: readonly string[]): KnownHeaders {
  return { plain, varying: [...plain, 'vary', 'Accept, Accept-Encoding'] };
}
