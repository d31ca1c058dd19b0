import type { Plugin } from 'graphql-yoga';
import { QUERY, QUERY_TYPE } from '../../http/query-method.js';
import { type Refusal, refusalResponse, shown } from '../../http/refusal.js';

const JSON_TYPE = /^application\/json *(;|$)/i;

/**
 * Lets clients ask by QUERY (RFC 10008): GraphQL Yoga gets such a request as a POST. It must be the first plugin, since
 * the others know a request by its identity.
 *
 * @param path the path of the GraphQL endpoint
 */
export function useQueryMethod(path: string): Plugin {
  return {
    onRequest({ request, url, setRequest, endResponse, fetchAPI }) {
      if (request.method !== QUERY || url.pathname !== path) return;
      const type = request.headers.get('content-type');
      if (!type || !JSON_TYPE.test(type)) {
        endResponse(refusalResponse(type ? wrongType(type) : MISSING_TYPE, fetchAPI));
        return;
      }
      const headers = new fetchAPI.Headers(request.headers);
      headers.set('content-type', QUERY_TYPE);
      const { body, signal } = request;
      const init = { method: 'POST', headers, body, signal, duplex: 'half' };
      setRequest(new fetchAPI.Request(request.url, init));
    },
    onResponse({ request, response, setResponse, fetchAPI }) {
      if (new URL(request.url).pathname !== path) return;
      response.headers.set('accept-query', QUERY_TYPE);
      if (response.status !== 405) return;
      // Yoga's header "Allow" would stay beside a new value, since its response tells letter cases apart.
      const others = [...response.headers].filter(([name]) => name.toLowerCase() !== 'allow');
      const headers = { ...Object.fromEntries(others), allow: `GET, HEAD, POST, ${QUERY}, OPTIONS` };
      setResponse(new fetchAPI.Response(response.body, { status: 405, headers }));
    },
  };
}

const EXPECTED = `Expected a QUERY request to have the Content-Type ${QUERY_TYPE}`;
const MISSING_TYPE: Refusal = { status: 400, message: `${EXPECTED}, got none.`, code: 'BAD_REQUEST' };

function wrongType(type: string): Refusal {
  return {
    status: 415,
    message: `${EXPECTED}, got ${shown(type)}.`,
    code: 'BAD_REQUEST',
  };
}
