import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../../graph/context.js';
import type { CacheableResult } from '../../graph/dependencies.js';

/** Tells the HTTP server the dependencies of each response without errors, so that the response can be cached. */
export function useDependencies(): Plugin<
  GatewayContext & { readonly outcome?: { cacheable?: CacheableResult } }
> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, args: { contextValue } }) {
        if (Symbol.asyncIterator in result || result.errors) return;
        const dependencies = contextValue.dependencies();
        const operation = contextValue.params.operationName?.slice(0, 100);
        const { outcome } = contextValue;
        if (dependencies && outcome) outcome.cacheable = { dependencies, operation };
      },
    }),
  };
}
