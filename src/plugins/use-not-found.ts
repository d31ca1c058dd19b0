import type { Plugin } from 'graphql-yoga';

/** What {@link useNotFound} takes. */
export interface NotFoundOptions {
  /** Where browsers that open `/` are sent; undefined sends them nowhere. */
  readonly home: string | undefined;
  /** The paths that are answered, for the message. */
  readonly paths: readonly string[];
  /** Whether this path is answered. */
  readonly isKnown: (pathname: string) => boolean;
}

/** Says on every other path which paths there are. */
export function useNotFound({ home, paths, isKnown }: NotFoundOptions): Plugin {
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (isKnown(url.pathname)) return;
      if (url.pathname === '/' && home) {
        endResponse(new fetchAPI.Response(null, { status: 302, headers: { location: home } }));
        return;
      }
      const body = JSON.stringify({ error: `Nothing is here. Expected one of: ${paths.join(', ')}.` });
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      endResponse(new fetchAPI.Response(body, { status: 404, headers }));
    },
  };
}
