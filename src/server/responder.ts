/** Responds to requests: from the response cache, or by executing them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { createPartCheck } from '../domain/json-parts.js';
import type { RequestParameters } from '../execution/operation-writer.js';
import type { Answer, Gateway, WrittenResponse } from '../gateway.js';
import { ageOf, type DependencyCheck } from '../graph/dependencies.js';
import { Body, type Encoding, encodingFor, isIdentity } from '../http/encodings.js';
import { CACHE_STATUS, COST, MISS } from '../http/headers.js';
import { isAskedByBody, pathIn, QUERY_TYPE } from '../http/operations.js';
import type { PlainResponse, Refusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { AnsweredFacts } from '../observability/request-log.js';
import type { CacheResult, Executor } from '../observability/request-metrics.js';
import type { ClientLimit } from '../scheduling/client-limit.js';
import type { OperationOutcome } from '../yoga.js';
import type { Exchange } from './exchange.js';
import { ENCODED_BODY, INTERNAL_ERROR, tooLargeBody } from './refusals.js';
import type { RequestObserver } from './request-observer.js';
import { createResponseCache, parametersOf } from './response-cache.js';
import { commonHeaders, createResponseHeaders, sendComplete, sendPlain } from './send-response.js';

export interface ResponderOptions extends Config {
  readonly gateway: Gateway;
  readonly checkDependencies: DependencyCheck;
  /** {@link MAX_CACHE_BYTES} unless given. */
  readonly maxCacheBytes?: number;
  readonly clientLimit?: ClientLimit | undefined;
  readonly observer: RequestObserver;
  readonly metrics: Pick<Metrics, 'watchCache' | 'rateLimited'>;
  readonly log: Logger;
}

/** The parts of a longer body are counted before it is parsed. */
const MAX_SHORT_LENGTH = 16_384;
/** The most parts of such a body: one of 1 MiB can have 13,000 keys of tokens. */
const MAX_PARTS = { containers: 25_000, commas: Number.POSITIVE_INFINITY, names: 1_000, levels: 64 };
/** An eighth of the memory that `.deploy` reserves for a gateway. */
const MAX_CACHE_BYTES = 24 * 2 ** 20;
/** A request waits at most this long (ms) for an equal one in progress. Then it is executed. */
const COALESCE_WITHIN_MS = 1_000;

