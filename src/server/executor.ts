/** Executes requests that the response cache cannot answer, and fills the cache. */
import type { Answer, Gateway, WrittenResponse } from '../gateway.js';
import type { DependencyCheck, ResponseInfo } from '../graph/dependencies.js';
import { CACHE_STATUS, COST } from '../http/caching.js';
import { type CorsOrigins, corsHeaders } from '../http/cors.js';
import { QUERY_TYPE } from '../http/query-method.js';
import type { OperationOutcome } from '../yoga.js';
import type { ReadBody } from './bodies.js';
import { type CacheableRequest, type Exchange, parametersOf, totalBytes } from './exchange.js';
import type { ResponseCache } from './response-cache.js';
import { CompleteResponse } from './send-response.js';

export interface ExecutorOptions {
  readonly gateway: Gateway;
  /** Checks whether a response is current. */
  readonly checkDependencies: DependencyCheck;
  /** Where responses that can be reused are stored. */
  readonly cache: ResponseCache;
}

/** The result of a request: a complete response without errors, or any other response of GraphQL Yoga. */
export type Executed =
  | {
      readonly complete: CompleteResponse;
      /** Undefined if the response must not be cached. */
      readonly info: ResponseInfo | undefined;
      /** The value of `x-stale-listings` for a response without `info`. Undefined if all listings in it are fresh. */
      readonly staleListings?: string | undefined;
      /** Present if GraphQL Yoga executed the request and set the id. */
      readonly requestId: string | undefined;
    }
  | { readonly complete?: never; readonly response: Response; readonly outcome: OperationOutcome };

/**
 * Executes a request, and caches its response if possible. Returns no promise if the response was written at once.
 *
 * @param key the request's cache key; undefined if the request is new or cannot be cached
 */
export type Executor = (
  key: string | undefined,
  request: CacheableRequest,
  read: ReadBody,
  exchange: Exchange,
) => Executed | Promise<Executed>;

export function createExecutor(options: ExecutorOptions): Executor {
  const { gateway, checkDependencies, cache } = options;
  const { path } = gateway;
  const headersFor = createResponseHeaders(gateway.corsOrigins);

  /** The result for a response of the operation writer. The response is cached from the second equal request on. */
  function ofWritten(
    key: string | undefined,
    { body, operation, cost, dependencies, staleListings }: WrittenResponse,
    headers: KnownHeaders,
  ): Executed {
    const info = dependencies && checkDependencies(dependencies);
    if (!info) {
      const complete = new CompleteResponse(operation, [...headers.plain, COST, String(cost)], body, false);
      return { complete, info, staleListings: staleListings(), requestId: undefined };
    }
    const isStored = key !== undefined;
    const parts = isStored ? [copyOf(body)] : body;
    const complete = new CompleteResponse(
      operation,
      [...headers.varying, COST, String(cost)],
      parts,
      isStored,
    );
    if (isStored) cache.set(key, { response: complete, dependencies, madeAt: info.now });
    return { complete, info, requestId: undefined };
  }

  /** The result for a response by GraphQL Yoga. The response is cached at the first request, since Yoga is slow. */
  async function ofYoga(
    givenKey: string | undefined,
    request: CacheableRequest,
    response: Response,
    outcome: OperationOutcome,
  ): Promise<Executed> {
    const { cacheable } = outcome;
    if (!cacheable || !isSingleJson(response)) return { response, outcome };
    const headers = headersOf(response);
    const { dependencies, operation } = cacheable;
    const key = givenKey ?? cache.cacheKey(request);
    const info = checkDependencies(dependencies);
    if (key === undefined || !info) return { response, outcome };
    // Yoga holds the text. arrayBuffer() would copy its bytes once more.
    const body = Buffer.from(await response.text());
    const complete = new CompleteResponse(operation, headers.varying, [body], true);
    cache.set(key, { response: complete, dependencies, madeAt: info.now });
    const requestId = response.headers.get('x-request-id') ?? '';
    return { complete, info, requestId };
  }

  return (key, request, read, exchange) => {
    const { client } = exchange;
    const isOperation = gateway.isOperation(request);
    const headers = isOperation ? headersFor(request) : undefined;
    const outcome: OperationOutcome = {};
    const answer = gateway.respond(
      {
        isOperation,
        parameters: headers && (() => parametersOf(request, path)),
        toRequest: (RequestClass) => exchange.toRequest(RequestClass, request, read.body),
      },
      { client, bodyBytes: read.bytes, outcome },
    );
    const executed = (given: Answer) => {
      if ('response' in given) return ofYoga(key, request, given.response, outcome);
      if (!headers) throw new TypeError('Expected a response of GraphQL Yoga');
      return ofWritten(key, given.written, headers);
    };
    return answer instanceof Promise ? answer.then(executed) : executed(answer);
  };
}

/** Copies the parts into one buffer of their size: the parts can be views of larger buffers, which would stay in memory. */
function copyOf(parts: readonly Buffer[]): Buffer {
  const copy = Buffer.allocUnsafeSlow(totalBytes(parts));
  let at = 0;
  for (const part of parts) at += part.copy(copy, at);
  if (at < copy.length) throw new RangeError(`Expected to copy ${copy.length} bytes, copied ${at}`);
  return copy;
}

/** Whether the body is one JSON text. False for errors, multipart responses and event streams. */
function isSingleJson({ status, headers }: Response): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers.get('content-type') ?? '');
}

/** The headers of a response without errors, names and values alternating, without {@link OF_ONE_RESPONSE}. */
interface KnownHeaders {
  /** For a response that must not be cached. */
  readonly plain: readonly string[];
  /** For a response that caches may store: the same headers, and `vary`. */
  readonly varying: readonly string[];
}

/** Headers that differ between responses to equal requests. */
const OF_ONE_RESPONSE = new Set([CACHE_STATUS, 'x-request-id', 'x-stale-listings', 'content-length']);
/** Requests with a longer Accept header are left to GraphQL Yoga. */
const MAX_ACCEPT_LENGTH = 500;

/**
 * Creates the function that computes the headers of a response written without GraphQL Yoga: the same that Yoga would
 * set. The function returns undefined if only Yoga can compute them.
 */
function createResponseHeaders(
  corsOrigins: CorsOrigins,
): (request: Pick<CacheableRequest, 'accept' | 'origin'>) => KnownHeaders | undefined {
  /** The last result: most requests have the same headers as the one before. */
  let last: { accept: string; origin: string | undefined; headers: KnownHeaders } | undefined;
  return ({ accept = '', origin }) => {
    if (last?.accept === accept && last.origin === origin) return last.headers;
    const type = accept.length > MAX_ACCEPT_LENGTH ? undefined : typeFor(accept);
    if (type === undefined) return undefined;
    const common = ['content-type', type, 'x-content-type-options', 'nosniff', 'accept-query', QUERY_TYPE];
    const headers = withVarying([...common, ...corsHeaders(corsOrigins, origin).flat()]);
    last = { accept, origin, headers };
    return headers;
  };
}

/** The headers of a response by GraphQL Yoga. */
function headersOf(response: Response): KnownHeaders {
  return withVarying([...response.headers].filter(([name]) => !OF_ONE_RESPONSE.has(name)).flat());
}

/**
 * The content type that Yoga gives to a response: of the types that it can write, the first in the Accept header. Yoga
 * ignores quality values. Undefined for event streams, multipart responses and types that it cannot write.
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
