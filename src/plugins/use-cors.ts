import type { Plugin } from 'graphql-yoga';

/** What {@link useCors} takes. */
export interface CorsOptions {
  /** The origins that may read answers in a browser, or `*` for all. */
  readonly origins: '*' | readonly string[];
}

const METHODS = 'GET, POST, OPTIONS';
const PREFLIGHT_SECONDS = '86400';

/**
 * Lets pages of the given origins read answers; never with credentials, since the gateway has none.
 *
 * Yoga's own CORS reflects any origin where all are allowed, which keeps shared caches from sharing.
 */
export function useCors({ origins }: CorsOptions): Plugin {
  const allowed = new Set(origins);
  return {
    onRequest({ request, endResponse, fetchAPI }) {
      if (request.method === 'OPTIONS') endResponse(new fetchAPI.Response(null, { status: 204 }));
    },
    onResponse({ request, response: { headers } }) {
      const origin = request.headers.get('origin');
      if (origins === '*') {
        headers.set('access-control-allow-origin', '*');
      } else {
        headers.append('vary', 'Origin');
        if (!origin || !allowed.has(origin)) return;
        headers.set('access-control-allow-origin', origin);
      }
      headers.set('access-control-expose-headers', 'x-request-id, x-stale-listings');
      if (request.method !== 'OPTIONS') return;
      headers.set('access-control-allow-methods', METHODS);
      headers.set('access-control-max-age', PREFLIGHT_SECONDS);
      const wanted = request.headers.get('access-control-request-headers');
      if (!wanted) return;
      headers.set('access-control-allow-headers', wanted);
      headers.append('vary', 'Access-Control-Request-Headers');
    },
  };
}
