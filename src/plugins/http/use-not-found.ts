import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../../http/refusal.js';

/**
 * Answers all other paths with 404 and a list of these.
 *
 * @param pages paths of pages: a browser was answered before this, and other clients get a 404
 */
export function useNotFound(paths: readonly string[], pages: readonly string[]): Plugin {
  const listed = [...pages.map((page) => `${page} (in a browser)`), ...paths].join(', ');
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (paths.includes(url.pathname)) return;
      const message = `Nothing is here. Expected one of: ${listed}.`;
      // Browsers can get a page at the same address.
      endResponse(refusalResponse({ status: 404, message, headers: { vary: 'Accept' } }, fetchAPI));
    },
  };
}
