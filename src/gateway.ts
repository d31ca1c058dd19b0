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
import { unitsOfWholeObject } from './graph/cost.js';
import { type Dependencies, staleListingsHeader } from './graph/dependencies.js';
import { withFederation } from './graph/federation/federated.js';
import { schema } from './graph/schema/index.js';
import type { CorsOrigins } from './http/cors.js';
import { createOperationCheck, type RequestHead } from './http/operations.js';
import { GRAPHQL_PATH, MCP_PATH } from './http/paths.js';
import { requestIdOf } from './http/request-ids.js';
import { QueueFullError } from './scheduling/fair-queue.js';
import { createTurns } from './scheduling/turns.js';
import { currentTracing } from './tracing/tracing.js';
import type { ServerContext, YogaContext, YogaHandler, YogaOptions } from './yoga.js';

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

/** What an operation comes to from the snapshots alone; a promise while a listing is awaited. */
type Result = WrittenResponse | Promise<unknown> | OperationLimitError;

export type Answer = { readonly written: WrittenResponse } | { readonly response: Response };

/** The parameters of a request, with any others that it has. */
export type RequestParameters = OperationParameters & Readonly<Record<string, unknown>>;

/** A request to be answered. */
export interface GatewayRequest {
  /** Whether it asks to execute an operation, which has to wait for its turn. */
  readonly isOperation: boolean;
  /** Reads its parameters, in the operation's turn. Absent, or without a result, for a request that only Yoga can answer. */
  readonly parameters?: (() => RequestParameters | undefined) | undefined;
  /** Makes a request for GraphQL Yoga, with the class that it processes fastest. */
  toRequest(RequestClass: typeof Request): Request;
}

/** Answers requests; it opens no port. */
export interface Gateway {
  /** The path of the GraphQL endpoint, such as `/graphql`. */
  readonly path: string;
  /** Whether a request asks to execute an operation, at the endpoint or by the Model Context Protocol. */
  readonly isOperation: (head: RequestHead) => boolean;
  /** The origins whose pages may read responses. */
  readonly corsOrigins: CorsOrigins;
  /** Present if clients may ask for documents by their ids. */
  readonly trusted?: TrustedDocuments | undefined;
  /** Loads GraphQL Yoga, which takes a third of the time of a start. Otherwise the first request that needs it does. */
  load(): Promise<void>;
  /**
   * Answers a request: from the snapshots alone where that is possible, otherwise by GraphQL Yoga. Most of the time of an
   * operation by Yoga goes into the request and response objects of `fetch`.
   *
   * @returns without a promise if the response was written at once: a promise would be a quarter of its time
   */
  respond(request: GatewayRequest, serverContext: ServerContext): Answer | Promise<Answer>;
  /** Answers a request by GraphQL Yoga. */
  fetch(request: Request, serverContext: ServerContext): Promise<Response>;
}

/** The schema with the fields for federation; it depends on no setting. */
const graph = withFederation(schema);
const tokenType = graph.getType('Token');
const unitsOfWholeToken = isObjectType(tokenType) ? unitsOfWholeObject(tokenType) : 0;

