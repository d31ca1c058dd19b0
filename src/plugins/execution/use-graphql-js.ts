import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/**
 * Executes with graphql-js. GraphQL Yoga's own executor takes an object with a member `then` for a promise, and refuses
 * a fragment that is spread again with a condition that is null, which graphql-js never looks at.
 */
export function useGraphqlJs(): Plugin {
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
  };
}
