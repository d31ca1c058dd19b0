/**
 * The gateway without a port: it executes operations from memory, or by GraphQL Yoga. `path-answers.ts` answers all other
 * requests.
 */
import { GraphQLError } from 'graphql';
import { GatewayError, OperationLimitError } from './domain/errors.js';
import { MAX_SHOWN } from './domain/text-limits.js';
import { createDocuments } from './execution/documents.js';
import { createOperationWriter, type RequestParameters } from './execution/operation-writer.js';
import { createTrustedDocuments, reportInvalidDocuments } from './execution/trusted-documents.js';
import { createContext, type GatewayContext, type ResultFacts } from './graph/context.js';
import { withFederation } from './graph/federation/federated.js';
import { type Loaders, MAX_UPSTREAM_WAIT_MS } from './graph/loaders.js';
import { schema } from './graph/schema/index.js';
import { isAskedByBody, pathIn, type RequestHead } from './http/operations.js';
import { GRAPHQL_PATH, MCP_PATH } from './http/paths.js';
import { type PlainResponse, plainRefusal, type Refusal } from './http/refusal.js';
import type { PathOptions } from './path-answers.js';
import { createOperationQueue } from './scheduling/operation-queue.js';
import { currentTracing } from './tracing.js';
import type { OperationOutcome, RequestFacts, YogaContext } from './yoga.js';

export interface GatewayOptions extends Omit<PathOptions, 'schema' | 'executeForTool'> {
  /** The documents of the gateway's own pages, which are trusted, too. */
  readonly pageDocuments: readonly string[];
}

/** A response that was written without GraphQL Yoga. Such a response has no errors. */
export interface WrittenResponse extends ResultFacts {
  /** JSON in UTF-8, in parts. Responses can share parts, so the parts must not be changed. */
  readonly body: readonly Buffer<ArrayBuffer>[];
}

/** A response or a refusal. `isByClient`: whether other operations of this client caused the refusal. */
export type Answer =
  | { readonly written: WrittenResponse }
  | { readonly response: PlainResponse; readonly outcome: OperationOutcome }
  | { readonly refusal: Refusal; readonly isByClient: boolean };

/** A response, a promise of a listing that is not loaded yet, or an exceeded limit. Undefined if only Yoga can execute. */
type Result = WrittenResponse | Promise<unknown> | OperationLimitError | undefined;

export interface GatewayRequest {
  /** Operations wait in a queue, other requests do not. */
  readonly isOperation: boolean;
  /** Reads the parameters in the operation's turn. Absent if only Yoga can respond. */
  readonly parameters?: (() => GivenParameters) | undefined;
  /**
   * Called with the parameters, after the id of a trusted document was replaced by its text. Returns true if it has
   * answered the request: then nothing is executed.
   */
  readonly answerInTurn?: ((parameters: RequestParameters) => boolean) | undefined;
  /** Makes the request for GraphQL Yoga. */
  readonly toRequest: (RequestClass: typeof Request) => Request;
}

/** Undefined if only GraphQL Yoga can respond. */
type GivenParameters = RequestParameters | undefined;

export type Gateway = ReturnType<typeof createGateway>;

/** The schema with the fields for federation. The schema does not depend on settings. */
const graph = withFederation(schema);

function isWritten(result: Result): result is WrittenResponse {
  return result !== undefined && 'body' in result;
}

