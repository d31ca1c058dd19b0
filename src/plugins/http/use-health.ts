import type { Plugin } from 'graphql-yoga';
import { methodNotAllowed, refusalResponse } from '../../http/refusal.js';

export interface HealthOptions {
  /** Why this process should get no traffic now; undefined if it should. */
  readonly notReadyReason: () => string | undefined;
}

/** Exact paths: `/live/` is not found. */
export const HEALTH_PATHS = ['/live', '/ready'] as const;

/** `/live`: the process runs. `/ready`: it has listings to serve and is not about to stop; otherwise 503. */
export function useHealth({ notReadyReason }: HealthOptions): Plugin {
  return {
    onRequest({ request, url, endResponse, fetchAPI }) {
      const { pathname } = url;
      if (pathname !== '/live' && pathname !== '/ready') return;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        endResponse(refusalResponse(methodNotAllowed(request.method), fetchAPI));
        return;
      }
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
      const reason = pathname === '/ready' ? notReadyReason() : undefined;
      const state = pathname === '/live' ? { live: true } : { ready: reason === undefined, reason };
      endResponse(new fetchAPI.Response(JSON.stringify(state), { status: reason ? 503 : 200, headers }));
    },
  };
}
