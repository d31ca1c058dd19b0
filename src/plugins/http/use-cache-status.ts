import type { Plugin } from 'graphql-yoga';
import { CACHE_STATUS, MISS } from '../../http/caching.js';

/**
 * Says with every response of the endpoint that it was not in the cache of responses, which is asked before.
 *
 * @param path the path of the GraphQL endpoint
 */
export function useCacheStatus(path: string): Plugin {
  return {
    onResponse({ request, response }) {
      if (new URL(request.url).pathname === path) response.headers.set(CACHE_STATUS, MISS);
    },
  };
}