export function createGateway(options: GatewayOptions) {
  const { basePath, maxWaitMs, metrics } = options;
  const path = basePath + GRAPHQL_PATH;
  const operationPaths = options.mcp ? [path, basePath + MCP_PATH] : [path];
  const queue = createOperationQueue(maxWaitMs, (seconds) => metrics.waited('turn', seconds));
  const tracing = currentTracing();
  const documents = createDocuments(graph, options);
  const trusted = createTrustedDocuments(options, options.pageDocuments);
  if (options.trustedDocuments) reportInvalidDocuments(options.trustedDocuments, documents, options.log);
  const contextOptions = { ...options, waiting: new Set<Loaders>() };
  const writeOperation = createOperationWriter(graph, documents);

  /** Pages, such as the playground, and preflight requests do not count: they skip the queue and `RATE_LIMIT`. */
  function isOperation({ method, url, accept }: RequestHead): boolean {
    if (!operationPaths.includes(pathIn(url))) return false;
    if (isAskedByBody(method)) return true;
    return method === 'GET' && !(options.graphiql && accept?.includes('text/html'));
  }

  /** Puts the text of a trusted document in place of its id. */
  function withTrustedText(given: GivenParameters): GivenParameters {
    const resolved = given && trusted ? trusted.resolve(given) : given;
    return resolved instanceof GraphQLError ? undefined : resolved;
  }

  /** Executes an operation from the snapshots and the cached routes, without waiting. The queue must allow it now. */
  function execute(parameters: GivenParameters, { client, text }: RequestFacts, waitsUntil?: number): Result {
    if (!parameters) return undefined;
    let context: GatewayContext | undefined;
    const body = writeOperation(parameters, (operation) => {
      context = createContext(contextOptions, { client, text, waitsUntil });
      return context.cost.chargeOperation(operation) ? undefined : context;
    });
    if (!body || !context) return context?.cost.refusal ?? context?.loaders.pendingListing;
    const { operationName } = parameters;
    const name = typeof operationName === 'string' ? operationName.slice(0, MAX_SHOWN) : undefined;
    return { body: body as readonly Buffer<ArrayBuffer>[], ...context.resultFacts(name) };
  }

  /**
   * Responds to a request: from memory if possible, otherwise by path or by GraphQL Yoga.
   *
   * @returns no promise if the response was written at once: a promise would take a quarter of the whole time. Undefined
   *   if `answerInTurn` has answered the request
   */
  function respond(
    request: GatewayRequest,
    context: RequestFacts,
  ): Answer | undefined | Promise<Answer | undefined> {
    if (!request.isOperation) return respondByPathOrYoga(request, context);
    const { client } = context;
    let parameters: GivenParameters;
    let isAnswered: boolean | undefined;
    const begin = () => {
      parameters = withTrustedText(request.parameters?.());
      isAnswered = parameters && request.answerInTurn?.(parameters);
      return isAnswered ? undefined : execute(parameters, context);
    };
    const answerFrom = (result: Result) => {
      if (isAnswered) return undefined;
      return isWritten(result) ? { written: result } : respondLater(request, context, parameters, result);
    };
    const now = request.parameters && queue.runNow(begin);
    if (now && (isAnswered || isWritten(now.result))) return answerFrom(now.result);
    const inTurn = () => answerFrom(now ? now.result : begin());
    // `bind` keeps the tracing span of the request, because the queue starts the operation outside of this span.
    return queue.run(client, tracing?.bind(inTurn) ?? inTurn, refuseAsOverloaded);
  }

  /** Waits for listings without a snapshot (two at most), and executes the operation again. Otherwise Yoga responds. */
  async function respondLater(
    request: GatewayRequest,
    context: RequestFacts,
    parameters: GivenParameters,
    first: Result,
  ): Promise<Answer> {
    const waitsUntil = performance.now() + MAX_UPSTREAM_WAIT_MS;
    let result = first;
    for (let waits = 0; waits < 2 && result instanceof Promise; waits++) {
      await result.catch(() => {});
      const refused = await queue.resume(context.client, refuseAsOverloaded);
      if (refused) return refused;
      result = execute(parameters, context, waitsUntil);
    }
    if (isWritten(result)) return { written: result };
    const costRefusal = result instanceof OperationLimitError ? result : undefined;
    return respondByPathOrYoga(request, { ...context, waitsUntil, costRefusal });
  }

  function refuseAsOverloaded(isByClient: boolean): Answer {
    const message = `The gateway is busy: this operation waited longer than ${maxWaitMs} ms, or too many others wait or are in progress. It was not executed. Send it again in 1 s.`;
    const headers = { 'retry-after': '1' };
    return { refusal: { status: 503, message, code: 'OVERLOADED', headers }, isByClient };
  }

  async function respondByPathOrYoga({ toRequest }: GatewayRequest, facts: Omit<YogaContext, 'outcome'>) {
    const { pathAnswer, yoga } = await load();
    const asked = toRequest(yoga.Request);
    const context = { ...facts, outcome: {} };
    const response = await (pathAnswer(asked, context) ?? yoga.respond(asked, context));
    return { response, outcome: context.outcome };
  }

  /** Executes an operation for a tool of `/mcp` at once: the request to `/mcp` has already waited for its turn. */
  async function executeForTool(
    operation: RequestParameters,
    { signal }: Request,
    { client, text, requestId, outcome }: YogaContext,
  ): Promise<string> {
    const toRequest = (RequestClass: typeof Request) =>
      new RequestClass(`http://gateway${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(operation),
        signal,
      });
    const facts = { client, text, requestId, isOwn: true };
    const result = execute(operation, facts);
    const answer: Answer = isWritten(result)
      ? { written: result }
      : await respondLater({ isOperation: true, toRequest }, facts, operation, result);
    if (!('refusal' in answer)) outcome.executor = 'written' in answer ? 'writer' : 'yoga';
    if ('written' in answer) return Buffer.concat(answer.written.body).toString();
    const { isByClient } = 'refusal' in answer ? answer : answer.outcome;
    if (isByClient !== undefined) outcome.isByClient = isByClient;
    return 'refusal' in answer ? plainRefusal(answer.refusal).body : String(answer.response.body);
  }

  let loading: ReturnType<typeof loadNow> | undefined;

  async function loadNow() {
    const [{ createYogaHandler }, { createPathAnswers }] = await Promise.all([
      import('./yoga.js'),
      import('./path-answers.js'),
    ]);
    const createYogaContext = ({ client, text, waitsUntil, requestId }: RequestFacts) => {
      const yieldToQueue = () => queue.resume(client, refuseToResume);
      return createContext(contextOptions, { client, text, waitsUntil, requestId, yieldToQueue });
    };
    const ofYoga = { schema: graph, documents, trusted, createContext: createYogaContext };
    return {
      yoga: createYogaHandler({ ...options, ...ofYoga }),
      pathAnswer: createPathAnswers({ ...options, schema: graph, executeForTool }),
    };
  }

  /** Loads GraphQL Yoga. Without this call, the first request that needs Yoga waits until it is loaded. */
  function load() {
    loading ??= loadNow();
    return loading;
  }

  return { path, isOperation, respond, load };
}

function refuseToResume(isByClient: boolean): never {
  const message = 'The gateway is busy. Ask for this part of the operation again in 1 s.';
  throw new GatewayError('OVERLOADED', message, { isByClient });
}
