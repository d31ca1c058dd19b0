/** Plugins that find the document of a request, and decide whether this document may be executed. */
import { createHash } from 'node:crypto';
import { GraphQLError, Source } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import type { Documents } from '../execution/documents.js';
import { DocumentRefusal, persistedHash, type TrustedDocuments } from '../execution/trusted-documents.js';

export interface OwnOperationContext {
  /** Whether the gateway itself made the operation, whose document then need not be in the operator's file. */
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
        throw refusal(resolved.message, resolved.code, resolved.status);
      }
      // The cast is safe, because GraphQL Yoga validates the parameters next.
      if (resolved !== given) setParams(resolved as typeof params);
    },
  };
}

/** Reads the id of a document from a URL, where GraphQL Yoga reads only the standard parameters of GraphQL. */
function idsInUrl({ method, url }: Request): { readonly documentId?: string } {
  if (method !== 'GET') return {};
  const { searchParams } = new URL(url);
  const documentId = searchParams.get('documentId') ?? searchParams.get('doc_id');
  return documentId === null ? {} : { documentId };
}

/** Total length of all stored queries, in characters. */
const MAX_STORED_LENGTH = 2 ** 21;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Automatic persisted queries, as in Apollo Client and urql: a client sends the SHA-256 of a query, which fits into a
 * short, cacheable URL. After the error PERSISTED_QUERY_NOT_FOUND, the client sends the text, too.
 */
export function usePersistedQueries(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_STORED_LENGTH,
    sizeCalculation: (text) => text.length + 64,
  });
  return {
    onParams({ params, setParams }) {
      const hash = persistedHash(params.extensions);
      if (hash === undefined || !HASH.test(hash)) return;
      // This is not validated yet: the client can send any value.
      const query: unknown = params.query ?? undefined;
      if (query === undefined) {
        const known = texts.get(hash);
        if (known === undefined) {
          // Clients recognise this error by exactly this message, or by its code.
          throw refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 200);
        }
        setParams({ ...params, query: known });
        return;
      }
      if (typeof query !== 'string') return;
      if (createHash('sha256').update(query).digest('hex') !== hash) {
        const message = 'Expected the SHA-256 of the query, in hex, as its "sha256Hash"; got another.';
        throw refusal(message, 'PERSISTED_QUERY_MISMATCH', 400);
      }
      texts.set(hash, query);
    },
  };
}

function refusal(
  message: string,
  code: DocumentRefusal['code'] | 'PERSISTED_QUERY_MISMATCH',
  status: number,
): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status } } });
}

/** Refuses documents with too many lexical tokens before they are parsed, and invalid documents after that. */
export function useValidation(documents: Pick<Documents, 'checkTokens' | 'errorsOf'>): Plugin {
  return {
    onParams({ params }) {
      // This is not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (typeof name !== 'string' || name.length <= TEXT_LIMITS.name) return;
      const message = `Expected at most ${TEXT_LIMITS.name} characters as "operationName", got ${name.length}.`;
      throw refusal(message, 'BAD_USER_INPUT', 400);
    },
    onParse({ params: { source } }) {
      documents.checkTokens(source instanceof Source ? source : new Source(String(source)));
    },
    onValidate({ params: { documentAST }, setResult }) {
      setResult(documents.errorsOf(documentAST));
    },
  };
}
