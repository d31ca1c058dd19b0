/** GraphQL Yoga with the plugins of this gateway, and the pages and files that it serves. */
import type { GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Documents } from './execution/documents.js';
import type { TrustedDocuments } from './execution/trusted-documents.js';
import type { GatewayContext } from './graph/context.js';
import { schema as plainSchema, sdlOf } from './graph/schema/index.js';
import type { CorsOrigins } from './http/headers.js';
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
import type { Monitoring } from './observability/monitoring.js';
import { llmsText } from './pages/llms-text.js';
import { createPicker } from './pages/picker-page.js';
import { createPlayground } from './pages/playground-page.js';
import { createTextFile } from './pages/static-page.js';
import { usePersistedQueries, useTrustedDocuments, useValidation } from './plugins/documents.js';
import { type OperationOutcome, useExecution } from './plugins/execution.js';
import { useClearRefusals, useHeaders } from './plugins/headers.js';
import { useKnownMembers, useParameters, useQueryMethod } from './plugins/parameters.js';
import { forGet, type PathAnswer, serveFile, servePage, usePaths, useUncompressed } from './plugins/paths.js';
import type { Snapshots } from './snapshots/snapshots.js';
import { createTokenListHandler } from './token-list/handler.js';

export type { OperationOutcome };

/** The settings (see `config/config.ts`) and the parts of the gateway that GraphQL Yoga uses. */
export interface YogaOptions {
  readonly basePath: string;
  readonly servedPaths: readonly OptionalPath[];
  /** If this port is set, `/metrics` is served only there. */
  readonly adminPort?: number | undefined;
  readonly compression: boolean;
  readonly trustedDocumentsOnly?: boolean | undefined;
  readonly corsOrigins: CorsOrigins;
  readonly graphiql: boolean;
  readonly introspection: boolean;
  readonly mcp: boolean;
  readonly logos: boolean;
  readonly schema: GraphQLSchema;
  readonly documents: Documents;
  readonly trusted: TrustedDocuments | undefined;
  readonly createContext: (context: ServerContext) => GatewayContext;
  readonly snapshots: Snapshots;
  readonly monitoring: Monitoring;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether the listings are demo data. The pages for browsers then say so. */
  readonly isDemo: boolean;
  /** Executes an operation for a tool of `/mcp`. */
  readonly executeForTool: (
    operation: ToolOperation,
    request: Request,
    context: ServerContext,
  ) => Promise<string>;
}

/** Facts about one request that the HTTP server and the gateway exchange. */
export interface ServerContext {
  /** The client, such as its address. Clients take turns, and all requests without a client count as one client. */
  readonly client?: string | undefined;
  readonly requestId: string;
  readonly outcome: OperationOutcome;
  /** When the operation stops waiting for the upstream, by `performance.now()`. Unset in its first execution. */
  readonly waitsUntil?: number | undefined;
  /** Whether the operation is of a tool of `/mcp`: its document need not be in `TRUSTED_DOCUMENTS`. */
  readonly isOwn?: boolean | undefined;
}

/** The context of GraphQL Yoga. */
export interface YogaContext extends ServerContext {
  /** Present if the gateway has found that the operation exceeds a limit. GraphQL Yoga then refuses it. */
  readonly costRefusal?: GatewayContext['cost']['refusal'];
}

