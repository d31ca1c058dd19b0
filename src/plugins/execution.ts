/** Executes operations with graphql-js, decides which parts of their errors clients see, and reports the results. */
import {
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  locatedError,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, hasScope } from '../domain/error-codes.js';
import { GatewayError, OperationLimitError, responseTooLong } from '../domain/errors.js';
import { MAX_SHOWN, shown } from '../domain/text-limits.js';
import { executableDocument, fragmentsOf, hideSuggestion } from '../execution/documents.js';
import { exceedsBytes } from '../execution/json.js';
import type { GatewayContext, ResultFacts } from '../graph/context.js';
import type { Logger } from '../logger/logger.js';

/**
 * An out-parameter: facts about a request that GraphQL Yoga answers, for the HTTP server. It is not a callback, because
 * the closure of a callback kept all later requests alive (a leak).
 */
export interface OperationOutcome {
  /** The `operationName` of the request, cut; at `/mcp` the name of the tool's operation, such as `FindTokens`. */
  operation?: string;
  codes?: readonly string[];
  /** True if the operation was refused before it had data. */
  isRefused?: boolean;
  /** If `codes` has overloads or failures of the upstream: whether the client itself caused all of them. */
  isByClient?: boolean;
  /** Who executed the operation of a tool at `/mcp`. Absent if nobody did, and for requests to the endpoint. */
  executor?: 'writer' | 'yoga';
  /** Present if the document was valid. */
  result?: ResultFacts;
}

export interface ExecutionContext extends GatewayContext {
  readonly outcome: OperationOutcome;
  /** Present if the gateway has found that the operation exceeds a limit. */
  readonly costRefusal?: OperationLimitError | undefined;
}

/**
 * The executor of GraphQL Yoga is not used: it takes an object with a member `then` for a promise, and it refuses an
 * operation in which a fragment is spread a second time with a condition that is null.
 */
export function useExecution(): Plugin<ExecutionContext, Pick<ExecutionContext, 'outcome'>> {
  return {
    onParams({ params, context: { outcome } }) {
      // This is not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (typeof name === 'string' && name) outcome.operation = name.slice(0, MAX_SHOWN);
    },
    onExecute({ setExecuteFn }) {
      setExecuteFn(executeAndReport);
    },
    onResultProcess({ result, serverContext: { outcome } }) {
      // The graph has no subscriptions and no deferred parts, and Yoga refuses batches: there is one result.
      const only = result as ExecutionResult;
      const { data, errors = [] } = only;
      const codes = new Set<string>();
      if (data === undefined) outcome.isRefused = true;
      for (const error of errors) {
        if (error.extensions?.code === 'OPERATION_RESOLUTION_FAILURE') {
          const got = outcome.operation ? shown(outcome.operation) : 'none';
          error.message = `Expected the name of an operation in the document as "operationName", got ${got}. Leave it out only if there is one operation.`;
        }
        shorten(error);
        // Some errors of GraphQL Yoga have no code.
        codes.add(String(error.extensions?.code ?? INTERNAL.code));
      }
      // GraphQL Yoga would copy each GraphQLError, with a stack. Errors of fields have no HTTP status.
      if (only.errors)
        Object.assign(only, { errors: errors.map((error) => (error.path ? error.toJSON() : error)) });
      if (codes.size > 0) outcome.codes = [...codes];
    },
  };
}

async function executeAndReport(args: ExecutionArgs): Promise<ExecutionResult> {
  const context = args.contextValue as ExecutionContext;
  const { outcome } = context;
  const document = executableDocument(args.document);
  const executed = refusalOf(args, context) ?? (await execute({ ...args, document }));
  const { errors } = executed;
  if (errors) outcome.isByClient = !errors.some(isByProcess);
  const coded = errors ? withCodes(executed, errors, context.log) : executed;
  const max = context.maxResponseBytes();
  const result = exceedsBytes(coded, max) ? refusedBy(responseTooLong(max)) : coded;
  const facts = context.resultFacts(outcome.operation);
  outcome.result = result.errors ? { ...facts, dependencies: undefined } : facts;
  return result;
}

/** Further errors about variables are left out: each can quote a value as long as the request body. */
const MAX_VARIABLE_ERRORS = 10;
/** If an object in invalid variables has more members, only one short error is made: to quote the object takes long. */
const MAX_QUOTED_MEMBERS = 50;
/** If invalid variables have more characters, only one error is made: to quote a megabyte takes 15 ms. */
const MAX_QUOTED_TEXT = 100_000;

