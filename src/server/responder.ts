/** Responds to requests: from the response cache, or by executing them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from '../gateway.js';
import { ageOf, type DependencyCheck } from '../graph/dependencies.js';
import { isIdentity } from '../http/encodings.js';
import { pathIn } from '../http/operations.js';
import { isAskedByBody } from '../http/query-method.js';
import { requestIdFrom } from '../http/request-ids.js';
import type { Logger } from '../logger/logger.js';
import type { RateLimitMetrics } from '../observability/metrics.js';
import type { CacheResult, CacheSize } from '../observability/request-metrics.js';
import type { ClientLimit } from '../scheduling/client-limit.js';
import type { OperationOutcome } from '../yoga.js';
import type { ReadBody } from './bodies.js';
import {
  type CacheableRequest,
  type Exchange,
  hasIgnoredMembers,
  NotAPath,
  toCacheableRequest,
} from './exchange.js';
import { createExecutor, type Executed } from './executor.js';
import { createOperationLimit } from './operation-limit.js';
import { ENCODED_BODY, INTERNAL_ERROR, type ServerRefusal } from './refusals.js';
import type { RequestObserver } from './request-observer.js';
import { createResponseCache } from './response-cache.js';
import { sendComplete, sendOnce, sendResponse } from './send-response.js';

export interface ResponderOptions {
  readonly gateway: Gateway;
  /** Checks whether a cached response is still current. */
  readonly checkDependencies: DependencyCheck;
  /** A document with more lexical tokens is not cached, since the gateway refuses it. */
  readonly maxQueryTokens: number;
  /** False leaves compression to the server in front; true unless given. */
  readonly compression?: boolean | undefined;
  /** The limit on the estimated size of the response cache, in bytes; 24 MB unless given. */
  readonly maxCacheBytes?: number;
  /** Limits the operations that each client may have executed; no limit unless given. */
  readonly clientLimit?: ClientLimit | undefined;
  /** Networks of proxies whose `X-Forwarded-For` is trusted; none unless given. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Counts and logs each request. */
  readonly observer: RequestObserver;
  /** Shows the size of the response cache, and counts operations that `clientLimit` refuses. */
  readonly metrics?:
    | { watchCache(size: () => CacheSize): void; readonly rateLimit: RateLimitMetrics }
    | undefined;
  readonly log: Logger;
}

/**
 * Responds to a request whose body was read.
 *
 * @param isPortClosed called when the response is sent; if true, the response closes its connection
 */
export type Responder = (read: ReadBody, exchange: Exchange, isPortClosed: () => boolean) => void;

const MAX_CACHE_BYTES = 24 * 2 ** 20;
/** How long a request waits for an identical one that is already executing, which may itself wait for the upstream. */
const COALESCE_WITHIN_MS = 1_000;

/** A request that was received, and the exchange for its response. */
interface Received {
  readonly request: CacheableRequest;
  readonly read: ReadBody;
  readonly exchange: Exchange;
  readonly isPortClosed: () => boolean;
}

