import { once } from 'node:events';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type Gateway, GRAPHQL_PATH, type OperationOutcome } from '../gateway.js';
import type { CacheableResult, DependencyCheck, ResponseInfo } from '../graph/dependencies.js';
import { elapsedMs } from '../http/elapsed.js';
import { requestIdFrom } from '../http/request-ids.js';
import { urlOf } from '../http/request-target.js';
import { createHttpServer, type Exchange, type HttpServerOptions } from './http-server.js';
import type { ReadBody } from './read-body.js';
import { INTERNAL_ERROR } from './refusals.js';
import {
  type CacheableRequest,
  type CachedResponse,
  createCachedResponse,
  createResponseCache,
  toCacheableRequest,
} from './response-cache.js';
import { sendCached, sendResponse } from './send-response.js';

export interface GatewayServerOptions extends HttpServerOptions {
  readonly gateway: Gateway;
  /** Checks whether a cached response is still current. */
  readonly checkDependencies: DependencyCheck;
  /** A document with more lexical tokens is never cached; the gateway refuses it. */
  readonly maxQueryTokens: number;
  /** Estimated size of all cached responses; 24 MB unless given. */
  readonly maxCacheBytes?: number;
}

/** The HTTP server around a gateway. */
export interface GatewayServer {
  /**
   * Opens the port; 0 takes a free one.
   *
   * @returns the address to open, such as `http://127.0.0.1:4000`
   * @throws what `node:net` throws, such as EADDRINUSE
   */
  listen(host: string, port: number): Promise<string>;
  /**
   * Stops without losing a request. Serves as before for `lameDuckMs`. Then it closes the port, sends
   * `Connection: close` with each response, and resolves when all connections are closed. Connections that are
   * still open after `withinMs` are destroyed.
   */
  drain(lameDuckMs: number, withinMs: number): Promise<void>;
}

const MAX_CACHE_BYTES = 24 * 2 ** 20;
/** How long a request waits for an identical one that is already executing, which may itself wait for the upstream. */
const COALESCE_WITHIN_MS = 1_000;
/** How long a connection that is open when the port closes may take to send its next request. */
const NEXT_REQUEST_GRACE_MS = 1_000;

