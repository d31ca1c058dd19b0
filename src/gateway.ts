import { type DocumentNode, isObjectType } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { GatewayError } from './domain/errors.js';
import type { GatewayContext } from './graph/context.js';
import { type CostMeterOptions, createCostMeter } from './graph/cost/cost-meter.js';
import { unitsOfWholeObject } from './graph/cost/operation-cost.js';
import { type CacheableResult, createDependencyTracker, dependenciesOf } from './graph/dependencies.js';
import { withFederation } from './graph/federation/federated.js';
import { createLoaders } from './graph/loaders.js';
import { schema } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import { requestIdOf } from './http/request-ids.js';
import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';
import { createPicker } from './pages/picker/picker.js';
import { createPlayground } from './pages/playground/playground.js';
import { useCostLimit } from './plugins/execution/use-cost-limit.js';
import { useDependencies } from './plugins/execution/use-dependencies.js';
import { useErrorCodes } from './plugins/execution/use-error-codes.js';
import { useStaleHeader } from './plugins/execution/use-stale-header.js';
import { useThenableNames } from './plugins/execution/use-thenable-names.js';
import { useCors } from './plugins/http/use-cors.js';
import { MONITORING_PATHS, useMonitoring } from './plugins/http/use-monitoring.js';
import { useNoSniffing } from './plugins/http/use-no-sniffing.js';
import { useNotFound } from './plugins/http/use-not-found.js';
import { usePages } from './plugins/http/use-pages.js';
import { useRequestLog } from './plugins/http/use-request-log.js';
import {
  type BodyLimitContext,
  type BodyLimitOptions,
  useBodyLimit,
} from './plugins/request/use-body-limit.js';
import { type LimitsOptions, useLimits } from './plugins/request/use-limits.js';
import { type OverloadContext, type OverloadOptions, useOverload } from './plugins/request/use-overload.js';
import { useParameters } from './plugins/request/use-parameters.js';
import { usePersistedQueries } from './plugins/request/use-persisted-queries.js';
import { useValidation, type ValidationOptions } from './plugins/request/use-validation.js';
import { createTurns } from './scheduling/turns.js';
import type { Snapshots } from './snapshots/snapshots.js';

export interface GatewayOptions
  extends BodyLimitOptions,
    LimitsOptions,
    OverloadOptions,
    ValidationOptions,
    Pick<CostMeterOptions, 'maxCost' | 'maxRows'> {
  readonly snapshots: Snapshots;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Whether the listings are demo data; the pages for browsers then say so. */
  readonly isDemo: boolean;
  /** True once the process is about to stop. */
  readonly isStopping: () => boolean;
  /** An older price is shown as null, in milliseconds. */
  readonly priceMaxAgeMs: number;
  readonly maxRoutesPerOperation: number;
  readonly corsOrigins: CorsOrigins;
  readonly graphiql: boolean;
}

/**
 * An out-parameter that the gateway fills while it executes a request. Not a callback: the closure kept all later
 * requests alive (a leak).
 */
export interface OperationOutcome {
  /** Present if the response can be cached. */
  cacheable?: CacheableResult;
}

/** Facts about one request that the HTTP server and the gateway exchange. */
export interface ServerContext extends BodyLimitContext, OverloadContext {
  /** The client, such as its address, for fair turns. All requests without one count as one client. */
  readonly client?: string | undefined;
  readonly outcome?: OperationOutcome;
}

/** A handler of requests in the form of `fetch`; it opens no port. */
export interface Gateway {
  /** The Request class that it processes fastest. */
  readonly Request: typeof Request;
  fetch(request: Request, serverContext: ServerContext): Promise<Response> | Response;
}

/** In characters. A parsed document takes about fifty times the memory of its text. */
const MAX_CACHED_LENGTH = 100_000;
const MAX_CACHED_DOCUMENTS = 300;

function boundedByText<Value extends object>(): LRUCache<string, Value> {
  return new LRUCache<string, Value>({
    max: MAX_CACHED_DOCUMENTS,
    maxSize: MAX_CACHED_LENGTH,
    sizeCalculation: (_value, text) => Math.max(1, text.length),
  });
}

export const GRAPHQL_PATH = '/graphql';

/** The schema with the fields for federation; it depends on no setting. */
const graph = withFederation(schema);
const tokenType = graph.getType('Token');
const unitsOfWholeToken = isObjectType(tokenType) ? unitsOfWholeObject(tokenType) : 0;

