import { type ExecutionResult, GraphQLError, getOperationAST, getVariableValues } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, OperationLimitError } from '../../domain/errors.js';
import type { GatewayContext } from '../../graph/context.js';

/** Each error message quotes the invalid value, which can be as long as the request body. */
const MAX_VARIABLE_ERRORS = 10;
const MAX_MESSAGE_LENGTH = 2_000;

/**
 * Refuses an operation that has invalid variables or would cost too much, before it is executed.
 *
 * It coerces the variables itself to bound the number of errors and the length of their messages: the executor's
 * messages quote invalid values in full.
 */
export function useCostLimit(): Plugin<GatewayContext> {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = getOperationAST(document, operationName);
      if (!operation) return undefined;
      const { errors, coerced } = getVariableValues(
        schema,
        operation.variableDefinitions ?? [],
        variableValues ?? {},
        { maxErrors: MAX_VARIABLE_ERRORS },
      );
      if (errors) {
        setResultAndStopExecution({ errors: errors.map(shortened) });
        return undefined;
      }
      try {
        return contextValue.cost
          .admitOperation({ schema, document, operation, variables: coerced })
          ?.catch((error) => setResultAndStopExecution(refusal(error)));
      } catch (error) {
        setResultAndStopExecution(refusal(error));
        return undefined;
      }
    },
  };
}

function refusal(error: unknown): ExecutionResult {
  if (!(error instanceof OperationLimitError)) throw error;
  const extensions = { code: error.code satisfies ErrorCode, http: { spec: true, status: 400 } };
  return { errors: [new GraphQLError(error.message, { extensions })] };
}

function shortened(error: GraphQLError): GraphQLError {
  const { message } = error;
  if (message.length <= MAX_MESSAGE_LENGTH) return error;
  return new GraphQLError(`${message.slice(0, MAX_MESSAGE_LENGTH)}…`, { nodes: error.nodes ?? null });
}
