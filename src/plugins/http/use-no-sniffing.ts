import type { Plugin } from 'graphql-yoga';

/** Tells browsers with every response not to guess another content type. */
export function useNoSniffing(): Plugin {
  return {
    onResponse({ response }) {
      response.headers.set('x-content-type-options', 'nosniff');
    },
  };
}
