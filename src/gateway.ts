import { isObjectType } from 'graphql';
import { GatewayError, OperationLimitError } from './domain/errors.js';
import { reportInvalidDocuments } from './execution/document-report.js';
import { createDocuments, type DocumentsOptions } from './execution/documents.js';
import { createOperationWriter, type OperationParameters } from './execution/operation-writer.js';
import {
  createTrustedDocuments,
  DocumentRefusal,
  type TrustedDocuments,
  type TrustedDocumentsOptions,
} from './execution/trusted-documents.js';
import { type ContextOptions, createContext, type GatewayContext } from './graph/context.js';
import { unitsOfWholeObject } from './graph/cost/operation-cost.js';
import { type Dependencies, staleListingsHeader } from './graph/dependencies.js';
import { withFederation } from './graph/federation/federated.js';
import { schema } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import { GRAPHQL_PATH, MCP_PATH } from './http/paths.js';
import { requestIdOf } from './http/request-ids.js';
import { QueueFullError } from './scheduling/fair-queue.js';
import { createTurns } from './scheduling/turns.js';
import { currentTracing } from './tracing/tracing.js';
import type { ServerContext, YogaHandler, YogaOptions } from './yoga.js';

export interface GatewayOptions
  extends Omit<YogaOptions, 'schema' | 'documents' | 'trusted' | 'createContext' | 'executeOwn' | 'path'>,
    TrustedDocumentsOptions,
    Omit<DocumentsOptions, 'schema'>,
    Omit<ContextOptions, 'unitsOfWholeToken'> {
  /** The path of the GraphQL endpoint; `/graphql` unless given. */
  readonly path?: string | undefined;
}

/** A response that was written without GraphQL Yoga. It has no errors. */
export interface WrittenResponse {
  /** JSON in UTF-8, in parts that must not be changed. */
  readonly body: readonly Buffer[];
  /** The name of the operation, if the client gave one. */
  readonly operation: string | undefined;
  /** Undefined if it holds for this moment only. */
  readonly dependencies: Dependencies | undefined;
  /** The value of `x-stale-listings`; undefined if everything that was read is fresh. */
  readonly staleListings: () => string | undefined;
}

export type Answer = { readonly written: WrittenResponse } | { readonly response: Response };

/** The parameters of a request, with any others that it has. */
export type RequestParameters = OperationParameters & Readonly<Record<string, unknown>>;

/** Makes a request for GraphQL Yoga, with the class that it processes fastest. */
export type ToRequest = (RequestClass: typeof Request) => Request;

/** A handler of requests in the form of `fetch`; it opens no port. */
export interface Gateway {
  /** The path of the GraphQL endpoint, such as `/graphql`. */
  readonly path: string;
  /** The paths whose requests are executed in turns: the endpoint, and that of the Model Context Protocol. */
  readonly operationPaths: readonly string[];
  /** The origins whose pages may read responses. */
  readonly corsOrigins: CorsOrigins;
  /** Present if clients may ask for documents by their ids. */
  readonly trusted?: TrustedDocuments | undefined;
  /** Loads GraphQL Yoga, which takes a third of the time of a start. Otherwise the first request that needs it does. */
  load(): Promise<void>;
  fetch(request: Request | ToRequest, serverContext: ServerContext): Promise<Response>;
  /**
   * Writes the response to an operation at once, from the snapshots alone. Promises would be a quarter of its time.
   *
   * @returns `not its turn` for an operation that has to wait, and `not writable` for one that `fetch` has to answer
   */
  write(
    parameters: () => RequestParameters | undefined,
    client: string | undefined,
  ): WrittenResponse | 'not its turn' | 'not writable';
  /**
   * Answers a request to the GraphQL endpoint: from the snapshots alone where that is possible, otherwise as `fetch`
   * does. Most of the time of an operation goes into the request and response objects of `fetch`.
   *
   * @param parameters read from the request in the operation's turn; undefined for an unusual request
   */
  answer(
    parameters: () => RequestParameters | undefined,
    request: ToRequest,
    serverContext: ServerContext,
  ): Promise<Answer>;
}

/** The schema with the fields for federation; it depends on no setting. */
const graph = withFederation(schema);
const tokenType = graph.getType('Token');
const unitsOfWholeToken = isObjectType(tokenType) ? unitsOfWholeObject(tokenType) : 0;

