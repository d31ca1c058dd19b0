import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../../http/refusal.js';

export interface NotFoundOptions {
  /** The existing paths, for the message. */
  readonly paths: readonly string[];
  readonly isKnown: (pathname: string) => boolean;
}

/** Answers other paths with 404 and a list of the existing ones. */
export function useNotFound({ paths, isKnown }: NotFoundOptions): Plugin {
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (isKnown(url.pathname)) return;
      const message = `Nothing is here. Expected one of: ${paths.join(', ')}.`;
      // Browsers can get a page at the same address.
      endResponse(refusalResponse({ status: 404, message, headers: { vary: 'Accept' } }, fetchAPI));
    },
  };
}
