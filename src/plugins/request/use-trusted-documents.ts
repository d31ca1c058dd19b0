import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { DocumentRefusal, type TrustedDocuments } from '../../execution/trusted-documents.js';

export interface OwnOperationContext {
  /** Whether the gateway itself asks. Its documents need not be in the operator's file. */
  readonly isOwn?: boolean | undefined;
}

/** Puts the text of a trusted document in place of its id, and refuses documents that may not be executed. */
export function useTrustedDocuments(trusted: TrustedDocuments): Plugin<object, OwnOperationContext> {
  return {
    onParams({ params, request, setParams, context }) {
      if (context.isOwn) return;
      const given: Readonly<Record<string, unknown>> = { ...idsInUrl(request), ...params };
      const resolved = trusted.resolve(given);
      if (resolved instanceof DocumentRefusal) {
        const { code, status, message } = resolved;
        throw new GraphQLError(message, { extensions: { code, http: { status } } });
      }
      // GraphQL Yoga checks it next.
      if (resolved !== given) setParams(resolved as typeof params);
    },
  };
}

/** GraphQL Yoga reads no parameters of a GET but those of GraphQL. */
function idsInUrl({ method, url }: Request): { readonly documentId?: string; readonly doc_id?: string } {
  if (method !== 'GET') return {};
  const { searchParams } = new URL(url);
  const documentId = searchParams.get('documentId') ?? searchParams.get('doc_id');
  return documentId === null ? {} : { documentId };
}
