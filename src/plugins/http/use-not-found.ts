import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../../http/refusal.js';

/** Answers all other paths with 404 and a list of these. */
export function useNotFound(paths: readonly string[]): Plugin {
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (paths.includes(url.pathname)) return;
      const message = `Nothing is here. Expected one of: ${paths.join(', ')}.`;
      // Browsers can get a page at the same address.
      endResponse(refusalResponse({ status: 404, message, headers: { vary: 'Accept' } }, fetchAPI));
    },
  };
}
