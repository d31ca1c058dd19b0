/** Plugins that change how GraphQL Yoga reads the parameters of a request. */
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { shown } from '../domain/text-limits.js';
import { requestError } from '../execution/trusted-documents.js';

/**
 * Corrects how GraphQL Yoga reads parameters. Yoga alone responds with 500 to parameters in a URL or a form that are not
 * valid JSON (400 here), and to a JSON body with a member `then`, which Yoga takes for a promise. Yoga also knows a
 * Content-Type only in lower case, and its refusal of another type has no body.
 */
export function useParameters(): Plugin {
  return {
    onRequest({ request: { headers } }) {
      const type = headers.get('content-type');
      // The look-behind keeps the time linear: without it, 15,000 spaces would take 0.3 s.
      if (type && /[A-Z]| ;/.test(type))
        headers.set('content-type', type.toLowerCase().replace(/(?<! ) +;/, ';'));
    },
    onRequestParse({ request, requestParser, setRequestParser }) {
      if (!requestParser) {
        const type = request.headers.get('content-type');
        const message = `Expected the Content-Type application/json, got ${type ? shown(type) : 'none'}.`;
        setRequestParser(() => {
          throw requestError(message, 'BAD_REQUEST', 415);
        });
        return;
      }
      setRequestParser(async (request) => {
        const json = async (): Promise<unknown> => JSON.parse(await request.text());
        Object.defineProperty(request, 'json', { value: json, configurable: true });
        try {
          return await requestParser(request);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          const message = `Expected "variables" and "extensions" to be JSON, got something else: ${error.message}.`;
          throw requestError(message, 'BAD_USER_INPUT', 400);
        }
      });
    },
  };
}

/**
 * Ignores unknown members of a request, as GraphQL over HTTP demands. GraphQL Yoga alone would refuse such a
 * request. This plugin must follow the plugins that read other members.
 */
export function useKnownMembers(): Plugin {
  return {
    onParams({ params, setParams }) {
      // This is not validated yet: the client can send any value.
      const given: unknown = params;
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
      const { query, operationName, variables, extensions, ...unknown } = params;
      if ((query ?? null) !== null) {
        // In a URL, GraphQL over HTTP demands that an empty name counts as none. Here it does in a body, too.
        const name = operationName === '' ? undefined : operationName;
        return setParams({ query, operationName: name, variables, extensions } as typeof params);
      }
      // One of the unknown members may be a misspelt "query".
      const [other] = Object.keys(unknown);
      const message = `Expected a document as "query", such as "{ chains { name } }"; got ${other ? `only other members, such as ${shown(other)}` : 'none'}.`;
      const http = { status: 400, spec: other === undefined };
      throw new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http } });
    },
  };
}