/** Wires the graph to the snapshots. */
export function createGateway(options: GatewayOptions): Gateway {
  const { path = GRAPHQL_PATH } = options;
  const isOperation = createOperationCheck(options.mcp ? [path, MCP_PATH] : [path], options.graphiql);
  const turns = createTurns(options);

  const tracing = currentTracing();
  const documents = createDocuments({ ...options, schema: graph });
  const trusted = createTrustedDocuments(options);
  if (options.trustedDocuments) reportInvalidDocuments(options.trustedDocuments, documents, options.log);
  const contextOptions = { ...options, unitsOfWholeToken };

  const nextTurn = (client: string | undefined) => turns.next(client).catch(refuseInMidOperation);
  const writeOperation = createOperationWriter(graph, documents);

  /** The parameters with the document that they stand for; undefined if GraphQL Yoga has to answer. */
  function prepare({ parameters }: GatewayRequest): RequestParameters | undefined {
    const given = parameters?.();
    const resolved = given && trusted ? trusted.resolve(given) : given;
    return resolved instanceof DocumentRefusal ? undefined : resolved;
  }

  /**
   * Executes an operation from the snapshots alone, in a turn that has begun.
   *
   * @returns undefined if GraphQL Yoga has to; a promise if the operation needs a listing whose first snapshot is awaited;
   *   an error if it costs too much
   */
  function execute(
    parameters: OperationParameters | undefined,
    client: string | undefined,
  ): Result | undefined {
    if (!parameters) return undefined;
    let context: GatewayContext | undefined;
    let pendingListing: Promise<unknown> | undefined;
    const refuseToWait = (listing: Promise<unknown> | undefined) => {
      pendingListing = listing;
    };
    const body = writeOperation(parameters, (operation) => {
      context = createContext(contextOptions, { client, nextTurn: () => nextTurn(client), refuseToWait });
      return context.cost.admitOperation(operation) ? undefined : context;
    });
    if (!body || !context) return context?.cost.refusal ?? pendingListing;
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

  async function respondByYoga(
    { toRequest }: Pick<GatewayRequest, 'toRequest'>,
    context: YogaContext,
  ): Promise<Answer> {
    const { Request, handleRequest } = await getYoga();
    return { response: await handleRequest(toRequest(Request), { ...context }) };
  }

  /** Responds in a turn that has begun. */
  function respondInTurn(
    parameters: RequestParameters | undefined,
    request: Pick<GatewayRequest, 'toRequest'>,
    serverContext: ServerContext,
  ): Answer | Promise<Answer> {
    const result = execute(parameters, serverContext.client);
    if (result instanceof Promise) return respondLater(result, parameters, request, serverContext);
    return respondWith(result, request, serverContext);
  }

  /** Responds with a result, or by GraphQL Yoga where there is none. */
  function respondWith(
    result: Exclude<Result, Promise<unknown>> | undefined,
    request: Pick<GatewayRequest, 'toRequest'>,
    serverContext: ServerContext,
  ): Answer | Promise<Answer> {
    if (!(result instanceof OperationLimitError) && result) return { written: result };
    return respondByYoga(request, { ...serverContext, costRefusal: result });
  }

  /** Responds once there are the first snapshots of both listings, if the operation needs them. */
  async function respondLater(
    pendingListing: Promise<unknown>,
    parameters: RequestParameters | undefined,
    request: Pick<GatewayRequest, 'toRequest'>,
    serverContext: ServerContext,
  ): Promise<Answer> {
    const { client } = serverContext;
    let result: Result | undefined = pendingListing;
    try {
      for (let times = 0; times < 2 && result instanceof Promise; times++) {
        await result.catch(() => {});
        await turns.next(client);
        result = execute(parameters, client);
      }
    } catch (error) {
      if (error instanceof QueueFullError)
        return respondByYoga(request, { ...serverContext, isOverloaded: true });
      throw error;
    }
    return respondWith(result instanceof Promise ? undefined : result, request, serverContext);
  }

  function respond(request: GatewayRequest, serverContext: ServerContext): Answer | Promise<Answer> {
    if (!request.isOperation) return respondByYoga(request, serverContext);
    const { client } = serverContext;
    const now = request.parameters && turns.runNow(() => execute(prepare(request), client));
    const result = now?.result;
    if (result && !(result instanceof Promise || result instanceof OperationLimitError))
      return { written: result };
    const inTurn = () =>
      now && !(result instanceof Promise)
        ? respondWith(result, request, serverContext)
        : respondInTurn(prepare(request), request, serverContext);
    // A turn begins in a queue, outside of the span of its request.
    return turns.run(client, tracing?.bind(inTurn) ?? inTurn, () =>
      respondByYoga(request, { ...serverContext, isOverloaded: true }),
    );
  }

  async function executeOwn(
    operation: RequestParameters,
    { signal }: Request,
    client: string | undefined,
  ): Promise<string> {
    const toRequest = (RequestClass: typeof Request) =>
      new RequestClass(`http://gateway${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(operation),
        signal,
      });
    const answer = await respondInTurn(operation, { toRequest }, { client, outcome: {}, isOwn: true });
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
    isOperation,
    corsOrigins: options.corsOrigins,
    trusted,
    respond,
    async load() {
      await getYoga();
    },
    async fetch(request, serverContext) {
      const { method, url, headers } = request;
      const head = { method, url, accept: headers.get('accept') };
      const answer = await respond(
        { isOperation: isOperation(head), toRequest: () => request },
        serverContext,
      );
      if ('written' in answer) throw new TypeError('Expected a response of GraphQL Yoga');
      return answer.response;
    },
  };
}

function refuseInMidOperation(): never {
  throw new GatewayError(
    'OVERLOADED',
    'The gateway is busy. Ask for this part of the operation again in 1 s.',
  );
}
