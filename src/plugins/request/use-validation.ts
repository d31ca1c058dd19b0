import { GraphQLError, Source } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';
import { TEXT_LIMITS } from '../../domain/text-limits.js';
import type { Documents } from '../../execution/documents.js';

/** Refuses documents that are too long before they are parsed, and others that {@link Documents} refuses after it. */
export function useValidation(documents: Pick<Documents, 'checkTokens' | 'errorsOf'>): Plugin {
  return {
    onParams({ params }) {
      // Not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (typeof name !== 'string' || name.length <= TEXT_LIMITS.name) return;
      throw new GraphQLError(
        `Expected at most ${TEXT_LIMITS.name} characters as "operationName", got ${name.length}.`,
        { extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode, http: { status: 400 } } },
      );
    },
    onParse({ params: { source } }) {
      documents.checkTokens(source instanceof Source ? source : new Source(String(source)));
    },
    onValidate({ params: { documentAST }, setResult }) {
      setResult(documents.errorsOf(documentAST));
    },
  };
}
