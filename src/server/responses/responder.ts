import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from '../../gateway.js';
import type { DependencyCheck } from '../../graph/dependencies.js';
import { elapsedMs } from '../../http/elapsed.js';
import { requestIdFrom } from '../../http/request-ids.js';
import type { Logger } from '../../logger.js';
import type { ClientLimit } from '../../scheduling/client-limit.js';
import type { ReadBody } from '../read-body.js';
import { INTERNAL_ERROR } from '../refusals.js';
import type { CacheableRequest } from './cacheable-request.js';
import { type Exchange, NotAPath } from './exchange.js';
import { createExecutor, type Executed } from './executor.js';
import { createOperationLimit } from './operation-limit.js';
import { createResponseCache } from './response-cache.js';
import { sendComplete, sendOnce, sendResponse } from './send-response.js';

export interface ResponderOptions {
  readonly gateway: Gateway;
  /** Checks whether a cached response is still current. */
  readonly checkDependencies: DependencyCheck;
  /** A document with more lexical tokens is never cached; the gateway refuses it. */
  readonly maxQueryTokens: number;
  /** Estimated size of all cached responses; 24 MB unless given. */
  readonly maxCacheBytes?: number;
  /** Limits what each client may have executed; there is no limit unless given. */
  readonly clientLimit?: ClientLimit | undefined;
  /** Whether the endpoint answers browsers with a page, which is not limited; it does unless given. */
  readonly graphiql?: boolean | undefined;
  readonly log: Logger;
}

/**
 * Answers a request whose body was read.
 *
 * @param isPortClosed read when the response is sent: each one is then the last of its connection
 */
export type Responder = (
  request: CacheableRequest,
  read: ReadBody,
  exchange: Exchange,
  isPortClosed: () => boolean,
) => void;

const MAX_CACHE_BYTES = 24 * 2 ** 20;
/** How long a request waits for an identical one that is already executing, which may itself wait for the upstream. */
const COALESCE_WITHIN_MS = 1_000;

/** One request, from its arrival to its response. */
interface Received {
  readonly request: CacheableRequest;
  readonly read: ReadBody;
  readonly exchange: Exchange;
  /** When it arrived, by `performance.now()`. */
  readonly startedAt: number;
  readonly isPortClosed: () => boolean;
}

/** Creates the responder with an empty cache of responses. */
export function createResponder(options: ResponderOptions): Responder {
  const { gateway, checkDependencies, maxQueryTokens, maxCacheBytes = MAX_CACHE_BYTES, log } = options;
  const { path } = gateway;
  const cache = createResponseCache(maxCacheBytes, path, maxQueryTokens, gateway.trusted);
  const { clientLimit, graphiql: hasPlayground = true } = options;
  const limit = clientLimit && createOperationLimit({ limit: clientLimit, path, hasPlayground, log });
  const execute = createExecutor({ gateway, checkDependencies, cache });
  /** The executions under way, by cache key. */
  const executing = new Map<string, Promise<void>>();

  function logAnswered(
    { request, exchange, startedAt }: Received,
    requestId: string,
    operation?: string,
  ): void {
    if (!log.isLevelEnabled('info')) return;
    const fields = {
      requestId,
      method: request.method,
      path,
      status: exchange.status,
    };
    log.info({ ...fields, operation, ms: elapsedMs(startedAt) }, 'Answered');
  }

  /** Cache hit: sends the cached response if its dependencies are still current. */
  function sendFromCache(key: string, received: Received): boolean {
    const cached = cache.get(key);
    if (!cached) return false;
    const info = checkDependencies(cached.dependencies);
    if (!info) {
      cache.delete(key);
      return false;
    }
    const { request, exchange, isPortClosed } = received;
    const requestId = requestIdFrom(request.requestId);
    sendComplete(request, exchange, cached.response, info, requestId, isPortClosed());
    logAnswered(received, requestId, cached.response.operation);
    return true;
  }

  /**
   * Cache miss: executes the request. Equal concurrent requests share one execution.
   *
   * @param key undefined for a request that comes for the first time, or that cannot be cached
   */
  async function sendFromGateway(key: string | undefined, received: Received): Promise<void> {
    const { request, read, exchange } = received;
    const sameRequest = key === undefined ? undefined : executing.get(key);
    if (key !== undefined && sameRequest) {
      await Promise.race([sameRequest, sleep(COALESCE_WITHIN_MS, undefined, { ref: false })]);
      if (sendFromCache(key, received)) return;
    }
    const refusal = limit && (await limit(request, exchange));
    if (refusal) {
      exchange.refuse({ ...refusal, isLast: received.isPortClosed() || read.isCutOff === true });
      return;
    }
    const execution = execute(key, request, read, exchange);
    if (key !== undefined && execution instanceof Promise) noteExecution(key, execution);
    // Without a promise if there is none: most operations are executed at once.
    await send(execution instanceof Promise ? await execution : execution, received);
  }

  async function send(executed: Executed, received: Received): Promise<void> {
    const { request, read, exchange, isPortClosed } = received;
    // Read after the execution: a request that came before the stop must also end its connection.
    const isLast = isPortClosed() || read.isCutOff === true;
    if (!executed.complete) {
      const { response } = executed;
      const isUncached = request.url.startsWith(path) && !response.headers.has('cache-control');
      await sendResponse(exchange, response, isUncached, isLast);
      return;
    }
    const { complete, info, staleListings } = executed;
    const requestId = executed.requestId ?? requestIdFrom(request.requestId);
    if (info) sendComplete(request, exchange, complete, info, requestId, isLast);
    else sendOnce(exchange, complete, staleListings, requestId, isLast);
    // GraphQL Yoga has logged its own.
    if (executed.requestId === undefined) logAnswered(received, requestId, complete.operation);
  }

  /** Lets equal requests wait for this execution, whether it succeeds or fails. */
  function noteExecution(key: string, execution: Promise<unknown>): void {
    const done = () => {
      if (executing.get(key) === settled) executing.delete(key);
    };
    const settled = execution.then(done, done);
    executing.set(key, settled);
  }

  return (request, read, exchange, isPortClosed) => {
    const startedAt = performance.now();
    const received = { request, read, exchange, startedAt, isPortClosed };
    const key = cache.knownKey(request) ?? (cache.hasSeen(request) ? cache.cacheKey(request) : undefined);
    if (key !== undefined && sendFromCache(key, received)) return;
    sendFromGateway(key, received).catch((err: unknown) => {
      // The client closed the connection: not an error of the gateway.
      if (exchange.isClosed) return;
      if (err instanceof NotAPath) {
        exchange.refuse({ status: 400, message: 'Expected a path, such as /graphql.', isLast: true });
        return;
      }
      log.error({ err }, 'Internal error while answering a request');
      exchange.refuse(INTERNAL_ERROR);
    });
  };
}