/** Creates the responder with an empty cache of responses. */
export function createResponder(options: ResponderOptions): Responder {
  const { gateway, checkDependencies, maxQueryTokens, maxCacheBytes = MAX_CACHE_BYTES, log } = options;
  const { path } = gateway;
  const cache = createResponseCache(maxCacheBytes, path, maxQueryTokens, gateway.trusted);
  const { observer, metrics, clientLimit, trustedProxies } = options;
  metrics?.watchCache(cache.size);
  const limit =
    clientLimit &&
    createOperationLimit({ limit: clientLimit, metrics: metrics?.rateLimit, trustedProxies, log });
  const execute = createExecutor({ gateway, checkDependencies, cache });
  /** The executions in progress, by cache key. */
  const executing = new Map<string, Promise<void>>();

  /** Cache hit: sends the cached response if its dependencies are still current. */
  function sendFromCache(key: string, received: Received): boolean {
    const cached = cache.get(key);
    if (!cached) return false;
    const info = checkDependencies(cached.dependencies);
    const ageMs = info && ageOf(info, cached.madeAt);
    if (!info || ageMs === undefined) {
      cache.delete(key);
      return false;
    }
    const { request, exchange, isPortClosed } = received;
    const requestId = requestIdFrom(request.requestId);
    const { response } = cached;
    const { operation } = response;
    const sending = sendComplete(request, exchange, response, info, requestId, isPortClosed(), ageMs);
    if (sending) sending.then(() => observer.answered(exchange, { cache: 'hit', requestId, operation }));
    else observer.answered(exchange, { cache: 'hit', requestId, operation });
    return true;
  }

  /**
   * Cache miss: executes the request. Equal concurrent requests share one execution.
   *
   * @param key undefined for a request that is new or cannot be cached
   * @returns no promise if the response was sent at once, as for most operations
   */
  function sendFromGateway(key: string | undefined, received: Received): Promise<void> | undefined {
    const mustWait = limit !== undefined || (key !== undefined && executing.has(key));
    return mustWait ? sendAfterWaiting(key, received) : executeAndSend(key, received);
  }

  function executeAndSend(key: string | undefined, received: Received): Promise<void> | undefined {
    const { request, read, exchange } = received;
    const execution = execute(key, request, read, exchange);
    if (!(execution instanceof Promise)) return send(execution, received);
    if (key !== undefined) noteExecution(key, execution);
    return execution.then((executed) => send(executed, received));
  }

  /** Waits for an equal request in progress and for the limit of the client, then responds. */
  async function sendAfterWaiting(key: string | undefined, received: Received): Promise<void> {
    const { request, read, exchange } = received;
    const sameRequest = key === undefined ? undefined : executing.get(key);
    if (key !== undefined && sameRequest) {
      await Promise.race([sameRequest, sleep(COALESCE_WITHIN_MS, undefined, { ref: false })]);
      if (sendFromCache(key, received)) return;
    }
    const refusal = gateway.isOperation(request) ? await limit?.(exchange) : undefined;
    if (refusal) {
      refuse(exchange, { ...refusal, isLast: received.isPortClosed() || read.isCutOff === true });
      return;
    }
    await executeAndSend(key, received);
  }

  function send(executed: Executed, received: Received): Promise<void> | undefined {
    const { request, read, exchange, isPortClosed } = received;
    // Asked after the execution: if the port was closed meanwhile, the response must close the connection, too.
    const isLast = isPortClosed() || read.isCutOff === true;
    if (!executed.complete) return sendByYoga(executed, received, isLast);
    const { complete, info, staleListings } = executed;
    const requestId = executed.requestId ?? requestIdFrom(request.requestId);
    const executor = executed.requestId === undefined ? 'writer' : 'yoga';
    const { operation } = complete;
    const answered = () => observer.answered(exchange, { cache: 'miss', executor, requestId, operation });
    if (info) {
      const sending = sendComplete(request, exchange, complete, info, requestId, isLast);
      if (sending) return sending.then(answered);
    } else sendOnce(exchange, complete, staleListings, requestId, isLast);
    answered();
    return undefined;
  }

  async function sendByYoga(
    { response, outcome }: Extract<Executed, { complete?: never }>,
    { request, exchange }: Received,
    isLast: boolean,
  ): Promise<void> {
    const isUncached = request.url.startsWith(path) && !response.headers.has('cache-control');
    const body = await sendResponse(exchange, response, isUncached, isLast);
    const requestId = response.headers.get('x-request-id') ?? undefined;
    const { operation, codes = codesOf(response.status, body), isByClient } = outcome;
    const cache = cacheResultOf(request, gateway, response.status, outcome);
    const executor = cache === 'miss' ? 'yoga' : undefined;
    observer.answered(exchange, { cache, executor, requestId, operation, codes, isByClient });
  }

  function refuse(exchange: Exchange, refusal: ServerRefusal): void {
    const sent = exchange.refuse(refusal);
    if (sent) observer.refused(exchange, sent);
  }

  function fail(err: unknown, { request, exchange }: Received): void {
    // The client closed the connection, which is not an error of the gateway.
    if (exchange.isClosed) {
      observer.answered(exchange, { cache: cacheResultOf(request, gateway, 200, {}) });
    } else if (err instanceof NotAPath) {
      refuse(exchange, { status: 400, message: 'Expected a path, such as /graphql.', isLast: true });
    } else {
      log.error({ err }, 'Internal error while answering a request');
      refuse(exchange, INTERNAL_ERROR);
    }
  }

  /** Lets equal requests wait for this execution, until it succeeds or fails. */
  function noteExecution(key: string, execution: Promise<unknown>): void {
    const done = () => {
      if (executing.get(key) === settled) executing.delete(key);
    };
    const settled = execution.then(done, done);
    executing.set(key, settled);
  }

  return (read, exchange, isPortClosed) => {
    const { body = '', isDecoded = false } = read;
    const request = toCacheableRequest(exchange, body, isDecoded, options.compression !== false);
    const received = { request, read, exchange, isPortClosed };
    if (isAskedByBody(request.method) && !isIdentity(request.contentEncoding)) {
      refuse(exchange, { ...ENCODED_BODY, isLast: isPortClosed() || read.isCutOff === true });
      return;
    }
    let hasBegun = false;
    const failed = (err: unknown) => {
      if (hasBegun) observer.ended();
      fail(err, received);
    };
    try {
      const key = cache.knownKey(request) ?? (cache.hasSeen(request) ? cache.cacheKey(request) : undefined);
      if (key !== undefined && sendFromCache(key, received)) return;
      // With ignored members, a new text can mean the same as a cached request. If it does not, the request is
      // executed without a key, because the response to a new text is usually not worth caching.
      const keyOfNew =
        key === undefined && hasIgnoredMembers(request, path) ? cache.cacheKey(request) : undefined;
      if (keyOfNew !== undefined && sendFromCache(keyOfNew, received)) return;
      observer.began();
      hasBegun = true;
      const sending = sendFromGateway(key, received);
      if (sending) sending.then(observer.ended, failed);
      else observer.ended();
    } catch (err) {
      failed(err);
    }
  };
}

/** The cache result for the log and the metrics. MCP messages that do not call a tool are not counted as operations. */
function cacheResultOf(
  request: CacheableRequest,
  { path, isOperation }: Pick<Gateway, 'path' | 'isOperation'>,
  status: number,
  { isRefused = false, operation }: OperationOutcome,
): CacheResult {
  if (!isOperation(request)) return 'none';
  if (isRefused || (status >= 400 && status !== 500)) return 'refused';
  return pathIn(request.url) !== path && operation === undefined ? 'none' : 'miss';
}

const MAX_REFUSAL_BYTES = 4_096;

/** The error code in a refusal that was made without GraphQL. */
function codesOf(status: number, body: Buffer): readonly string[] {
  if (status < 400 || body.byteLength > MAX_REFUSAL_BYTES) return [];
  const [, code] = /"extensions":\{"code":"([A-Z_]+)"/.exec(body.toString()) ?? [];
  return code === undefined ? [] : [code];
}
