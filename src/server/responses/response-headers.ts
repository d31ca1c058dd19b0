import { LRUCache } from 'lru-cache';
import { CACHE_STATUS } from '../../http/caching.js';
import { type CorsOrigins, corsHeaders } from '../../http/cors.js';
import { QUERY_TYPE } from '../../http/query-method.js';
import type { CacheableRequest } from './cacheable-request.js';

/** The headers of a response without errors: names and values in turn, without those of one response alone. */
type HeaderList = readonly string[];

/** The headers of a response. */
export interface KnownHeaders {
  /** If it holds for this moment only. */
  readonly plain: HeaderList;
  /** If caches may keep it: with those that it varies by. */
  readonly varying: HeaderList;
}

/** Gives a response that is written without GraphQL Yoga the headers that Yoga would give it. */
export interface ResponseHeaders {
  /** The headers of a response to this request; undefined if they are not known. */
  written(request: CacheableRequest): KnownHeaders | undefined;
  /** The headers of a response by Yoga, which are known from now on. */
  learn(request: CacheableRequest, response: Response): KnownHeaders;
}

/** Headers that are set for each response. */
const OF_ONE_RESPONSE = new Set([CACHE_STATUS, 'x-request-id', 'x-stale-listings', 'content-length']);
const JSON_TYPE = 'application/json; charset=utf-8';
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8';
/** The type that Yoga gives, by the Accept header; for those that most clients send. Others are learned. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/json', JSON_TYPE],
  ['application/json, application/graphql-response+json', JSON_TYPE],
  ['application/graphql-response+json', GRAPHQL_TYPE],
  ['application/graphql-response+json, application/json', GRAPHQL_TYPE],
  // Apollo Client.
  ['application/graphql-response+json,application/json;q=0.9', GRAPHQL_TYPE],
  // urql.
  [
    'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
    GRAPHQL_TYPE,
  ],
  // The executor of GraphQL Tools, for stitched graphs and Hive Gateway.
  ['application/graphql-response+json, application/json, multipart/mixed', GRAPHQL_TYPE],
]);
/** Pages and programs of one kind send equal headers. */
const MAX_LEARNED = 100;

export function createResponseHeaders(corsOrigins: CorsOrigins): ResponseHeaders {
  const known = new LRUCache<string, KnownHeaders>({ max: MAX_LEARNED });
  /** Most requests are like the one before. */
  let last: { readonly request: Parts; readonly headers: KnownHeaders } | undefined;

  function common({ accept = '', origin }: CacheableRequest): KnownHeaders | undefined {
    const type = TYPES.get(accept);
    if (type === undefined) return undefined;
    return withVarying([
      'content-type',
      type,
      'x-content-type-options',
      'nosniff',
      'accept-query',
      QUERY_TYPE,
      ...corsHeaders(corsOrigins, origin).flat(),
    ]);
  }

  return {
    written(request) {
      if (last && isAlike(last.request, request)) return last.headers;
      const key = keyOf(request);
      const headers = known.get(key) ?? common(request);
      if (!headers) return undefined;
      known.set(key, headers);
      last = { request: partsOf(request), headers };
      return headers;
    },
    learn(request, response) {
      const headers = withVarying(
        [...response.headers].filter(([name]) => !OF_ONE_RESPONSE.has(name)).flat(),
      );
      known.set(keyOf(request), headers);
      last = undefined;
      return headers;
    },
  };
}

function withVarying(plain: HeaderList): KnownHeaders {
  return { plain, varying: [...plain, 'vary', 'Accept, Accept-Encoding'] };
}

/** The headers of a response depend on nothing else. */
type Parts = Pick<CacheableRequest, 'method' | 'accept' | 'origin'>;

function partsOf({ method, accept, origin }: CacheableRequest): Parts {
  return { method, accept, origin };
}

function isAlike(one: Parts, other: Parts): boolean {
  return one.method === other.method && one.accept === other.accept && one.origin === other.origin;
}

function keyOf({ method, accept = '', origin = '' }: Parts): string {
  return `${method}\n${accept}\n${origin}`;
}
