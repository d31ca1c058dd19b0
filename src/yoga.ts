import type { GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Documents } from './execution/documents.js';
import type { TrustedDocuments } from './execution/trusted-documents.js';
import type { GatewayContext } from './graph/context.js';
import type { CacheableResult } from './graph/dependencies.js';
import { schema as plainSchema, sdlOf } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import { LLMS_PATH, MCP_PATH, SCHEMA_PATH, TOKEN_LIST_PATH } from './http/paths.js';
import type { Logger } from './logger.js';
import type { OwnOperation } from './mcp/call-tool.js';
import { createMcp } from './mcp/mcp-handler.js';
import type { Metrics } from './observability/metrics.js';
import {
  createMonitoring,
  MONITORING_PATHS,
  notReadyReason,
  PUBLIC_PATHS,
} from './observability/monitoring.js';
import { VERSION } from './observability/version.js';
import { llmsText } from './pages/llms-text.js';
import { createPicker } from './pages/picker/picker.js';
import { createPlayground } from './pages/playground/playground.js';
import { createTextFile, type Encoded } from './pages/static-page.js';
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
import { useAnswers, useFiles, useNotFound, usePages } from './plugins/paths.js';
import { type RequestFacts, useRequestFacts } from './plugins/request-facts.js';
import { useResults } from './plugins/results.js';
import type { Snapshots } from './snapshots/snapshots.js';
import { createTokenListAnswer } from './token-list/answer.js';

export interface YogaOptions extends BodyLimitOptions, OverloadOptions {
  readonly schema: GraphQLSchema;
  /** The path of the GraphQL endpoint, such as `/graphql`. */
  readonly path: string;
  readonly documents: Documents;
  readonly trusted: TrustedDocuments | undefined;
  readonly createContext: (client: string | undefined, request: Request) => GatewayContext;
  readonly snapshots: Snapshots;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether the listings are demo data; the pages for browsers then say so. */
  readonly isDemo: boolean;
  /** True once the process is about to stop. */
  readonly isStopping: () => boolean;
  readonly corsOrigins: CorsOrigins;
  readonly graphiql: boolean;
  /** Whether clients may see the schema. */
  readonly introspection: boolean;
  /** Whether to serve the Model Context Protocol. */
  readonly mcp: boolean;
  /** Executes an operation of the gateway itself, in the turn of the request that needs it. */
  readonly executeOwn: (
    operation: OwnOperation,
    request: Request,
    client: string | undefined,
  ) => Promise<string>;
  /** Whether the picker may load logos of tokens from other hosts. */
  readonly logos: boolean;
  /** The port of `/metrics`, which is then not found here. */
  readonly adminPort?: number | undefined;
}

/**
 * An out-parameter that the gateway fills while it executes a request. Not a callback: the closure kept all later
 * requests alive (a leak).
 */
export interface OperationOutcome extends RequestFacts {
  /** Present if the response can be cached. */
  cacheable?: CacheableResult;
}

/** Facts about one request that the HTTP server and the gateway exchange. */
export interface ServerContext extends BodyLimitContext, OwnOperationContext {
  /** The client, such as its address, for fair turns. All requests without one count as one client. */
  readonly client?: string | undefined;
  readonly outcome?: OperationOutcome;
}

/** The same for GraphQL Yoga, with why to refuse the request. */
export type YogaContext = ServerContext & RefusalContext;

/** GraphQL Yoga with everything that the gateway adds to it. */
export interface YogaHandler {
  /** The Request class that it processes fastest. */
  readonly Request: typeof Request;
  handleRequest(request: Request, context: YogaContext): Promise<Response> | Response;
}

/** How pages call the files for machines. */
const LABELS: Readonly<Record<string, string>> = {
  [LLMS_PATH]: 'llms.txt',
  [SCHEMA_PATH]: 'Schema',
};

