/** Executes operations with graphql-js, and reports what their results depend on. */
import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../graph/context.js';
import { type CacheableResult, staleListingsHeader } from '../graph/dependencies.js';
import { COST } from '../http/caching.js';

/**
 * Executes with graphql-js, and sets two headers. `x-stale-listings` names the stale listings and routes that the
 * operation read, with their ages in whole seconds, as in `chains;age=340, tokens;age=95`. `x-cost` has the cost. The
 * HTTP server gets the dependencies of each response without errors, so that it can be cached.
 *
 * The executor of GraphQL Yoga is not used, because it differs from graphql-js in two ways. Yoga's executor takes an
 * object with a member `then` for a promise. And it refuses an operation in which a fragment is spread a second time
 * with a condition that is null; graphql-js does not evaluate that condition.
 */
export function useResults(): Plugin<
  GatewayContext & { readonly outcome?: { cacheable?: CacheableResult } }
> {
  const staleListings = new WeakMap<Request, string>();
  const costs = new WeakMap<Request, number>();
  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(execute);
      return {
        onExecuteDone({ result, args: { contextValue } }) {
          const stale = staleListingsHeader(contextValue.staleListings());
          if (stale !== undefined) staleListings.set(contextValue.request, stale);
          costs.set(contextValue.request, contextValue.cost.spent.units);
          const { outcome } = contextValue;
          if (Symbol.asyncIterator in result || result.errors || !outcome) return;
          const dependencies = contextValue.dependencies();
          const operation = contextValue.params.operationName?.slice(0, 100);
          if (dependencies) outcome.cacheable = { dependencies, operation };
        },
      };
    },
    onResponse({ request, response }) {
      const stale = staleListings.get(request);
      if (stale !== undefined) response.headers.set('x-stale-listings', stale);
      const cost = costs.get(request);
      if (cost !== undefined) response.headers.set(COST, String(cost));
    },
  };
}
