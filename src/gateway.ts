import { isObjectType } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { GatewayError, OperationLimitError } from './domain/errors.js';
import { createDocuments, type DocumentsOptions } from './execution/documents.js';
import {
  createOperationWriter,
  type OperationParameters,
  type PreparedOperation,
} from './execution/operation-writer.js';
import { type ContextOptions, createContext, type GatewayContext } from './graph/context.js';
import { unitsOfWholeObject } from './graph/cost/operation-cost.js';
import { type CacheableResult, type Dependencies, staleListingsHeader } from './graph/dependencies.js';
import { withFederation } from './graph/federation/federated.js';
import { schema } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import { requestIdOf } from './http/request-ids.js';
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
import { type OverloadContext, type OverloadOptions, useOverload } from './plugins/request/use-overload.js';
import { useParameters } from './plugins/request/use-parameters.js';
import { usePersistedQueries } from './plugins/request/use-persisted-queries.js';
import { useValidation } from './plugins/request/use-validation.js';
import { createTurns } from './scheduling/turns.js';
import type { Snapshots } from './snapshots/snapshots.js';

export interface GatewayOptions
  extends BodyLimitOptions,
    OverloadOptions,
    Omit<DocumentsOptions, 'schema'>,
    Omit<ContextOptions, 'unitsOfWholeToken'> {
  readonly metrics: Metrics;
  /** Whether the listings are demo data; the pages for browsers then say so. */
  readonly isDemo: boolean;
  /** True once the process is about to stop. */
  readonly isStopping: () => boolean;
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

/** A response that was written without GraphQL Yoga. It has no errors. */
export interface WrittenResponse {
  /** JSON in UTF-8. */
  readonly body: Buffer;
  /** The name of the operation, if the client gave one. */
  readonly operation: string | undefined;
  /** Undefined if it holds for this moment only. */
  readonly dependencies: Dependencies | undefined;
  /** The value of `x-stale-listings`; undefined if everything that was read is fresh. */
  readonly staleListings: string | undefined;
}

/** A handler of requests in the form of `fetch`; it opens no port. */
export interface Gateway {
  /** The Request class that it processes fastest. */
  readonly Request: typeof Request;
  fetch(request: Request, serverContext: ServerContext): Promise<Response> | Response;
  /**
   * Answers a request to the GraphQL endpoint: from the snapshots alone where that is possible, otherwise as `fetch`
   * does. Most of the time of an operation goes into the request and response objects of `fetch`.
   *
   * @param parameters read from the request in the operation's turn; undefined for an unusual request
   * @param request made for `fetch` only
   */
  answer(
    parameters: () => OperationParameters | undefined,
    request: () => Request,
    serverContext: ServerContext,
  ): Promise<Answer>;
}

export type Answer = { readonly written: WrittenResponse } | { readonly response: Response };

export const GRAPHQL_PATH = '/graphql';

/** The schema with the fields for federation; it depends on no setting. */
const graph = withFederation(schema);
const tokenType = graph.getType('Token');
const unitsOfWholeToken = isObjectType(tokenType) ? unitsOfWholeObject(tokenType) : 0;

/** Wires the graph to the snapshots. The plugins stand in the order in which a request meets them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { snapshots, log, metrics, isDemo, isStopping, graphiql } = options;
  const turns = createTurns(options);

  const documents = createDocuments({ ...options, schema: graph });
  const contextOptions = { ...options, unitsOfWholeToken };

  function contextOf(client: string | undefined, mayWait: boolean, request?: Request): GatewayContext {
    const nextTurn = () => turns.next(client).catch(refuseInMidOperation);
    const requestId = request && (() => requestIdOf(request));
    return createContext(contextOptions, { client, requestId, nextTurn, mayWait });
  }

  const yoga = createYoga<ServerContext, GatewayContext>({
    schema: graph,
    graphqlEndpoint: GRAPHQL_PATH,
    parserAndValidationCache: {
      documentCache: documents.parsed,
      errorCache: documents.syntaxErrors,
      validationCache: false,
    },
    context: ({ request, client }) => contextOf(client, true, request),
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
      useValidation(documents),
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

  const writeOperation = createOperationWriter<GatewayContext>({ schema: graph, documents, admit });

  function write(
    parameters: OperationParameters | undefined,
    client: string | undefined,
  ): WrittenResponse | undefined {
    const { chains, tokens } = snapshots.current();
    if (!parameters || !chains || !tokens) return undefined;
    let context: GatewayContext | undefined;
    const body = writeOperation(parameters, () => {
      context = contextOf(client, false);
      return context;
    });
    if (!body || !context) return undefined;
    const staleListings = staleListingsHeader(context.staleListings());
    const { operationName } = parameters;
    const operation = typeof operationName === 'string' ? operationName.slice(0, 100) : undefined;
    return { body, operation, dependencies: context.dependencies(), staleListings };
  }

  return {
    Request: yoga.fetchAPI.Request,
    answer(parameters, request, serverContext) {
      const { client } = serverContext;
      const handle = async (isOverloaded: boolean): Promise<Answer> => ({
        response: await yoga.handleRequest(request(), { ...serverContext, isOverloaded }),
      });
      return turns.run(
        client,
        () => {
          const written = write(parameters(), client);
          return written ? { written } : handle(false);
        },
        () => handle(true),
      );
    },
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

function admit({ cost }: GatewayContext, operation: PreparedOperation): boolean {
  try {
    const waiting = cost.admitOperation(operation);
    waiting?.catch(() => {});
    return waiting === undefined;
  } catch (error) {
    if (error instanceof OperationLimitError) return false;
    throw error;
  }
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
