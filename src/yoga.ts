/** GraphQL Yoga with the plugins of this gateway, and the pages and files that it serves. */
import type { GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Documents } from './execution/documents.js';
import type { TrustedDocuments } from './execution/trusted-documents.js';
import type { GatewayContext } from './graph/context.js';
import type { CacheableResult } from './graph/dependencies.js';
import { schema as plainSchema, sdlOf } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import {
  GRAPHQL_PATH,
  LLMS_PATH,
  MCP_PATH,
  MONITORING_PATHS,
  type OptionalPath,
  PICKER_FILES,
  PICKER_PATH,
  SCHEMA_PATH,
  TOKEN_LIST_PATH,
} from './http/paths.js';
import type { Logger } from './logger/logger.js';
import type { ToolOperation } from './mcp/call-tool.js';
import { createMcp } from './mcp/mcp-handler.js';
import type { Metrics } from './observability/metrics.js';
import { createMonitoring, notReadyReason } from './observability/monitoring.js';
import { VERSION } from './observability/version.js';
import { llmsText } from './pages/llms-text.js';
import { createPicker } from './pages/picker-page.js';
import { createPlayground } from './pages/playground.js';
import { createTextFile, type Encoded, type FileLink } from './pages/static-page.js';
import {
  type OwnOperationContext,
  usePersistedQueries,
  useTrustedDocuments,
  useValidation,
} from './plugins/documents.js';
import { useErrorCodes, useShortMessages } from './plugins/errors.js';
import { useHeaders } from './plugins/headers.js';
import {
  type OverloadOptions,
  type RefusalContext,
  useCostLimit,
  useOverload,
  useResponseLimit,
} from './plugins/limits.js';
import { type AnswerMessage, useMcp } from './plugins/mcp.js';
import {
  type BodyLimitContext,
  type BodyLimitOptions,
  useBodyLimit,
  useKnownMembers,
  useParameters,
  useQueryMethod,
} from './plugins/parameters.js';
import { type ServedPage, serveFile, servePage, usePaths, useUncompressed } from './plugins/paths.js';
import { type RequestFacts, useRequestFacts } from './plugins/request-facts.js';
import { useResults } from './plugins/results.js';
import type { Snapshots } from './snapshots/snapshots.js';
import { createTokenListHandler } from './token-list/handler.js';

export interface YogaOptions extends BodyLimitOptions, OverloadOptions {
  readonly schema: GraphQLSchema;
  /** The prefix of all paths, such as `/tokens`. Empty for none. */
  readonly basePath: string;
  /** The paths to serve besides the endpoint and the Model Context Protocol. */
  readonly servedPaths: readonly OptionalPath[];
  /** The port for operators. If this port is set, `/metrics` is served only there. */
  readonly adminPort?: number | undefined;
  /** Whether to compress responses. False leaves it to the server in front. */
  readonly compression: boolean;
  readonly documents: Documents;
  readonly trusted: TrustedDocuments | undefined;
  /** Whether to refuse documents that are not trusted. */
  readonly trustedDocumentsOnly?: boolean | undefined;
  readonly createContext: (
    context: Pick<ServerContext, 'client' | 'waitsUntil'>,
    request: Request,
  ) => GatewayContext;
  readonly snapshots: Snapshots;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether the listings are demo data. The pages for browsers then say so. */
  readonly isDemo: boolean;
  /** True once the process is about to stop. */
  readonly isStopping: () => boolean;
  readonly corsOrigins: CorsOrigins;
  readonly graphiql: boolean;
  /** Whether clients may see the schema. */
  readonly introspection: boolean;
  /** Whether to serve the Model Context Protocol. */
  readonly mcp: boolean;
  /** Executes an operation for a tool of `/mcp`. It does not wait in the queue: the tool's request has done so. */
  readonly executeForTool: (
    operation: ToolOperation,
    request: Request,
    context: Pick<ServerContext, 'client' | 'outcome'>,
  ) => Promise<string>;
  /** Whether the picker may load logos of tokens from other hosts. */
  readonly logos: boolean;
}

/**
 * An out-parameter that the gateway fills while it executes a request. It is not a callback, because
 * the closure of a callback kept all later requests alive (a leak).
 */
export interface OperationOutcome extends RequestFacts {
  /** Present if the response can be cached. */
  cacheable?: CacheableResult;
}

/** Facts about one request that the HTTP server and the gateway exchange. */
export interface ServerContext extends BodyLimitContext, OwnOperationContext {
  /** The client, such as its address. Clients take turns, and all requests without a client count as one client. */
  readonly client?: string | undefined;
  /** Until when an operation that has begun may wait for the upstream, by `performance.now()`. */
  readonly waitsUntil?: number | undefined;
  readonly outcome?: OperationOutcome;
}

/** The context of GraphQL Yoga: a {@link ServerContext}, and reasons to refuse the request. */
export type YogaContext = ServerContext & RefusalContext;

/** GraphQL Yoga with everything that the gateway adds to it. */
export interface YogaHandler {
  /** The Request class that it processes fastest. */
  readonly Request: typeof Request;
  handleRequest(request: Request, context: YogaContext): Promise<Response> | Response;
}