/** Wires the graph to the snapshots. The plugins stand in the order in which a request meets them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { snapshots, log, metrics, isDemo, isStopping, graphiql, introspection } = options;
  const turns = createTurns(options);

  function createContext(request: Request, client: string | undefined): GatewayContext {
    const view = snapshots.view(client);
    const now = view.now();
    const tracker = createDependencyTracker();
    const isPriceFresh = (asOf: number): boolean => {
      if (asOf < now - options.priceMaxAgeMs) {
        tracker.times = true;
        return false;
      }
      tracker.pricesGoodUntil = Math.min(tracker.pricesGoodUntil, asOf + options.priceMaxAgeMs);
      return true;
    };
    const nextTurn = () => turns.next(client).catch(refuseInMidOperation);
    const cost = createCostMeter({ ...options, view, unitsOfWholeToken, nextTurn });
    const maxRoutes = options.maxRoutesPerOperation;
    return {
      loaders: createLoaders({ view, isPriceFresh, maxRoutes, cost, nextTurn }),
      cost,
      log: log.child({ requestId: requestIdOf(request) }),
      isPriceFresh,
      tracker,
      introspection,
      listings() {
        tracker.status = true;
        return snapshots.status(now);
      },
      staleListings: () => view.staleReads(now),
      dependencies: () => dependenciesOf(view.readSnapshots(), tracker),
    };
  }

  const yoga = createYoga<ServerContext, GatewayContext>({
    schema: graph,
    graphqlEndpoint: GRAPHQL_PATH,
    parserAndValidationCache: {
      documentCache: boundedByText<DocumentNode>(),
      errorCache: boundedByText<Error>(),
    },
    context: ({ request, client }) => createContext(request, client),
    plugins: [
      // For every response, including refusals.
      useRequestLog({ log, quietPaths: MONITORING_PATHS }),
      useNoSniffing(),
      useCors(options.corsOrigins),
      // Requests that are answered without GraphQL.
      useMonitoring({ notReadyReason: () => notReadyReason(snapshots, isStopping()), metrics, log }),
      usePages([
        {
          path: '/',
          assets: '/picker/',
          load: async () => createPicker({ endpoint: GRAPHQL_PATH, hasPlayground: graphiql, isDemo }),
        },
        ...(graphiql
          ? [{ path: GRAPHQL_PATH, assets: '/playground/', load: async () => createPlayground(isDemo) }]
          : []),
      ]),
      useNotFound([GRAPHQL_PATH, ...MONITORING_PATHS]),
      // Refusals before execution.
      useOverload(options),
      useParameters(),
      // Gives the parser before it a request of its own.
      useBodyLimit(options),
      usePersistedQueries(),
      useValidation(options),
      useLimits(options),
      // After execution.
      useErrorCodes(),
      useStaleHeader(),
      useDependencies(),
      // After useErrorCodes, which sets the codes of its refusals.
      useCostLimit(),
      useThenableNames(),
    ],
    // Masks errors that useErrorCodes does not see, whatever NODE_ENV is.
    maskedErrors: { isDev: false },
    // Replaced by a plugin above, or not wanted.
    cors: false,
    graphiql: false,
    landingPage: false,
    maxRequestBodySize: false,
    multipart: false,
    // Never matches. Yoga compares the end of the whole URL, so a query string could match a real path.
    healthCheckEndpoint: '\n',
    logging: {
      debug: (...args) => log.trace({ args }, 'yoga'),
      info: (...args) => log.debug({ args }, 'yoga'),
      warn: (...args) => log.warn({ args }, 'yoga'),
      error: (error) => log.error({ err: error }, 'Internal error while answering a request'),
    },
  });

  return {
    Request: yoga.fetchAPI.Request,
    fetch(request, serverContext) {
      const handle = (isOverloaded: boolean) =>
        yoga.handleRequest(request, { ...serverContext, isOverloaded });
      if (!isOperation(request)) return handle(false);
      return turns.run(
        serverContext.client,
        () => handle(false),
        () => handle(true),
      );
    },
  };
}

/** False for preflight requests and the playground, which need no turn. */
function isOperation({ method, url, headers }: Request): boolean {
  if (method === 'OPTIONS' || !new URL(url).pathname.startsWith(GRAPHQL_PATH)) return false;
  return method !== 'GET' || !headers.get('accept')?.includes('text/html');
}

function refuseInMidOperation(): never {
  throw new GatewayError(
    'OVERLOADED',
    'The gateway is busy. Ask for this part of the operation again in 1 s.',
  );
}

/** Why this process should get no traffic now; undefined if it should. */
function notReadyReason(snapshots: Snapshots, stopping: boolean): string | undefined {
  if (stopping) return 'The gateway is stopping.';
  const missing = snapshots.status(Date.now()).filter(({ state }) => state === 'EMPTY');
  if (missing.length === 0) return undefined;
  return missing
    .map(({ name, lastFailure }) =>
      lastFailure
        ? `There is no snapshot of the ${name} listing yet: ${lastFailure.code}: ${lastFailure.message}`
        : `The first snapshot of the ${name} listing is being fetched.`,
    )
    .join(' ');
}
