import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';

/** Answers parameters (in a URL or a form) that are not valid JSON with 400. Yoga treats them as an internal error. */
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