/** The files for machines, by path. */
function filesOf(options: YogaOptions): ReadonlyMap<string, () => Promise<Encoded>> {
  const { path, introspection, mcp, graphiql, isDemo } = options;
  const llms = () =>
    llmsText({
      endpoint: path,
      mcp: mcp ? MCP_PATH : undefined,
      schema: introspection ? SCHEMA_PATH : undefined,
      hasPlayground: graphiql,
      isDemo,
    });
  return new Map([
    [LLMS_PATH, async () => createTextFile(llms())],
    // Without the fields for federation, like the file in the repository.
    ...(introspection ? [[SCHEMA_PATH, async () => createTextFile(sdlOf(plainSchema))] as const] : []),
  ]);
}

function createAnswer({ schema, log, executeOwn }: YogaOptions): AnswerMessage {
  const onError = (err: Error) => log.debug({ err }, 'A message to /mcp was refused');
  const answer = createMcp({ schema, version: VERSION, onError });
  return (request, message, client, facts) =>
    answer(request, message, (operation) => executeOwn(operation, request, client), facts);
}

/** Makes the handler. The plugins stand in the order in which a request meets them. */
export function createYogaHandler(options: YogaOptions): YogaHandler {
  const { schema, path, documents, createContext, snapshots, log, metrics, isDemo, isStopping, graphiql } =
    options;
  const paths = options.adminPort === undefined ? MONITORING_PATHS : PUBLIC_PATHS;
  const files = filesOf(options);
  const links = [...files.keys()].map((file) => ({ path: file, label: LABELS[file] ?? file }));
  const reason = () => notReadyReason(snapshots, isStopping());
  const monitoring = createMonitoring({ notReadyReason: reason, isDemo, metrics, log }, paths);
  const tokenList = createTokenListAnswer({ snapshots, metrics });
  const yoga = createYoga<YogaContext, GatewayContext>({
    schema,
    graphqlEndpoint: path,
    parserAndValidationCache: {
      documentCache: documents.parsed,
      errorCache: documents.syntaxErrors,
      validationCache: false,
    },
    context: ({ request, client }) => createContext(client, request),
    plugins: [
      // Gives all others a request of its own.
      useQueryMethod(path),
      // For every response, including refusals.
      useRequestFacts(),
      useHeaders(path, options.corsOrigins),
      // Requests that are answered without GraphQL.
      useAnswers(({ method }, { pathname }) => monitoring(method, pathname)),
      usePages([
        {
          path: '/',
          assets: '/picker/',
          load: async () =>
            createPicker({
              endpoint: path,
              hasPlayground: graphiql,
              hasLogos: options.logos,
              files: links,
              isDemo,
            }),
        },
        ...(graphiql
          ? [{ path, assets: `${path}/playground/`, load: async () => createPlayground(path, links, isDemo) }]
          : []),
      ]),
      useFiles(files),
      useAnswers((request, { pathname, searchParams }) =>
        pathname === TOKEN_LIST_PATH ? tokenList(request, searchParams) : undefined,
      ),
      useNotFound(
        [path, ...(options.mcp ? [MCP_PATH] : []), TOKEN_LIST_PATH, ...files.keys(), ...paths],
        ['/'],
      ),
      // Refusals before execution.
      useOverload(options),
      useParameters(),
      // Gives the parser before it a request of its own.
      useBodyLimit(options),
      ...(options.mcp ? [useMcp({ ...options, path: MCP_PATH, answer: createAnswer(options) })] : []),
      ...(options.trusted ? [useTrustedDocuments(options.trusted)] : []),
      // Gets no request for a trusted document any more.
      usePersistedQueries(),
      useKnownMembers(),
      useValidation(documents),
      // After execution.
      useErrorCodes(),
      useShortMessages(),
      useResponseLimit(),
      useResults(),
      // After useErrorCodes, which sets the codes of its refusals.
      useCostLimit(),
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
    handleRequest: (request, context) => yoga.handleRequest(request, context),
  };
}
