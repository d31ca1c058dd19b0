import { type ExecutionResult, GraphQLError, type GraphQLErrorExtensions } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, GatewayError, OperationLimitError } from '../../domain/errors.js';
import type { GatewayContext } from '../../graph/context.js';
import type { Logger } from '../../logger.js';

/**
 * Decides what a client sees of an error met in an operation: the code and message of a GatewayError, and
 * of anything else nothing but that it happened. The log gets the rest, once for each cause.
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

function withCodes(result: ExecutionResult, errors: readonly GraphQLError[], log: Logger): ExecutionResult {
  // Looked for first: there can be thousands of others, none of which is shown.
  const refused = errors.find((error) => causeOf(error) instanceof OperationLimitError);
  if (refused) return { errors: [withCode(refused, causeOf(refused))] };
  const logged = new Set<unknown>();
  const coded = errors.map((error) => {
    const cause = causeOf(error);
    if (cause === undefined) return error.extensions.code ? error : withBadInput(error);
    if (!(cause instanceof GatewayError) && !logged.has(cause)) {
      log.error({ err: cause, path: error.path?.join('.') }, 'Internal error in an operation');
    }
    logged.add(cause);
    return withCode(error, cause);
  });
  return { ...result, errors: coded };
}

/** What the GraphQL server finds wrong with variables, for all of the operation or for one field of it. */
function withBadInput(error: GraphQLError): GraphQLError {
  const code: ErrorCode = 'BAD_USER_INPUT';
  const extensions = error.path ? { code } : { code, http: { spec: true, status: 400 } };
  return remade(error, error.message, extensions);
}

function withCode(error: GraphQLError, cause: unknown): GraphQLError {
  const [code, message] =
    cause instanceof GatewayError
      ? [cause.code, cause.message]
      : [
          'INTERNAL_SERVER_ERROR',
          'Something went wrong in the gateway itself. Try again; if it persists, report it with the x-request-id of this answer.',
        ];
  return remade(error, message, { code });
}

/** The same error at the same place, with nothing of its cause. */
function remade(
  { locations, path }: GraphQLError,
  message: string,
  extensions: GraphQLErrorExtensions,
): GraphQLError {
  // Errors of compiled operations know their locations, but not the nodes that these are of.
  return Object.assign(new GraphQLError(message, { path: path ?? null, extensions }), { locations });
}

/** What was thrown below the GraphQL errors that wrap it; undefined where one of them is all there is. */
function causeOf(error: GraphQLError | undefined): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError) cause = cause.originalError;
  return cause ?? undefined;
}
