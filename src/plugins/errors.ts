/** What a client sees of errors. */

import { type ExecutionResult, GraphQLError, type GraphQLErrorExtensions } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../domain/error-codes.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { GatewayContext } from '../graph/context.js';
import type { Logger } from '../logger.js';

/**
 * Decides what a client sees of an error in an operation: the code and message of a GatewayError; of any other error
 * only that it happened. The log gets the details, once for each cause.
 */
export function useErrorCodes(): Plugin<GatewayContext> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult, args: { contextValue } }) {
        if (Symbol.asyncIterator in result || !result.errors?.length) return;
        setResult(withCodes(result, result.errors, contextValue.log));
      },
    }),
  };
}

function withCodes(
  result: ExecutionResult,
  errors: readonly GraphQLError[],
  log: () => Logger,
): ExecutionResult {
  // First of all: there can be thousands of other errors, and none of them is shown then.
  for (const error of errors) {
    const cause = causeOf(error);
    if (cause instanceof OperationLimitError) return refusalOf(cause);
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

/** The result of an operation that is refused as a whole. */
function refusalOf({ code, message }: OperationLimitError): ExecutionResult {
  return { errors: [new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } })] };
}

/** An error of the GraphQL server about variables, of the whole operation or of one field. */
function withBadInputCode(error: GraphQLError): GraphQLError {
  const code: ErrorCode = 'BAD_USER_INPUT';
  const extensions = error.path ? { code } : { code, http: { spec: true, status: 400 } };
  return copyOf(error, error.message, extensions);
}

function withCode(error: GraphQLError, cause: unknown): GraphQLError {
  const [code, message] =
    cause instanceof GatewayError
      ? [cause.code, cause.message]
      : [
          'INTERNAL_SERVER_ERROR',
          'Something went wrong in the gateway itself. Try again; if it persists, report it with the x-request-id of this response.',
        ];
  return copyOf(error, message, { code });
}

/** A copy of the error without its cause. */
function copyOf(
  { locations, path }: GraphQLError,
  message: string,
  extensions: GraphQLErrorExtensions,
): GraphQLError {
  return Object.assign(new GraphQLError(message, { path: path ?? null, extensions }), { locations });
}

/** The error that GraphQL errors wrap; undefined if they wrap none. */
function causeOf(error: GraphQLError | undefined): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause ?? undefined;
}

/** Longer messages of errors are cut. */
const MAX_LENGTH = 2_000;
/** How much of the beginning and of the end is left: the end often says what was expected. */
const HALF = 900;

/**
 * Cuts messages of errors that repeat long texts of the client. GraphQL repeats names and values whole, and the same one
 * in each of several errors.
 */
export function useShortMessages(): Plugin {
  return {
    onResultProcess({ result }) {
      if (Symbol.asyncIterator in result) return;
      for (const each of Array.isArray(result) ? result : [result]) {
        for (const error of each.errors ?? []) {
          const { message } = error;
          if (message.length > MAX_LENGTH) error.message = shortened(message);
        }
      }
    },
  };
}

function shortened(message: string): string {
  const left = `${message.length - 2 * HALF} characters left out`;
  return `${message.slice(0, HALF)} … (${left}) … ${message.slice(-HALF)}`;
}