/** Refuses an operation if its variables are invalid, or if it exceeds a limit. */
function refusalOf(args: ExecutionArgs, context: ExecutionContext): ExecutionResult | undefined {
  const { schema, document, operationName } = args;
  const operation = getOperationAST(document, operationName);
  if (!operation) return undefined;
  const given: Readonly<Record<string, unknown>> = args.variableValues ?? {};
  // Coerced here, too, because the executor would report up to 50 long errors.
  const coerce = (maxErrors: number) =>
    getVariableValues(schema, operation.variableDefinitions ?? [], given, { maxErrors });
  const { coerced: variables } = coerce(0);
  if (!variables) {
    const { members, characters } = sizeOf(given);
    if (members <= MAX_QUOTED_MEMBERS) {
      const { errors = [] } = coerce(characters <= MAX_QUOTED_TEXT ? MAX_VARIABLE_ERRORS : 1);
      if (!context.introspection) errors.forEach(hideSuggestion);
      // Shortened before the response is measured, since each can be as long as the request body.
      errors.forEach(shorten);
      return { errors };
    }
    const message = `The variables are invalid. Expected at most ${MAX_QUOTED_MEMBERS} members in each object, got ${members}.`;
    const code: ErrorCode = 'BAD_USER_INPUT';
    return { errors: [new GraphQLError(message, { extensions: { code } })] };
  }
  const fragments = fragmentsOf(document);
  const { costRefusal, cost } = context;
  const { tokenCount } = document;
  const refusal =
    costRefusal ?? cost.chargeOperation({ schema, fragments, operation, variables, tokenCount });
  return refusal && { errors: [locatedError(refusal, undefined)] };
}

/** Measures variables. `members`: how many the largest object has. `characters`: the length of all texts and names. */
function sizeOf(variables: object): { readonly members: number; readonly characters: number } {
  let members = 0;
  let characters = 0;
  const left: unknown[] = [Object.values(variables)];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const names = Array.isArray(value) ? [] : Object.keys(value);
    members = Math.max(members, names.length);
    for (const name of names) characters += name.length;
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const item of inner) {
      if (typeof item === 'string') characters += item.length;
      else if (typeof item === 'object') left.push(item);
    }
  }
  return { members, characters };
}

/** The error inside one or several nested GraphQL errors. */
function causeOf(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause ?? undefined;
}

/** Whether an error is an overload or a failure of the upstream, and was not caused by the client. */
function isByProcess(error: GraphQLError): boolean {
  const cause = causeOf(error);
  return cause instanceof GatewayError && hasScope(cause.code) && !cause.isByClient;
}

const STATUS_400 = { http: { spec: true, status: 400 } };

const refusedBy = ({ code, message }: OperationLimitError): ExecutionResult => ({
  errors: [new GraphQLError(message, { extensions: { code, ...STATUS_400 } })],
});

/**
 * Shows clients the code and message of a GatewayError, and errors of graphql-js about their operation. For any other
 * error, clients see only that it happened, and its details are logged, once for each cause. Errors are changed in
 * place: there can be one error for each row, and each copy would collect a stack.
 */
function withCodes(result: ExecutionResult, errors: readonly GraphQLError[], log: () => Logger) {
  // An OperationLimitError replaces all other errors, and is looked for first: there can be thousands of others.
  const limit = errors.map(causeOf).find((cause) => cause instanceof OperationLimitError);
  if (limit) return refusedBy(limit);
  const logged = new Set<unknown>();
  for (const error of errors) {
    const cause = causeOf(error);
    if (cause === undefined) {
      const badInput = { code: 'BAD_USER_INPUT' satisfies ErrorCode };
      // The error is about variables or arguments.
      if (!error.extensions.code) Object.assign(error.extensions, badInput, error.path ? {} : STATUS_400);
      continue;
    }
    if (!(cause instanceof GatewayError) && !logged.has(cause)) {
      log().error({ err: cause, path: error.path?.join('.') }, 'Internal error in an operation');
    }
    logged.add(cause);
    const { code, message } = cause instanceof GatewayError ? cause : INTERNAL;
    Object.assign(error, { message, extensions: { code }, originalError: undefined, locations: undefined });
  }
  return result;
}

const INTERNAL = {
  code: 'INTERNAL_SERVER_ERROR',
  message:
    'Something went wrong in the gateway itself. Try again; if it persists, report it with the x-request-id of this response.',
};

const MAX_LENGTH = 2_000;
/** A cut message keeps this many characters at each end. Its end often names the expected value. */
const HALF = 900;

/** Cuts a long error message: graphql-js repeats whole names and values of the client, even in several errors. */
function shorten(error: { message: string }): void {
  const { message } = error;
  const left = message.length - 2 * HALF;
  if (message.length > MAX_LENGTH)
    error.message = `${message.slice(0, HALF)} … (${left} characters left out) … ${message.slice(-HALF)}`;
}
