import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../../graph/context.js';
import { staleListingsHeader } from '../../graph/dependencies.js';

/**
 * Sets `x-stale-listings` to the stale listings that the operation read, with their ages in whole seconds:
 * `chains;age=340, tokens;age=95`. Absent if all of them are fresh.
 */
export function useStaleHeader(): Plugin<GatewayContext> {
  const values = new WeakMap<Request, string>();
  return {
    onExecute: () => ({
      onExecuteDone({ args: { contextValue } }) {
        const value = staleListingsHeader(contextValue.staleListings());
        if (value !== undefined) values.set(contextValue.request, value);
      },
    }),
    onResponse({ request, response }) {
      const value = values.get(request);
      if (value !== undefined) response.headers.set('x-stale-listings', value);
    },
  };
}