/** The files for programs: the schema and `llms.txt`. */
function filesOf(
  options: YogaOptions,
  pathOf: (path: OptionalPath) => string | undefined,
): readonly (FileLink & { readonly make: () => Promise<Encoded> })[] {
  const { basePath, introspection, mcp, graphiql, isDemo } = options;
  const [llms, schema] = [pathOf(LLMS_PATH), introspection ? pathOf(SCHEMA_PATH) : undefined];
  const text = () =>
    llmsText({
      endpoint: basePath + GRAPHQL_PATH,
      mcp: mcp ? basePath + MCP_PATH : undefined,
      schema,
      picker: pathOf(PICKER_PATH),
      readiness: pathOf('/ready'),
      hasPlayground: graphiql,
      isDemo,
    });
  return [
    // The schema without the fields for federation, as in `schema.graphql` of the repository.
    ...(schema
      ? [{ path: schema, label: 'Schema', make: async () => createTextFile(sdlOf(plainSchema)) }]
      : []),
    ...(llms ? [{ path: llms, label: 'llms.txt', make: async () => createTextFile(text()) }] : []),
  ];
}

function createAnswer(options: YogaOptions): AnswerMessage {
  const { schema, log, executeForTool, introspection, trustedDocumentsOnly } = options;
  const sdl = introspection && !trustedDocumentsOnly ? () => sdlOf(plainSchema) : undefined;
  const onError = (err: Error) => log.debug({ err }, 'A message to /mcp was refused');
  const answer = createMcp({ schema, sdl, version: VERSION, onError });
  return (request, message, client, facts) =>
    answer(
      request,
      message,
      (operation) => executeForTool(operation, request, { client, outcome: facts }),
      facts,
    );
}

/** Creates the handler. Plugins run in the order of their list. */
export function createYogaHandler(options: YogaOptions): YogaHandler {
  const {
    schema,
    basePath,
    documents,
    createContext,
    snapshots,
    log,
    metrics,
    isDemo,
    isStopping,
    graphiql,
  } = options;
  const pathOf = (path: OptionalPath) => (options.servedPaths.includes(path) ? basePath + path : undefined);
  const path = basePath + GRAPHQL_PATH;
  const mcpPath = options.mcp ? basePath + MCP_PATH : undefined;
  const picker = pathOf(PICKER_PATH);
  const tokenListPath = pathOf(TOKEN_LIST_PATH);
  const files = filesOf(options, pathOf);
  const reason = () => notReadyReason(snapshots, isStopping());
  const { adminPort, servedPaths } = options;
  const monitored = MONITORING_PATHS.filter(
    (each) => servedPaths.includes(each) && (each !== '/metrics' || adminPort === undefined),
  );
  const monitoring = createMonitoring({ notReadyReason: reason, isDemo, metrics, log }, monitored, basePath);
  const tokenList = createTokenListHandler({ snapshots, metrics });
  const pages: ServedPage[] = [];
  if (picker)
    pages.push({
      // The second path is the first without its last "/", which people often leave out.
      paths: [picker, basePath],
      assets: basePath + PICKER_FILES,
      load: async () =>
        createPicker({
          endpoint: path,
          base: basePath + PICKER_FILES,
          hasPlayground: graphiql,
          hasLogos: options.logos,
          files,
          isDemo,
        }),
    });
  if (graphiql)
    pages.push({
      paths: [path],
      assets: `${path}/playground/`,
      load: async () => createPlayground({ path, picker, files, isDemo }),
    });
  const yoga = createYoga<YogaContext, GatewayContext>({
    schema,
    graphqlEndpoint: path,
    parserAndValidationCache: {
      documentCache: documents.parsed,
      errorCache: documents.syntaxErrors,
      validationCache: false,
    },
    context: ({ request, client, waitsUntil }) => createContext({ client, waitsUntil }, request),
    plugins: [
      // First, because it replaces the request object, by which the other plugins remember facts about a request.
      useQueryMethod(path),
      // These run for every response, including refusals.
      useRequestFacts(),
      useHeaders(path, options.corsOrigins),
      ...(options.compression ? [] : [useUncompressed()]),
      // Requests that are answered without GraphQL.
      usePaths(
        [
          ({ method }, { pathname }) => monitoring(method, pathname),
          ...pages.map(servePage),
          ...files.map((file) => serveFile(file.path, file.make)),
          (request, { pathname, searchParams }) =>
            pathname === tokenListPath ? tokenList(request, searchParams) : undefined,
        ],
        [
          path,
          ...[mcpPath, tokenListPath].filter((each) => each !== undefined),
          ...files.map((file) => file.path),
          ...monitored.map((each) => basePath + each),
        ],
        picker ? [picker] : [],
      ),
      // Refusals before execution.
      useOverload(options),
      useParameters(),
      useBodyLimit(options),
      ...(mcpPath ? [useMcp({ ...options, path: mcpPath, answer: createAnswer(options) })] : []),
      ...(options.trusted ? [useTrustedDocuments(options.trusted)] : []),
      // After useTrustedDocuments, which has replaced the ids of trusted documents by their texts.
      usePersistedQueries(),
      useKnownMembers(),
      useValidation(documents),
      // After execution.
      useErrorCodes(),
      useShortMessages(),
      useResponseLimit(),
      useResults(),
      // After useErrorCodes, so that useErrorCodes also sets the codes of these refusals.
      useCostLimit(),
    ],
    // Masks errors that useErrorCodes does not see, whatever NODE_ENV is.
    maskedErrors: { isDev: false },
    // Features of Yoga that a plugin above replaces, or that are not offered.
    cors: false,
    graphiql: false,
    landingPage: false,
    maxRequestBodySize: false,
    multipart: false,
    // A path that never matches. Yoga compares the end of the whole URL, so a query string could match a real path.
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
    handleRequest: (request, context) => yoga.handleRequest(request, context),
  };
}
