import { Source } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Documents } from '../../execution/documents.js';

/** Refuses documents that are too long before they are parsed, and others that {@link Documents} refuses after it. */
export function useValidation(documents: Pick<Documents, 'checkTokens' | 'errorsOf'>): Plugin {
  return {
    onParse({ params: { source } }) {
      documents.checkTokens(source instanceof Source ? source : new Source(String(source)));
    },
    onValidate({ params: { documentAST }, setResult }) {
      setResult(documents.errorsOf(documentAST));
    },
  };
}
