import type { Gateway, ToRequest, WrittenResponse } from '../../gateway.js';
import type { DependencyCheck, ResponseInfo } from '../../graph/dependencies.js';
import { GRAPHQL_PATH } from '../../http/paths.js';
import { urlOf } from '../../http/request-target.js';
import type { OperationOutcome } from '../../yoga.js';
import type { Exchange } from '../http-server.js';
import type { ReadBody } from '../read-body.js';
import { type CacheableRequest, parametersOf } from './cacheable-request.js';
import { CompleteResponse } from './complete-response.js';
import type { ResponseCache } from './response-cache.js';
import { createResponseHeaders } from './response-headers.js';

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
      /** The value of `x-stale-listings`; undefined if everything that was read is fresh. */
      readonly staleListings: string | undefined;
      /** Present if GraphQL Yoga executed the request, and gave it. */
      readonly requestId: string | undefined;
    }
  | { readonly complete?: never; readonly response: Response; readonly outcome: OperationOutcome };

/**
 * Executes a request, and caches its response if that is possible.
 *
 * @param key the request's cache key; undefined if it comes for the first time, or cannot be cached
 */
export type Executor = (
  key: string | undefined,
  request: CacheableRequest,
  read: ReadBody,
  exchange: Exchange,
) => Promise<Executed>;

/** A request whose target is not a path, such as `example.org:443`. */
export class NotAPath extends Error {}

export function createExecutor(options: ExecutorOptions): Executor {
  const { gateway, checkDependencies, cache } = options;
  const headersOf = createResponseHeaders(gateway.corsOrigins);

  /** A response that was written without GraphQL Yoga. It is cached from its second time on. */
  function ofWritten(
    key: string | undefined,
    { body, operation, dependencies, staleListings }: WrittenResponse,
    headers: readonly string[],
  ): Executed {
    const info = dependencies && checkDependencies(dependencies);
    if (!info) {
      const complete = new CompleteResponse(operation, headers, body, false);
      return { complete, info, staleListings, requestId: undefined };
    }
    const isStored = key !== undefined;
    const itsBody = isStored ? copyOf(body) : body;
    const complete = new CompleteResponse(operation, varying(headers), itsBody, isStored);
    if (isStored) cache.set(key, { response: complete, dependencies });
    return { complete, info, staleListings, requestId: undefined };
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
    const headers = headersOf.learn(request, response);
    const { dependencies, operation } = cacheable;
    const key = givenKey ?? cache.cacheKey(request);
    const info = checkDependencies(dependencies);
    if (key === undefined || !info) return { response, outcome };
    // Yoga holds the text. arrayBuffer() would copy its bytes once more.
    const body = Buffer.from(await response.text());
    const complete = new CompleteResponse(operation, varying(headers), body, true);
    cache.set(key, { response: complete, dependencies });
    const requestId = response.headers.get('x-request-id') ?? '';
    return { complete, info, staleListings: info.staleListings, requestId };
  }

  return async (key, request, read, exchange) => {
    const outcome: OperationOutcome = {};
    const context = { client: exchange.connection.client, bodyBytes: read.bytes, outcome };
    const toRequest: ToRequest = (RequestClass) => toFetchRequest(RequestClass, read, exchange);
    const headers = isOperation(request) ? headersOf.written(request) : undefined;
    if (!headers) return ofYoga(key, request, await gateway.fetch(toRequest, context), outcome);
    const parameters = () => parametersOf(request, GRAPHQL_PATH);
    const answer = await gateway.answer(parameters, toRequest, context);
    return 'written' in answer
      ? ofWritten(key, answer.written, headers)
      : ofYoga(key, request, answer.response, outcome);
  };
}

export function isOperation({ url }: CacheableRequest): boolean {
  return url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`);
}

/** @throws NotAPath if the target of the request is no path */
function toFetchRequest(
  RequestClass: typeof Request,
  { body }: ReadBody,
  { request, response }: Exchange,
): Request {
  const url = urlOf(request);
  if (!url) throw new NotAPath();
  const closed = new AbortController();
  response.once('close', () => {
    // Nobody waits for the end of a complete response, and an abort costs as much as a small operation.
    if (!response.writableFinished) closed.abort();
  });
  return new RequestClass(url, {
    method: request.method ?? 'GET',
    headers: request.headers as Record<string, string>,
    body: body ?? null,
    signal: closed.signal,
  });
}

/** A copy that keeps no other memory alive. */
function copyOf(body: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(body.byteLength);
  body.copy(copy);
  return copy;
}

/** False for errors, and for multipart responses and event streams, whose headers describe how they are sent. */
function isSingleJson({ status, headers }: Response): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers.get('content-type') ?? '');
}

function varying(headers: readonly string[]): readonly string[] {
  return [...headers, 'vary', 'Accept, Accept-Encoding'];
}
