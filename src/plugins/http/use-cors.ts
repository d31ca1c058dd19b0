import type { Plugin } from 'graphql-yoga';
import { type CorsOrigins, corsHeaders } from '../../http/cors.js';
import { QUERY } from '../../http/query-method.js';

const METHODS = `GET, POST, ${QUERY}, OPTIONS`;
const PREFLIGHT_SECONDS = '86400';

/**
 * Lets pages of the given origins read responses; never with credentials, because the gateway has none.
 *
 * Yoga's own CORS repeats the request's origin even if all are allowed, so that a shared cache could not share.
 */
export function useCors(origins: CorsOrigins): Plugin {
  return {
    onRequest({ request, endResponse, fetchAPI }) {
      if (request.method === 'OPTIONS') endResponse(new fetchAPI.Response(null, { status: 204 }));
    },
    onResponse({ request, response: { headers } }) {
      for (const [name, value] of corsHeaders(origins, request.headers.get('origin'))) {
        if (name === 'vary') headers.append(name, value);
        else headers.set(name, value);
      }
      if (request.method !== 'OPTIONS' || !headers.has('access-control-allow-origin')) return;
      headers.set('access-control-allow-methods', METHODS);
      headers.set('access-control-max-age', PREFLIGHT_SECONDS);
      const wanted = request.headers.get('access-control-request-headers');
      if (!wanted) return;
      headers.set('access-control-allow-headers', wanted);
      headers.append('vary', 'Access-Control-Request-Headers');
    },
  };
}
