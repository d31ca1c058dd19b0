/** Answers all paths but the GraphQL endpoint: pages, files, monitoring, the token list and the tools for agents. */
import type { GraphQLSchema } from 'graphql';
import { type Config, servesDemo } from './config/config.js';
import type { RequestParameters } from './execution/operation-writer.js';
import { schema as plainSchema, sdlOf } from './graph/schema/index.js';
import { preflightAnswer } from './http/headers.js';
import { GRAPHQL_PATH, MCP_PATH, MONITORING_PATHS, type OptionalPath } from './http/paths.js';
import { type PlainResponse, plainRefusal } from './http/refusal.js';
import type { Logger } from './logger/logger.js';
import { createMcp } from './mcp/mcp-handler.js';
import type { Metrics } from './observability/metrics.js';
import type { Monitoring } from './observability/monitoring.js';
import { llmsText } from './pages/llms-text.js';
import { createPicker, createPlayground, type PageFacts } from './pages/pages.js';
import { forGet, type PathAnswer, servePage, serveText } from './pages/static-page.js';
import type { Snapshots } from './snapshots/snapshots.js';
import { createTokenListHandler } from './token-list/handler.js';
import type { YogaContext } from './yoga.js';

export interface PathOptions extends Config {
  readonly schema: GraphQLSchema;
  readonly snapshots: Snapshots;
  readonly monitoring: Monitoring;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly executeForTool: (
    operation: RequestParameters,
    request: Request,
    context: YogaContext,
  ) => Promise<string>;
}

/** Creates the function that answers a request without GraphQL. It returns undefined for a request to the endpoint. */
export function createPathAnswers(options: PathOptions) {
  const { basePath, servedPaths, graphiql, compression, corsOrigins, snapshots } = options;
  const pathOf = (path: OptionalPath) => (servedPaths.includes(path) ? basePath + path : undefined);
  const path = basePath + GRAPHQL_PATH;
  const tokenListPath = pathOf('/tokenlist.json');
  const facts: PageFacts = {
    endpoint: path,
    hasPlayground: graphiql,
    hasIntrospection: options.introspection,
    mcp: options.mcp ? basePath + MCP_PATH : undefined,
    picker: pathOf('/'),
    pickerBase: `${basePath}/picker/`,
    playgroundBase: `${path}/playground/`,
    schema: options.introspection ? pathOf('/schema.graphql') : undefined,
    llms: pathOf('/llms.txt'),
    readiness: pathOf('/ready'),
    hasLogos: options.logos,
    isDemo: servesDemo(options),
  };
  const { mcp, picker, schema, llms } = facts;
  /** Called in their order. The first answer is sent. */
  const pages: PathAnswer[] = [];
  // The second path is the first without its last "/", which people often leave out.
  if (picker) pages.push(servePage([picker, basePath], facts.pickerBase, () => createPicker(facts)));
  if (graphiql) pages.push(servePage([path], facts.playgroundBase, () => createPlayground(facts)));
  const answers = new Map<string, PathAnswer<YogaContext>>();
  // The schema without the fields for federation, as in `schema.graphql` of the repository.
  const sdl = () => sdlOf(plainSchema);
  if (mcp) {
    const respond = createMcp({ ...options, sdl });
    answers.set(mcp, (request, _url, context) =>
      respond(request, (operation) => options.executeForTool(operation, request, context), context.outcome),
    );
  }
  const onOmitted = options.metrics.tokenListOmitted;
  if (tokenListPath) answers.set(tokenListPath, forGet(createTokenListHandler(snapshots, onOmitted)));
  if (schema) answers.set(schema, serveText(sdl));
  const text = () => llmsText(facts);
  if (llms) answers.set(llms, serveText(text));
  for (const each of MONITORING_PATHS) {
    // If the port for operators is set, `/metrics` is served only there.
    const isServed = each !== '/metrics' || options.adminPort === undefined;
    if (isServed && pathOf(each))
      answers.set(basePath + each, ({ method }) => options.monitoring(method, each));
  }
  // The picker is only for browsers: other clients get this refusal at its path.
  const listed = [...(picker ? [`${picker} (in a browser)`] : []), path, ...answers.keys()];
  const notFound = plainRefusal({
    status: 404,
    message: `Nothing is here. Expected one of: ${listed.join(', ')}.`,
    // At the same address a browser can get a page, so the response varies by Accept.
    headers: { vary: 'Accept' },
  });

  return (request: Request, context: YogaContext): PlainResponse | Promise<PlainResponse> | undefined => {
    if (request.method === 'OPTIONS') return preflightAnswer(corsOrigins, request.headers);
    // Turns compression off. The server in front still has the header, and can compress.
    if (!compression) request.headers.delete('accept-encoding');
    const url = new URL(request.url);
    const answer = answers.get(url.pathname);
    for (const each of answer ? [answer] : pages) {
      const given = each(request, url, context);
      if (given) return given;
    }
    return url.pathname === path ? undefined : notFound;
  };
}
