import type { Answer, Gateway, WrittenResponse } from '../../gateway.js';
import type { DependencyCheck, ResponseInfo } from '../../graph/dependencies.js';
import { totalBytes } from '../../http/total-bytes.js';
import type { OperationOutcome } from '../../yoga.js';
import type { ReadBody } from '../connections/read-body.js';
import { type CacheableRequest, parametersOf } from './cacheable-request.js';
import { CompleteResponse } from './complete-response.js';
import type { Exchange } from './exchange.js';
import type { ResponseCache } from './response-cache.js';
import { createResponseHeaders, headersOf, type KnownHeaders } from './response-headers.js';

export interface ExecutorOptions {
  readonly gateway: Gateway;
  /** Checks whether a response is current. */
  readonly checkDependencies: DependencyCheck;
  /** Gets the responses that can be reused. */
  readonly cache: ResponseCache;
}

/** What came of a request: a complete response without errors, or any other response of GraphQL Yoga. */
export type Executed =
  | {
      readonly complete: CompleteResponse;
      /** Undefined if the response holds for this moment only. */
      readonly info: ResponseInfo | undefined;
      /** The value of `x-stale-listings`, for a response without `info`; undefined if everything that was read is fresh. */
      readonly staleListings?: string | undefined;
      /** Present if GraphQL Yoga executed the request, and gave it. */
      readonly requestId: string | undefined;
    }
  | { readonly complete?: never; readonly response: Response; readonly outcome: OperationOutcome };

/**
 * Executes a request, and caches its response if that is possible. Without a promise if it was written at once.
 *
 * @param key the request's cache key; undefined if it comes for the first time, or cannot be cached
 */
export type Executor = (
  key: string | undefined,
  request: CacheableRequest,
  read: ReadBody,
  exchange: Exchange,
) => Executed | Promise<Executed>;

/** Creates the executor of one gateway. */
export function createExecutor(options: ExecutorOptions): Executor {
  const { gateway, checkDependencies, cache } = options;
  const { path } = gateway;
  const headersFor = createResponseHeaders(gateway.corsOrigins);

  /** A response that was written without GraphQL Yoga. It is cached from its second time on. */
  function ofWritten(
    key: string | undefined,
    { body, operation, dependencies, staleListings }: WrittenResponse,
    headers: KnownHeaders,
  ): Executed {
    const info = dependencies && checkDependencies(dependencies);
    if (!info) {
      const complete = new CompleteResponse(operation, headers.plain, body, false);
      return { complete, info, staleListings: staleListings(), requestId: undefined };
    }
    const isStored = key !== undefined;
    const parts = isStored ? [copyOf(body)] : body;
    const complete = new CompleteResponse(operation, headers.varying, parts, isStored);
    if (isStored) cache.set(key, { response: complete, dependencies, madeAt: info.now });
    return { complete, info, requestId: undefined };
  }

  /** A response by GraphQL Yoga. It took so long that it is cached at once. */
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

/** A copy in one piece, which keeps no other memory alive. */
function copyOf(parts: readonly Buffer[]): Buffer {
  const copy = Buffer.allocUnsafeSlow(totalBytes(parts));
  let at = 0;
  for (const part of parts) at += part.copy(copy, at);
  if (at < copy.length) throw new RangeError(`Expected to copy ${copy.length} bytes, copied ${at}`);
  return copy;
}

/** False for errors, and for multipart responses and event streams, whose headers describe how they are sent. */
function isSingleJson({ status, headers }: Response): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers.get('content-type') ?? '');
}
