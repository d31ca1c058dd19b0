import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, OperationLimitError } from '../../domain/errors.js';
import type { GatewayContext } from '../../graph/context.js';

/** Each error message quotes the invalid value, which can be as long as the request body. */
const MAX_VARIABLE_ERRORS = 10;
/** Of an object in invalid variables. To quote one of 60,000 members takes 40 ms, for each error again. */
const MAX_QUOTED_MEMBERS = 50;

/**
 * Refuses an operation that has invalid variables or would cost too much, before it is executed.
 *
 * It coerces the variables itself to bound the number of errors, which the executor does not.
 */
export function useCostLimit(): Plugin<GatewayContext> {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = getOperationAST(document, operationName);
      if (!operation) return undefined;
      const { errors, coerced } = coercedVariables(schema, operation, variableValues ?? {});
      if (errors) {
        setResultAndStopExecution({ errors });
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

type Variables = Readonly<Record<string, unknown>>;
type Coerced =
  | { readonly errors: readonly GraphQLError[]; readonly coerced?: never }
  | { readonly errors?: never; readonly coerced: Variables };

/** Coerces variables as graphql-js does; if they are invalid, errors that take little time to write. */
function coercedVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Variables,
): Coerced {
  const coerce = (maxErrors: number) =>
    getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors });
  const { coerced } = coerce(0);
  if (coerced) return { coerced };
  const members = mostMembersIn(variables);
  if (members > MAX_QUOTED_MEMBERS) return { errors: [tooManyMembers(members)] };
  return { errors: coerce(MAX_VARIABLE_ERRORS).errors ?? [] };
}

/** How many members the largest of the objects in these variables has. */
function mostMembersIn(variables: Variables): number {
  let most = 0;
  const left: unknown[] = Object.values(variables);
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (!Array.isArray(value)) most = Math.max(most, inner.length);
    for (const item of inner) if (typeof item === 'object') left.push(item);
  }
  return most;
}

function tooManyMembers(count: number): GraphQLError {
  const message = `Expected objects of at most ${MAX_QUOTED_MEMBERS} members in the variables, which are invalid, got one of ${count}.`;
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode } });
}

function refusal(error: unknown): ExecutionResult {
  if (!(error instanceof OperationLimitError)) throw error;
  const extensions = { code: error.code satisfies ErrorCode, http: { spec: true, status: 400 } };
  return { errors: [new GraphQLError(error.message, { extensions })] };
}
