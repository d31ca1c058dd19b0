/** Executes operations with graphql-js, and reports the results to the HTTP server. */
import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../graph/context.js';
import { type ResultFacts, staleListingsHeader } from '../graph/dependencies.js';
import { COST } from '../http/headers.js';

/**
 * An out-parameter: facts about a request that GraphQL Yoga answers, for the HTTP server. It is not a callback, because
 * the closure of a callback kept all later requests alive (a leak).
 */
export interface OperationOutcome {
  /** The `operationName` of the request, cut to 100 characters; at `/mcp` that of the called tool. */
  operation?: string;
  /** The distinct codes of its errors. */
  codes?: readonly string[];
  /** True if the operation was refused before it had data. */
  isRefused?: boolean;
  /** Whether the client itself caused the errors in `codes`: an overload, or a failure of the upstream. */
  isByClient?: boolean;
  /** Present if the operation was executed. */
  result?: ResultFacts;
}

interface OutcomeContext {
  readonly outcome?: OperationOutcome | undefined;
  readonly requestId?: string | undefined;
}

const MAX_NAME_LENGTH = 100;

/**
 * Executes with graphql-js, reports the {@link OperationOutcome}, and sets `x-request-id`, `x-cost` and
 * `x-stale-listings`.
 *
 * The executor of GraphQL Yoga is not used: it takes an object with a member `then` for a promise, and it refuses an
 * operation in which a fragment is spread a second time with a condition that is null.
 */
export function useResults(): Plugin<GatewayContext & OutcomeContext, OutcomeContext> {
  return {
    onParams({ params, context: { outcome } }) {
      // This is not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (outcome && typeof name === 'string' && name) outcome.operation = name.slice(0, MAX_NAME_LENGTH);
    },
    onExecute({ setExecuteFn }) {
      setExecuteFn(execute);
      return {
        onExecuteDone({ result, args: { contextValue } }) {
          const { outcome, cost, staleListings, dependencies } = contextValue;
          if (!outcome || Symbol.asyncIterator in result) return;
          outcome.result = {
            operation: outcome.operation,
            cost: cost.spent.units,
            dependencies: result.errors ? undefined : dependencies(),
            staleListings: () => staleListingsHeader(staleListings()),
          };
        },
      };
    },
    onResultProcess({ result, serverContext: { outcome } }) {
      if (!outcome || Symbol.asyncIterator in result) return;
      const codes = new Set<string>();
      for (const { data, errors = [] } of Array.isArray(result) ? result : [result]) {
        if (data === undefined) outcome.isRefused = true;
        // The GraphQL server gives an unexpected error no code.
        for (const { extensions } of errors) codes.add(String(extensions?.code ?? 'INTERNAL_SERVER_ERROR'));
      }
      if (codes.size > 0) outcome.codes = [...codes];
    },
    onResponse({ response: { headers }, serverContext: { outcome, requestId } }) {
      if (requestId !== undefined) headers.set('x-request-id', requestId);
      if (!outcome?.result) return;
      headers.set(COST, String(outcome.result.cost));
      const stale = outcome.result.staleListings();
      if (stale !== undefined) headers.set('x-stale-listings', stale);
    },
  };
}
