import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';

/**
 * Corrects how GraphQL Yoga reads the parameters of a request, which would answer 500 in two cases: parameters in a
 * URL or a form that are not valid JSON (now 400), and a JSON body with a member `then`, which it takes for a promise.
 */
export function useParameters(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return;
      setRequestParser(async (request) => {
        const json = async (): Promise<unknown> => JSON.parse(await request.text());
        Object.defineProperty(request, 'json', { value: json, configurable: true });
        try {
          return await requestParser(request);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          throw new GraphQLError(
            `Expected "variables" and "extensions" to be JSON, got something else: ${error.message}.`,
            { extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode, http: { status: 400 } } },
          );
        }
      });
    },
  };
}
