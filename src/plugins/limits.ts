/** Plugins that refuse operations: because the gateway is busy, or because they exceed a limit. */
import { GraphQLError, getOperationAST, getVariableValues, locatedError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../domain/error-codes.js';
import { type OperationLimitError, responseTooLong } from '../domain/errors.js';
import { fragmentsOf } from '../execution/document-limits.js';
import { exceedsBytes } from '../execution/json.js';
import type { GatewayContext } from '../graph/context.js';
import { refusalResponse } from '../http/refusal.js';

/** Refuses an operation with HTTP 503, before it is parsed, if it would wait too long for its turn. */
export function useOverload(maxWaitMs: number): Plugin<object, { readonly isOverloaded?: boolean }> {
  const refusal = {
    status: 503,
    message: `The gateway is busy: this operation would have waited longer than ${maxWaitMs} ms and was not executed. Send it again in 1 s.`,
    code: 'OVERLOADED' satisfies ErrorCode,
    headers: { 'retry-after': '1' },
  };
  return {
    onRequest({ serverContext, endResponse, fetchAPI }) {
      if (serverContext.isOverloaded) endResponse(refusalResponse(refusal, fetchAPI));
    },
  };
}

/** Further errors about variables are left out: each quotes a value that can be as long as the request body. */
const MAX_VARIABLE_ERRORS = 10;
/** If an object in invalid variables has more members, one short error is sent: to quote it in others takes long. */
const MAX_QUOTED_MEMBERS = 50;

/** Refuses an operation before it is executed if its variables are invalid or its known cost is too high. */
export function useCostLimit(): Plugin<
  GatewayContext & { readonly costRefusal?: OperationLimitError | undefined }
> {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = getOperationAST(document, operationName);
      if (!operation) return;
      const given: Readonly<Record<string, unknown>> = variableValues ?? {};
      // Coerced here, too, because the executor would report up to 50 long errors.
      const coerce = (maxErrors: number) =>
        getVariableValues(schema, operation.variableDefinitions ?? [], given, { maxErrors });
      const { coerced: variables } = coerce(0);
      if (!variables) {
        const members = mostMembersIn(given);
        const message = `Expected objects of at most ${MAX_QUOTED_MEMBERS} members in the variables, which are invalid, got one of ${members}.`;
        const code: ErrorCode = 'BAD_USER_INPUT';
        const isLarge = members > MAX_QUOTED_MEMBERS;
        const short = isLarge ? [new GraphQLError(message, { extensions: { code } })] : undefined;
        setResultAndStopExecution({ errors: short ?? coerce(MAX_VARIABLE_ERRORS).errors ?? [] });
        return;
      }
      const { cost, costRefusal } = contextValue;
      const fragments = fragmentsOf(document);
      const refusal = costRefusal ?? cost.chargeOperation({ schema, fragments, operation, variables });
      if (refusal) setResultAndStopExecution({ errors: [locatedError(refusal, undefined)] });
    },
  };
}

/** The number of members of the largest object in the variables. */
function mostMembersIn(variables: object): number {
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

/** Refuses a response that would exceed its limit of bytes, before it is serialised. */
export function useResponseLimit(): Plugin<GatewayContext> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult, args: { contextValue } }) {
        const max = contextValue.maxResponseBytes();
        if (Symbol.asyncIterator in result || !exceedsBytes(result, max)) return;
        const { message, code } = responseTooLong(max);
        const extensions = { code, http: { spec: true, status: 400 } };
        setResult({ errors: [new GraphQLError(message, { extensions })] });
      },
    }),
  };
}
