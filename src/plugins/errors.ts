/** Plugins that decide which parts of errors a client sees. */
import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, hasScope } from '../domain/error-codes.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { GatewayContext } from '../graph/context.js';
import type { Logger } from '../logger/logger.js';

/**
 * Shows clients the code and message of a GatewayError, and errors of graphql-js about their operation. For any other
 * error, clients see only that it happened, and its details are logged, once for each cause.
 */
export function useErrorCodes(): Plugin<GatewayContext & { readonly outcome?: { isByClient?: boolean } }> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult, args: { contextValue } }) {
        if (Symbol.asyncIterator in result || !result.errors?.length) return;
        const { outcome, log } = contextValue;
        if (outcome) outcome.isByClient = !result.errors.some(isByProcess);
        setResult(withCodes(result, result.errors, log));
      },
    }),
  };
}

/** Whether an error is an overload or a failure of the upstream, and was not caused by the client. */
function isByProcess(error: GraphQLError): boolean {
  const cause = causeOf(error);
  return cause instanceof GatewayError && hasScope(cause.code) && !cause.isByClient;
}

function withCodes(
  result: ExecutionResult,
  errors: readonly GraphQLError[],
  log: () => Logger,
): ExecutionResult {
  // An OperationLimitError replaces all other errors. The search for it comes first: there can be thousands of others.
  for (const error of errors) {
    const cause = causeOf(error);
    if (!(cause instanceof OperationLimitError)) continue;
    const { code, message } = cause;
    return {
      errors: [new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } })],
    };
  }
  const logged = new Set<unknown>();
  const coded = errors.map((error) => {
    const cause = causeOf(error);
    if (cause === undefined) return error.extensions.code ? error : withBadInputCode(error);
    if (!(cause instanceof GatewayError) && !logged.has(cause)) {
      log().error({ err: cause, path: error.path?.join('.') }, 'Internal error in an operation');
    }
    logged.add(cause);
    return withCode(error, cause);
  });
  return { ...result, errors: coded };
}

/** Adds the code BAD_USER_INPUT to an error of the GraphQL server about variables or arguments. */
function withBadInputCode(error: GraphQLError): GraphQLError {
  const code: ErrorCode = 'BAD_USER_INPUT';
  // The error is changed in place: there can be one error for each row, and each copy would collect a stack.
  Object.assign(error.extensions, error.path ? { code } : { code, http: { spec: true, status: 400 } });
  return error;
}

const INTERNAL = {
  code: 'INTERNAL_SERVER_ERROR',
  message:
    'Something went wrong in the gateway itself. Try again; if it persists, report it with the x-request-id of this response.',
};

/** A copy of the error with a code and without its cause. */
function withCode({ locations, path }: GraphQLError, cause: unknown): GraphQLError {
  const { code, message } = cause instanceof GatewayError ? cause : INTERNAL;
  const copy = new GraphQLError(message, { path: path ?? null, extensions: { code } });
  return Object.assign(copy, { locations });
}

/** The error inside a GraphQL error, or inside several nested ones; undefined if there is none. */
function causeOf(error: GraphQLError | undefined): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause ?? undefined;
}

/** Longer error messages are cut to their beginning and their end, which often names the expected value. */
const MAX_LENGTH = 2_000;
const HALF = 900;

/** Cuts long error messages: graphql-js repeats names and values of the client in full, and in several errors. */
export function useShortMessages(): Plugin {
  return {
    onResultProcess({ result }) {
      if (Symbol.asyncIterator in result) return;
      for (const each of Array.isArray(result) ? result : [result]) {
        for (const error of each.errors ?? []) {
          const { message } = error;
          const left = message.length - 2 * HALF;
          if (message.length > MAX_LENGTH)
            error.message = `${message.slice(0, HALF)} … (${left} characters left out) … ${message.slice(-HALF)}`;
        }
      }
    },
  };
}