/** Creates the function that responds to a request after its body was read. */
export function createResponder(options: ResponderOptions): (exchange: Exchange) => void {
  const { gateway, checkDependencies, observer, metrics, clientLimit, log } = options;
  const { maxBodyBytes, maxCacheBytes = MAX_CACHE_BYTES, compression, corsOrigins } = options;
  const { path } = gateway;
  const cache = createResponseCache(maxCacheBytes);
  metrics.watchCache(cache.size);
  const limit = clientLimit && createOperationLimit(clientLimit, metrics, log);
  const headersFor = createResponseHeaders(corsOrigins);
  /** By cache key: executions that began at once. By cache key and client: those that had to wait for their turn. */
  const executing = new Map<string, Promise<void>>();
  const keyInTurnOf = (key: string, { client }: Exchange) => `${key} ${client}`;
  /** Requests do not wait for the turn of another client, which can have many other operations. */
  const executionOf = (exchange: Exchange, key = '') =>
    executing.get(key) ?? executing.get(keyInTurnOf(key, exchange));

  const encodingOf = (exchange: Exchange): Encoding =>
    compression ? encodingFor(exchange.header('accept-encoding')) : 'identity';

  /** Cache hit: sends the cached response if its dependencies are still current. */
  function sendFromCache(key: string | undefined, exchange: Exchange): boolean {
    if (key === undefined) return false;
    const cached = cache.responses.get(key);
    if (!cached) return false;
    const info = checkDependencies(cached.dependencies);
    const ageMs = info && ageOf(info, cached.madeAt);
    if (!info || ageMs === undefined) {
      cache.responses.delete(key);
      return false;
    }
    const sending = sendComplete(exchange, cached, encodingOf(exchange), info.staleListings, info, ageMs);
    const sent = answered(exchange, { cache: 'hit', operation: cached.operation }, sending);
    sent?.catch((err: unknown) => fail(err, exchange));
    return true;
  }

  function answered(exchange: Exchange, facts: AnsweredFacts, sending: Promise<void> | undefined) {
    if (sending) return sending.then(() => observer.answered(exchange, facts));
    observer.answered(exchange, facts);
    return undefined;
  }

  /**
   * Executes a request and sends the response. Returns a promise unless the response was sent.
   *
   * @param knownKey the cache key if the text of the request is known; otherwise the operation's turn finds the key
   */
  function executeAndSend(knownKey: string | undefined, exchange: Exchange) {
    const { client, requestId } = exchange;
    const isOperation = gateway.isOperation(exchange);
    const headers = isOperation ? headersFor(exchange) : undefined;
    let key = knownKey;
    /** Undefined until the operation has its turn. */
    let parameters: RequestParameters | undefined;
    const parse = () => parametersOf(exchange, path);
    const toRequest = (RequestClass: typeof Request) => exchange.toRequest(RequestClass);
    const text = exchange.read.body || exchange.url;
    const answerInTurn = (resolved: RequestParameters) => {
      parameters = resolved;
      key ??= cache.keyOf(exchange, resolved);
      return sendFromCache(key, exchange);
    };
    const request = { isOperation, parameters: headers && parse, answerInTurn, toRequest };
    const answer = gateway.respond(request, { client, text, requestId });
    const send = (given: Answer | undefined) => {
      if (!given) return undefined;
      if ('written' in given) return sendExecuted(key, exchange, headers ?? [], given.written, 'writer');
      if ('response' in given) {
        // GraphQL Yoga is slow, so its response is worth caching the first time.
        if (given.outcome.result?.dependencies) key ??= parameters && cache.keyOf(exchange, parameters);
        return sendByYoga(key, exchange, headers, given);
      }
      return observer.refuse(exchange, given.refusal, given.isByClient);
    };
    if (!(answer instanceof Promise)) return send(answer);
    const sending = answer.then(send);
    if (key !== undefined) {
      // Lets equal requests wait for this execution, until it succeeds or fails.
      const sharedKey = parameters ? key : keyInTurnOf(key, exchange);
      const done = () => {
        if (executing.get(sharedKey) === settled) executing.delete(sharedKey);
      };
      const settled = sending.then(done, done);
      executing.set(sharedKey, settled);
    }
    return sending;
  }

  /** Sends the response of an equal request in progress. If there is none in time, executes or refuses the request. */
  async function executeAfterWaiting(key: string | undefined, exchange: Exchange) {
    const sameRequest = executionOf(exchange, key);
    if (sameRequest) {
      await Promise.race([sameRequest, sleep(COALESCE_WITHIN_MS, undefined, { ref: false })]);
      if (sendFromCache(key, exchange)) return;
    }
    const refusal = gateway.isOperation(exchange) ? await limit?.(exchange) : undefined;
    if (refusal) observer.refuse(exchange, refusal);
    else await executeAndSend(key, exchange);
  }

  /** Sends a response without errors, and caches it if its dependencies are current and it has no routes. */
  function sendExecuted(
    key: string | undefined,
    exchange: Exchange,
    headers: readonly string[],
    { body, operation, cost, askedRoutes, dependencies, staleListings }: WrittenResponse,
    executor: Executor,
  ) {
    const info = dependencies && checkDependencies(dependencies);
    const isStored = info !== undefined && key !== undefined && !dependencies?.hasRoutes;
    const response = {
      operation,
      headers: [...headers, COST, String(cost)],
      body: isStored ? new Body([copyOf(body)], 'cached') : new Body(body, 'once'),
    };
    if (dependencies && isStored) cache.responses.set(key, { ...response, dependencies, madeAt: info.now });
    const stale = info ? info.staleListings : staleListings();
    const sending = sendComplete(exchange, response, encodingOf(exchange), stale, info);
    return answered(exchange, { cache: 'miss', executor, operation, askedRoutes }, sending);
  }

  /** Sends a response of GraphQL Yoga, which is cached at the first request if it is complete, or of `path-answers.ts`. */
  function sendByYoga(
    key: string | undefined,
    exchange: Exchange,
    headers: readonly string[] | undefined,
    { response, outcome }: Extract<Answer, { readonly outcome: OperationOutcome }>,
  ) {
    const { result } = outcome;
    if (headers && result && !outcome.codes && isSingleJson(response)) {
      const body = [Buffer.from(String(response.body))];
      return sendExecuted(key, exchange, headers, { ...result, body }, 'yoga');
    }
    const others = commonHeaders(exchange, corsOrigins);
    if (pathIn(exchange.url) === path) {
      others.push(CACHE_STATUS, MISS, 'accept-query', QUERY_TYPE);
      if (!('cache-control' in response.headers)) others.push('cache-control', 'no-store');
    }
    if (result) others.push(COST, String(result.cost));
    const stale = result?.staleListings();
    if (stale !== undefined) others.push('x-stale-listings', stale);
    sendPlain(exchange, response, others);
    const { operation, codes, isByClient } = outcome;
    const askedRoutes = result?.askedRoutes;
    const use = cacheResultOf(exchange, response.status, outcome);
    const executor = use === 'miss' && pathIn(exchange.url) === path ? 'yoga' : outcome.executor;
    return observer.answered(exchange, { cache: use, executor, operation, askedRoutes, codes, isByClient });
  }

  /** The cache result for the log and the metrics. MCP messages without a tool have `none`, unless they are refused. */
  function cacheResultOf(exchange: Exchange, status: number, outcome: OperationOutcome): CacheResult {
    if (!gateway.isOperation(exchange)) return 'none';
    // A response with status 406 has a result: Yoga looks at Accept only after the execution.
    if (outcome.isRefused || (status >= 400 && status !== 500 && !outcome.result)) return 'refused';
    return pathIn(exchange.url) !== path && outcome.operation === undefined ? 'none' : 'miss';
  }

  function fail(err: unknown, exchange: Exchange): void {
    // The client closed the connection, which is not an error of the gateway.
    if (exchange.isAborted) {
      observer.answered(exchange, { cache: cacheResultOf(exchange, 200, {}) });
    } else {
      log.error({ err }, 'Internal error while answering a request');
      observer.refuse(exchange, INTERNAL_ERROR);
    }
  }

  return (exchange) => {
    const { bytes, isDecoded } = exchange.read;
    if (isAskedByBody(exchange.method)) {
      if (!isDecoded && !isIdentity(exchange.header('content-encoding')))
        return observer.refuse(exchange, ENCODED_BODY);
      if (bytes > maxBodyBytes && gateway.isOperation(exchange))
        return observer.refuse(exchange, tooLargeBody(`${maxBodyBytes} bytes`));
      const exceeded = pathIn(exchange.url) === path ? exceededPart(exchange) : undefined;
      if (exceeded) return observer.refuse(exchange, tooLargeBody(exceeded));
    }
    try {
      const key = cache.knownKey(exchange);
      if (sendFromCache(key, exchange)) return;
      const mustWait = limit !== undefined || executionOf(exchange, key) !== undefined;
      const sending = (mustWait ? executeAfterWaiting : executeAndSend)(key, exchange);
      if (!sending) return;
      observer.began();
      sending.catch((err: unknown) => fail(err, exchange)).finally(observer.ended);
    } catch (err) {
      fail(err, exchange);
    }
  };
}

