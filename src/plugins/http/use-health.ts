import type { Plugin } from 'graphql-yoga';

/** What {@link useHealth} takes. */
export interface HealthOptions {
  /** Why no traffic should come here now; undefined when it may. */
  readonly notReadyReason: () => string | undefined;
}

/** The paths that {@link useHealth} answers, exactly so written. */
export const HEALTH_PATHS = ['/live', '/ready'] as const;

/** `/live`: the process runs. `/ready`: it has something to serve, and is not about to stop; 503 otherwise. */
export function useHealth({ notReadyReason }: HealthOptions): Plugin {
  return {
    onRequest({ request, url, endResponse, fetchAPI }) {
      const { pathname } = url;
      if (pathname !== '/live' && pathname !== '/ready') return;
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const body = JSON.stringify({ error: `Expected GET or HEAD, got ${request.method}.` });
        endResponse(
          new fetchAPI.Response(body, { status: 405, headers: { ...headers, allow: 'GET, HEAD' } }),
        );
        return;
      }
      const reason = pathname === '/ready' ? notReadyReason() : undefined;
      const state = pathname === '/live' ? { live: true } : { ready: reason === undefined, reason };
      endResponse(new fetchAPI.Response(JSON.stringify(state), { status: reason ? 503 : 200, headers }));
    },
  };
}
