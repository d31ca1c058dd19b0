/** The headers that every response of GraphQL Yoga has, and preflight requests. */
import type { Plugin } from 'graphql-yoga';
import { CACHE_STATUS, type CorsOrigins, corsHeaders, MISS } from '../http/headers.js';
import { QUERY } from '../http/operations.js';

const METHODS = `GET, POST, ${QUERY}, OPTIONS`;
const PREFLIGHT_SECONDS = '86400';

/**
 * Sets the headers of every response, and responds to preflight requests. The CORS of Yoga is not used: it repeats the
 * request's origin even if all are allowed, and then shared caches cannot reuse responses.
 *
 * @param path the path of the GraphQL endpoint
 */
export function useHeaders(path: string, origins: CorsOrigins): Plugin {
  return {
    onRequest({ request, endResponse, fetchAPI }) {
      if (request.method === 'OPTIONS') endResponse(new fetchAPI.Response(null, { status: 204 }));
    },
    onResponse({ request, response: { status, headers } }) {
      headers.set('x-content-type-options', 'nosniff');
      // Always a miss: GraphQL Yoga gets only requests that are not in the cache.
      if (new URL(request.url).pathname === path) headers.set(CACHE_STATUS, MISS);
      // GraphQL Yoga repeats the list of supported types for each type in the Accept header. One list is enough.
      const types = status === 406 ? headers.get('accept') : null;
      if (types !== null) headers.set('accept', [...new Set(types.split(', '))].join(', '));
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
