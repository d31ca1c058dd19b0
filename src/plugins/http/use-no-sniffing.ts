import type { Plugin } from 'graphql-yoga';

/** Says in every response that browsers must take its content type as it is. */
export function useNoSniffing(): Plugin {
  return {
    onResponse({ response }) {
      response.headers.set('x-content-type-options', 'nosniff');
    },
  };
}
