import type { Plugin } from 'graphql-yoga';

/** What {@link useNotFound} takes. */
export interface NotFoundOptions {
  /** The paths that are answered, for the message. */
  readonly paths: readonly string[];
  /** Whether this path is answered. */
  readonly isKnown: (pathname: string) => boolean;
}

/** Says on every other path which paths there are. */
export function useNotFound({ paths, isKnown }: NotFoundOptions): Plugin {
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (isKnown(url.pathname)) return;
      const body = JSON.stringify({ error: `Nothing is here. Expected one of: ${paths.join(', ')}.` });
      // The same address can have a page for browsers.
      const headers = { 'content-type': 'application/json; charset=utf-8', vary: 'Accept' };
      endResponse(new fetchAPI.Response(body, { status: 404, headers }));
    },
  };
}
