import type { Plugin } from 'graphql-yoga';

/**
 * Ignores members of a request that the gateway does not know (GraphQL over HTTP); GraphQL Yoga would refuse the request.
 * It comes after the plugins that read members of their own.
 */
export function useKnownMembers(): Plugin {
  return {
    onParams({ params, setParams }) {
      // Not validated yet: the client can send any value.
      const given: unknown = params;
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
      const { query, operationName, variables, extensions } = params;
      // Without a query it is refused in any case, and then the name of the other member helps: it may be a misspelt one.
      if ((query ?? null) === null) return;
      setParams({ query, operationName, variables, extensions } as typeof params);
    },
  };
}
