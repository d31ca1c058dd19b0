/** Plugins that refuse operations: because the gateway is busy, or because they exceed a limit. */
import { GraphQLError, getOperationAST, getVariableValues, locatedError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../domain/error-codes.js';
import { type OperationLimitError, responseTooLong } from '../domain/errors.js';
import { fragmentsOf } from '../execution/document-limits.js';
import { exceedsBytes } from '../execution/json.js';
import type { GatewayContext } from '../graph/context.js';
import { refusalResponse } from '../http/refusal.js';

export interface OverloadOptions {
  /** How long an operation may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

/** Reasons to refuse a request that are known before GraphQL Yoga gets it. */
export interface RefusalContext {
  /** Whether the gateway is busy. */
  readonly isOverloaded?: boolean;
  /** Present if it is known that the operation exceeds a limit: GraphQL Yoga then does not execute it again. */
  readonly costRefusal?: OperationLimitError | undefined;
}

/** Refuses an operation with HTTP 503, before it is parsed, if it would wait too long for its turn. */
export function useOverload({ maxWaitMs }: OverloadOptions): Plugin<RefusalContext, RefusalContext> {
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

/** Maximum errors about variables. Each message quotes the invalid value, which can be as long as the request body. */
const MAX_VARIABLE_ERRORS = 10;
/** Errors quote invalid variables. If an object there has more members, one short error is sent: quoting takes long. */
const MAX_QUOTED_MEMBERS = 50;

/** Refuses an operation before it is executed if its variables are invalid or its known cost is too high. */
export function useCostLimit(): Plugin<GatewayContext & RefusalContext> {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = getOperationAST(document, operationName);
      if (!operation) return;
      const given: Variables = variableValues ?? {};
      // Coerced here, too, because the executor would report up to 50 long errors.
      const coerce = (maxErrors: number) =>
        getVariableValues(schema, operation.variableDefinitions ?? [], given, { maxErrors });
      const { coerced: variables } = coerce(0);
      if (!variables) {
        const members = mostMembersIn(given);
        const isLarge = members > MAX_QUOTED_MEMBERS;
        const { errors = [] } = isLarge ? { errors: [tooManyMembers(members)] } : coerce(MAX_VARIABLE_ERRORS);
        setResultAndStopExecution({ errors });
        return;
      }
      const { cost, costRefusal } = contextValue;
      const fragments = fragmentsOf(document);
      const refusal = costRefusal ?? cost.chargeOperation({ schema, fragments, operation, variables });
      if (refusal) setResultAndStopExecution({ errors: [locatedError(refusal, undefined)] });
    },
  };
}

type Variables = Readonly<Record<string, unknown>>;

/** The number of members of the largest object in the variables. */
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
