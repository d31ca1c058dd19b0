import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../graph/context.js';
import { type CacheableResult, staleListingsHeader } from '../graph/dependencies.js';

/**
 * Executes with graphql-js, and says what a result depends on: `x-stale-listings` names the stale listings that the
 * operation read, with their ages in whole seconds, as in `chains;age=340, tokens;age=95`. The HTTP server learns the
 * dependencies of each response without errors, so that it can be cached.
 *
 * GraphQL Yoga's own executor takes an object with a member `then` for a promise, and refuses a fragment that is spread
 * again with a condition that is null, which graphql-js never looks at.
 */
export function useResults(): Plugin<
  GatewayContext & { readonly outcome?: { cacheable?: CacheableResult } }
> {
  const staleListings = new WeakMap<Request, string>();
  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(execute);
      return {
        onExecuteDone({ result, args: { contextValue } }) {
          const stale = staleListingsHeader(contextValue.staleListings());
          if (stale !== undefined) staleListings.set(contextValue.request, stale);
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
    },
  };
}
