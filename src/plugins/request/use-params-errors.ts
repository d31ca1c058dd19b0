import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';

/** Tells a client that its parameters, in the URL or a form, are no JSON, where Yoga would take that for an error of the server. */
export function useParamsErrors(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return;
      setRequestParser(async (request) => {
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
