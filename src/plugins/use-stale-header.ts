import type { Plugin } from 'graphql-yoga';
import type { GatewayContext } from '../context.js';

/**
 * Says in `x-stale-listings` which of the listings that the operation read were stale, and their ages in
 * whole seconds: `chains;age=340, tokens;age=95`. Absent where all that was read is fresh.
 */
export function useStaleHeader(): Plugin<GatewayContext> {
  const values = new WeakMap<Request, string>();
  return {
    onExecute: () => ({
      onExecuteDone({ args: { contextValue } }) {
        const stale = contextValue.staleListings();
        if (stale.length === 0) return;
        const members = stale.map(({ name, ageMs }) => `${name};age=${Math.floor(ageMs / 1000)}`);
        values.set(contextValue.request, members.join(', '));
      },
    }),
    onResponse({ request, response }) {
      const value = values.get(request);
      if (value !== undefined) response.headers.set('x-stale-listings', value);
    },
  };
}
