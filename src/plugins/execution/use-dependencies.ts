import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../../graph/context.js';
import type { Whole } from '../../graph/dependencies.js';

/** Tells the HTTP server of each whole answer what it was made from, so that it can be given again. */
export function useBasis(): Plugin<GatewayContext & { readonly said?: { whole?: Whole } }> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, args: { contextValue } }) {
        if (Symbol.asyncIterator in result || result.errors) return;
        const basis = contextValue.basis();
        const operation = contextValue.params.operationName;
        if (basis && contextValue.said)
          contextValue.said.whole = { basis, operation: operation?.slice(0, 100) };
      },
    }),
  };
}