/** The limit that a long body exceeds; undefined if it may be parsed. 1 MB of nested arrays can take a second to parse. */
function exceededPart({ read: { body = '' }, contentType = '' }: Exchange): string | undefined {
  if (body.length <= MAX_SHORT_LENGTH) return undefined;
  const isJson = /^application\/(graphql\+)?json *(;|$)/i.test(contentType);
  if (!isJson) return `${MAX_SHORT_LENGTH} characters, as it is not JSON`;
  return createPartCheck(MAX_PARTS)(Buffer.from(body));
}

/** Copies the parts into one buffer: the parts can be views of larger buffers, which would otherwise stay in memory. */
function copyOf(parts: readonly Buffer[]): Buffer<ArrayBuffer> {
  const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const copy = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) at += part.copy(copy, at);
  return copy;
}

/** Whether the body is one JSON text. False for errors, multipart responses and event streams. */
function isSingleJson({ status, headers }: PlainResponse): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers['content-type'] ?? '');
}

const MANY_CLIENTS =
  'RATE_LIMIT refused a request, and perhaps many clients count as one. Behind a reverse proxy, set TRUSTED_PROXIES to its address, and let it add the address of each client to X-Forwarded-For. In the library, call fetch(request, { client }) with the address of the connection';

/** Creates the function that counts an operation, and returns a refusal if its client has exceeded the limit. */
function createOperationLimit(limit: ClientLimit, metrics: Pick<Metrics, 'rateLimited'>, log: Logger) {
  let hasWarned = false;
  return async ({ client, isForwarded }: Exchange): Promise<Refusal | undefined> => {
    const waitMs = await limit.take(client ?? '');
    if (waitMs <= 0) return undefined;
    metrics.rateLimited(client ?? '');
    if (!hasWarned && (client === undefined || isForwarded)) {
      hasWarned = true;
      log.warn({ client }, MANY_CLIENTS);
    }
    return refusal(limit, waitMs);
  };
}

/** The name of the only policy in the `RateLimit` headers. */
const POLICY = '"operations"';

/** The headers follow draft-ietf-httpapi-ratelimit-headers-10. */
function refusal({ rate: { perSecond, burst } }: ClientLimit, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1_000);
  const windowSeconds = Math.ceil(burst / perSecond);
  return {
    status: 429,
    message: `Too many operations: of each client, at most ${burst} are executed in ${windowSeconds} s (RATE_LIMIT). Send this one again in ${seconds} s. Responses from the cache are not counted.`,
    code: 'RATE_LIMITED',
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `${POLICY};q=${burst};w=${windowSeconds}`,
      ratelimit: `${POLICY};r=0;t=${seconds}`,
    },
  };
}