/** Sets up GraphQL Yoga. Plugins run in the order of their list. */
export function createYogaHandler(options: YogaOptions) {
  const { schema, basePath, servedPaths, documents, log, isDemo, graphiql } = options;
  const pathOf = (path: OptionalPath) => (servedPaths.includes(path) ? basePath + path : undefined);
  const path = basePath + GRAPHQL_PATH;
  const picker = pathOf(PICKER_PATH);
  const tokenListPath = pathOf(TOKEN_LIST_PATH);
  const files = filesOf(options, pathOf);
  const monitored = MONITORING_PATHS.filter(
    (each) => servedPaths.includes(each) && (each !== '/metrics' || options.adminPort === undefined),
  );
  const base = basePath + PICKER_FILES;
  const playgroundBase = `${path}/playground/`;
  const pickerOptions = {
    endpoint: path,
    base,
    hasPlayground: graphiql,
    hasLogos: options.logos,
    files,
    isDemo,
  };
  const playgroundOptions = { base: playgroundBase, picker, files, isDemo };
  const pages: PathAnswer[] = [];
  // The second path is the first without its last "/", which people often leave out.
  if (picker) pages.push(servePage([picker, basePath], base, () => createPicker(pickerOptions)));
  if (graphiql) pages.push(servePage([path], playgroundBase, () => createPlayground(playgroundOptions)));
  const answers = new Map<string, PathAnswer<ServerContext>>();
  if (options.mcp) answers.set(basePath + MCP_PATH, mcpAnswer(options));
  if (tokenListPath) answers.set(tokenListPath, forGet(createTokenListHandler(options)));
  for (const file of files) answers.set(file.path, serveFile(file.make));
  for (const each of monitored)
    answers.set(basePath + each, ({ method }) => options.monitoring(method, each));
  return createYoga<YogaContext, GatewayContext>({
    schema,
    graphqlEndpoint: path,
    context: options.createContext,
    plugins: [
      useClearRefusals(path),
      useQueryMethod(path),
      useHeaders(path, options.corsOrigins),
      ...(options.compression ? [] : [useUncompressed()]),
      // Requests that are answered without GraphQL.
      usePaths(pages, answers, path, picker),
      useParameters(),
      useExecution(),
      // The next plugins find the document, and may refuse it.
      ...(options.trusted ? [useTrustedDocuments(options.trusted)] : []),
      // After useTrustedDocuments, which has replaced the ids of trusted documents by their texts.
      usePersistedQueries(),
      useKnownMembers(),
      useValidation(documents),
    ],
    // Masks errors that useExecution does not see, whatever NODE_ENV is.
    maskedErrors: { isDev: false },
    // Features of Yoga that a plugin above replaces, or that are not offered.
    parserAndValidationCache: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    maxRequestBodySize: false,
    multipart: false,
    // Switches Yoga's health check off: Yoga compares this with the end of the URL, and no URL has this end.
    healthCheckEndpoint: '\n',
    logging: {
      debug: (...args) => log.trace({ args }, 'yoga'),
      info: (...args) => log.debug({ args }, 'yoga'),
      warn: (...args) => log.warn({ args }, 'yoga'),
      error: (error) => log.error({ err: error }, 'Internal error while answering a request'),
    },
  });
}

/** The files for programs: the schema and `llms.txt`. */
function filesOf(options: YogaOptions, pathOf: (path: OptionalPath) => string | undefined) {
  const { basePath, introspection, mcp, graphiql, isDemo } = options;
  const schema = introspection ? pathOf(SCHEMA_PATH) : undefined;
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
  const files = [
    // The schema without the fields for federation, as in `schema.graphql` of the repository.
    { path: schema, label: 'Schema', make: () => createTextFile(sdlOf(plainSchema)) },
    { path: pathOf(LLMS_PATH), label: 'llms.txt', make: () => createTextFile(text()) },
  ];
  return files.flatMap(({ path, ...file }) => (path === undefined ? [] : [{ path, ...file }]));
}

/**
 * The answers at `/mcp`. The tool `query`, which shows the schema, is offered if clients may read it and send any
 * document.
 */
function mcpAnswer(options: YogaOptions): PathAnswer<ServerContext> {
  const { schema, log, executeForTool, corsOrigins } = options;
  const hasSchema = options.introspection && !options.trustedDocumentsOnly;
  const sdl = hasSchema ? () => sdlOf(plainSchema) : undefined;
  const onError = (err: Error) => log.debug({ err }, 'A message to /mcp was refused or has failed');
  return createMcp({ schema, sdl, corsOrigins, execute: executeForTool, onError });
}