/** Creates the server; only `listen` opens a port. */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { gateway, checkDependencies, maxQueryTokens, maxCacheBytes = MAX_CACHE_BYTES, log } = options;
  const cache = createResponseCache(maxCacheBytes, GRAPHQL_PATH, maxQueryTokens);
  /** The executions under way, by cache key. */
  const executing = new Map<string, Promise<void>>();
  let isPortClosed = false;

  /**
   * Cache hit: sends the cached response if its dependencies are still current.
   *
   * @param startedAt when the request began, by `performance.now()`
   */
  function sendFromCache(
    key: string,
    request: CacheableRequest,
    exchange: Exchange,
    startedAt: number,
  ): boolean {
    const cached = cache.get(key);
    if (!cached) return false;
    const info = checkDependencies(cached.dependencies);
    if (!info) {
      cache.delete(key);
      return false;
    }
    const requestId = requestIdFrom(request.requestId);
    sendCached(request, exchange, cached, info, requestId, isPortClosed);
    if (log.isLevelEnabled('info')) {
      const { statusCode: status } = exchange.response;
      const fields = { requestId, method: request.method, path: GRAPHQL_PATH, status };
      log.info({ ...fields, operation: cached.operation, ms: elapsedMs(startedAt) }, 'Answered');
    }
    return true;
  }

  /** Cache miss: executes the request. Equal concurrent requests share one execution. */
  async function sendFromGateway(
    key: string | undefined,
    request: CacheableRequest,
    read: ReadBody,
    exchange: Exchange,
    startedAt: number,
  ): Promise<void> {
    const sameRequest = key === undefined ? undefined : executing.get(key);
    if (key !== undefined && sameRequest) {
      await Promise.race([sameRequest, sleep(COALESCE_WITHIN_MS, undefined, { ref: false })]);
      if (sendFromCache(key, request, exchange, startedAt)) return;
    }
    const url = urlOf(exchange.request);
    if (!url) {
      exchange.refuse({ status: 400, message: 'Expected a path, such as /graphql.', isLast: true });
      return;
    }
    const execution = execute(key, url, read, exchange);
    if (key !== undefined) noteExecution(key, execution);
    const { response, cached, info } = await execution;
    // Read after the execution: a request that came before the stop must also end its connection.
    const isLast = isPortClosed || read.isCutOff === true;
    if (cached && info) {
      const requestId = response.headers.get('x-request-id') ?? '';
      sendCached(request, exchange, cached, info, requestId, isLast);
      return;
    }
    if (isLast) exchange.response.setHeader('connection', 'close');
    if (url.pathname === GRAPHQL_PATH && !response.headers.has('cache-control')) {
      exchange.response.setHeader('cache-control', 'no-store');
    }
    await sendResponse(exchange, response);
  }

  /**
   * Has the gateway execute the request, and caches the response if possible.
   *
   * @returns `cached` and `info` if it was cached; the body of `response` has been read then
   */
  async function execute(
    key: string | undefined,
    url: URL,
    { body, bytes }: ReadBody,
    { connection: { client }, request, response: outgoing }: Exchange,
  ): Promise<{ response: Response; cached?: CachedResponse; info?: ResponseInfo }> {
    const closed = new AbortController();
    outgoing.once('close', () => {
      // Nobody waits for the end of a complete response, and an abort costs as much as a small operation.
      if (!outgoing.writableFinished) closed.abort();
    });
    const outcome: OperationOutcome = {};
    const response = await gateway.fetch(
      new gateway.Request(url, {
        method: request.method ?? 'GET',
        headers: request.headers as Record<string, string>,
        body: body ?? null,
        signal: closed.signal,
      }),
      { client, bodyBytes: bytes, outcome },
    );
    const { cacheable } = outcome;
    if (key === undefined || !cacheable || !isSingleJson(response)) return { response };
    const info = checkDependencies(cacheable.dependencies);
    if (!info) return { response };
    const cached = await toCachedResponse(response, cacheable);
    cache.set(key, cached);
    return { response, cached, info };
  }

  /** Lets equal requests wait for this execution, whether it succeeds or fails. */
  function noteExecution(key: string, execution: Promise<unknown>): void {
    const done = () => {
      if (executing.get(key) === settled) executing.delete(key);
    };
    const settled = execution.then(done, done);
    executing.set(key, settled);
  }

  const { server, closeSilent } = createHttpServer(options, (read, exchange) => {
    const startedAt = performance.now();
    const request = toCacheableRequest(exchange.request, read.body ?? '');
    const key = cache.cacheKey(request);
    if (key !== undefined && sendFromCache(key, request, exchange, startedAt)) return;
    sendFromGateway(key, request, read, exchange, startedAt).catch((err: unknown) => {
      const { response } = exchange;
      // The client closed the connection: not an error of the gateway.
      if (response.destroyed) return;
      log.error({ err }, 'Internal error while answering a request');
      if (response.headersSent) response.destroy();
      else exchange.refuse(INTERNAL_ERROR);
    });
  });

  return {
    async listen(host, port) {
      await once(server.listen(port, host), 'listening');
      return `http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`;
    },
    async drain(lameDuckMs, withinMs) {
      const cutOff = setTimeout(() => server.closeAllConnections(), withinMs);
      await sleep(lameDuckMs);
      isPortClosed = true;
      const closed = once(server, 'close');
      // Not http.Server's close(): it also closes connections that have not sent their first request yet.
      NetServer.prototype.close.call(server);
      const closeIdle = setInterval(async () => {
        // First read what has arrived: its connection is then not idle, and the request is not lost.
        await setImmediate();
        server.closeIdleConnections();
        closeSilent();
      }, NEXT_REQUEST_GRACE_MS);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(cutOff);
    },
  };
}

/** False for errors, and for multipart responses and event streams, whose headers describe how they are sent. */
function isSingleJson({ status, headers }: Response): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers.get('content-type') ?? '');
}

/** Headers that are set again for each request. */
const NOT_CACHED = new Set(['x-request-id', 'x-stale-listings', 'content-length']);

async function toCachedResponse(
  response: Response,
  { dependencies, operation }: CacheableResult,
): Promise<CachedResponse> {
  const headers = [...response.headers].filter(([name]) => !NOT_CACHED.has(name)).flat();
  headers.push('vary', 'Accept, Accept-Encoding');
  // Yoga holds the text. arrayBuffer() would copy its bytes once more.
  const body = Buffer.from(await response.text());
  return createCachedResponse({ dependencies, operation, headers, body });
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