/** Wires the graph to the snapshots. */
export function createGateway(options: GatewayOptions): Gateway {
  const { path = GRAPHQL_PATH } = options;
  const operationPaths = options.mcp ? [path, MCP_PATH] : [path];
  const turns = createTurns(options);

  const tracing = currentTracing();
  /** A turn begins in a queue, outside of the span of its request. */
  const inSpan = <Result>(task: () => Result) => tracing?.bind(task) ?? task;
  const documents = createDocuments({ ...options, schema: graph });
  const trusted = createTrustedDocuments(options);
  if (options.trustedDocuments) reportInvalidDocuments(options.trustedDocuments, documents, options.log);
  const contextOptions = { ...options, unitsOfWholeToken };

  const nextTurn = (client: string | undefined) => turns.next(client).catch(refuseInMidOperation);
  const writeOperation = createOperationWriter(graph, documents);

  /** @returns undefined if GraphQL Yoga has to answer; a promise if that may change when the promise is settled */
  function write(
    parameters: OperationParameters,
    client: string | undefined,
  ): WrittenResponse | Promise<unknown> | undefined {
    let context: GatewayContext | undefined;
    let arrival: Promise<unknown> | undefined;
    const refuseToWait = (its: Promise<unknown> | undefined) => {
      arrival = its;
    };
    const body = writeOperation(parameters, (operation) => {
      context = createContext(contextOptions, { client, nextTurn: () => nextTurn(client), refuseToWait });
      try {
        arrival = context.cost.admitOperation(operation);
      } catch (error) {
        if (error instanceof OperationLimitError) return undefined;
        throw error;
      }
      // Nobody may wait for it in the end, and an unhandled rejection would end the process.
      arrival?.catch(() => {});
      return arrival ? undefined : context;
    });
    if (!body || !context) return arrival;
    const { staleListings, dependencies } = context;
    const { operationName } = parameters;
    const operation = typeof operationName === 'string' ? operationName.slice(0, 100) : undefined;
    return {
      body,
      operation,
      dependencies: dependencies(),
      staleListings: () => staleListingsHeader(staleListings()),
    };
  }

  /** The parameters with the document that they stand for; undefined if GraphQL Yoga has to answer. */
  function resolvedParameters(
    parameters: () => RequestParameters | undefined,
  ): RequestParameters | undefined {
    const given = parameters();
    const resolved = given && trusted ? trusted.resolve(given) : given;
    return resolved instanceof DocumentRefusal ? undefined : resolved;
  }

  /** As `write`, after waiting for the first snapshots of both listings if it needs them. */
  async function writeLater(
    arrival: Promise<unknown>,
    parameters: OperationParameters,
    client: string | undefined,
  ): Promise<WrittenResponse | undefined> {
    let written: WrittenResponse | Promise<unknown> | undefined = arrival;
    for (let times = 0; times < 2 && written instanceof Promise; times++) {
      await written.catch(() => {});
      await turns.next(client);
      written = write(parameters, client);
    }
    return written instanceof Promise ? undefined : written;
  }

  async function answerByYoga(
    request: ToRequest,
    serverContext: ServerContext,
    isOverloaded: boolean,
  ): Promise<Answer> {
    const { Request, handleRequest } = await getYoga();
    return { response: await handleRequest(request(Request), { ...serverContext, isOverloaded }) };
  }

  async function answerLater(
    arrival: Promise<unknown>,
    read: OperationParameters,
    request: ToRequest,
    serverContext: ServerContext,
  ): Promise<Answer> {
    try {
      const written = await writeLater(arrival, read, serverContext.client);
      return written ? { written } : answerByYoga(request, serverContext, false);
    } catch (error) {
      if (error instanceof QueueFullError) return answerByYoga(request, serverContext, true);
      throw error;
    }
  }

  /** Answers in a turn that has begun. @param read undefined if GraphQL Yoga has to answer */
  function answerNow(
    read: RequestParameters | undefined,
    request: ToRequest,
    serverContext: ServerContext,
  ): Answer | Promise<Answer> {
    const written = read && write(read, serverContext.client);
    if (!read || !written) return answerByYoga(request, serverContext, false);
    return written instanceof Promise ? answerLater(written, read, request, serverContext) : { written };
  }

  async function executeOwn(
    operation: RequestParameters,
    { signal }: Request,
    client: string | undefined,
  ): Promise<string> {
    const toRequest: ToRequest = (RequestClass) =>
      new RequestClass(`http://gateway${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(operation),
        signal,
      });
    const answer = await answerNow(operation, toRequest, { client, outcome: {}, isOwn: true });
    return 'written' in answer ? Buffer.concat(answer.written.body).toString() : answer.response.text();
  }

  let yoga: Promise<YogaHandler> | undefined;

  async function loadYoga(): Promise<YogaHandler> {
    const { createYogaHandler } = await import('./yoga.js');
    return createYogaHandler({
      ...options,
      path,
      schema: graph,
      documents,
      trusted,
      executeOwn: (operation, request, client) => executeOwn({ ...operation }, request, client),
      createContext(client, request) {
        const requestId = () => requestIdOf(request);
        return createContext(contextOptions, { client, requestId, nextTurn: () => nextTurn(client) });
      },
    });
  }

  function getYoga(): Promise<YogaHandler> {
    yoga ??= loadYoga();
    return yoga;
  }

  return {
    path,
    operationPaths,
    corsOrigins: options.corsOrigins,
    trusted,
    async load() {
      await getYoga();
    },
    async fetch(given, serverContext) {
      const { Request, handleRequest } = await getYoga();
      const request = typeof given === 'function' ? given(Request) : given;
      const handle = (isOverloaded: boolean) => handleRequest(request, { ...serverContext, isOverloaded });
      if (!isOperation(request, operationPaths, options.graphiql)) return handle(false);
      return turns.run(
        serverContext.client,
        inSpan(() => handle(false)),
        () => handle(true),
      );
    },
    write(parameters, client) {
      const turn = turns.runNow(() => {
        const read = resolvedParameters(parameters);
        return read && write(read, client);
      });
      // A promise: it waits for the first snapshot of a listing.
      if (!turn || turn.result instanceof Promise) return 'not its turn';
      return turn.result ?? 'not writable';
    },
    answer(parameters, request, serverContext) {
      return turns.run(
        serverContext.client,
        inSpan(() => answerNow(resolvedParameters(parameters), request, serverContext)),
        () => answerByYoga(request, serverContext, true),
      );
    },
  };
}

/** False for preflight requests and the playground, which need no turn. */
function isOperation(
  { method, url, headers }: Request,
  paths: readonly string[],
  hasPlayground: boolean,
): boolean {
  if (method === 'OPTIONS' || !paths.includes(new URL(url).pathname)) return false;
  return !hasPlayground || method !== 'GET' || !headers.get('accept')?.includes('text/html');
}

function refuseInMidOperation(): never {
  throw new GatewayError(
    'OVERLOADED',
    'The gateway is busy. Ask for this part of the operation again in 1 s.',
  );
}
