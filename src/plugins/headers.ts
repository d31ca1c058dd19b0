/** Sets the common headers of GraphQL Yoga's responses, answers preflight requests, and explains Yoga's refusals. */
import type { Plugin } from 'graphql-yoga';
import { shown } from '../domain/text-limits.js';
import { CACHE_STATUS, type CorsOrigins, corsHeaders, MISS } from '../http/headers.js';
import { QUERY } from '../http/operations.js';
import { type Refusal, refusalResponse } from '../http/refusal.js';

const METHODS = `GET, POST, ${QUERY}, OPTIONS`;
const ALLOWED = `GET, HEAD, POST, ${QUERY}, OPTIONS`;
const PREFLIGHT_SECONDS = '86400';
/**
 * The types of responses, for a refusal with status 406. Yoga's own refusal repeats this list for each type in the
 * request's Accept header, and lacks it if all types there have another charset.
 */
const RESPONSE_TYPES =
  'text/event-stream; charset=utf-8, multipart/mixed; charset=utf-8, application/graphql-response+json; charset=utf-8, application/json';

/**
 * Sets headers of Yoga's responses, and responds to preflight requests. Responses to operations without errors get theirs
 * in `server/send-response.ts`, so a new header belongs there, too. The CORS of Yoga is not used: it repeats the
 * request's origin even if all are allowed, and then shared caches cannot reuse responses.
 *
 * @param path the path of the GraphQL endpoint
 */
export function useHeaders(path: string, origins: CorsOrigins): Plugin {
  return {
    onRequest({ request, endResponse, fetchAPI }) {
      if (request.method === 'OPTIONS') endResponse(new fetchAPI.Response(null, { status: 204 }));
    },
    onResponse({ request, response: { headers, status } }) {
      headers.set('x-content-type-options', 'nosniff');
      // Yoga also sends this header with status 400 for parameters of a wrong type, whose method is right.
      if (status !== 405) headers.delete('allow');
      // Always a miss: GraphQL Yoga gets only requests that are not in the cache.
      if (new URL(request.url).pathname === path) headers.set(CACHE_STATUS, MISS);
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

/**
 * Refusals with status 405 and 406 get a message with the expected and the actual value, which GraphQL Yoga's messages
 * lack. This plugin must be the first, because later plugins add headers to its responses.
 *
 * @param path the path of the GraphQL endpoint
 */
export function useClearRefusals(
  path: string,
): Plugin<object, { readonly outcome: { codes?: readonly string[] } }> {
  return {
    onResponse({ request, response, setResponse, fetchAPI, serverContext: { outcome } }) {
      if (new URL(request.url).pathname !== path) return;
      const refusal = clearRefusal(request, response);
      if (!refusal) return;
      outcome.codes = ['BAD_REQUEST'];
      setResponse(refusalResponse(refusal, fetchAPI));
    },
  };
}

function clearRefusal({ method, headers: sent }: Request, { status }: Response): Refusal | undefined {
  if (status === 405) {
    const message =
      method === 'GET'
        ? 'Expected a query, got a mutation: this graph is read-only.'
        : `Expected one of the methods ${ALLOWED}, got ${shown(method)}.`;
    return { status, message, code: 'BAD_REQUEST', headers: { allow: ALLOWED } };
  }
  if (status !== 406) return undefined;
  const message = `Expected an Accept header with one of these types: ${RESPONSE_TYPES}; got ${shown(sent.get('accept') ?? '')}.`;
  return { status, message, code: 'BAD_REQUEST', headers: { accept: RESPONSE_TYPES } };
}
