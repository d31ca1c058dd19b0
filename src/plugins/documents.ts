/** Plugins that find the document of a request, and decide whether this document may be executed. */
import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import type { Documents } from '../execution/documents.js';
import { persistedHash, requestError, type TrustedDocuments } from '../execution/trusted-documents.js';

export function useTrustedDocuments(
  trusted: TrustedDocuments,
): Plugin<object, { readonly isOwn?: boolean | undefined }> {
  return {
    onParams({ params, request, setParams, context }) {
      if (context.isOwn) return;
      // GraphQL Yoga reads only the standard parameters of a URL.
      const inUrl = request.method === 'GET' ? new URL(request.url).searchParams : undefined;
      const documentId = inUrl?.get('documentId') ?? inUrl?.get('doc_id') ?? undefined;
      const given: Readonly<Record<string, unknown>> = { documentId, ...params };
      const resolved = trusted.resolve(given);
      if (resolved instanceof GraphQLError) throw resolved;
      // The cast is safe, because GraphQL Yoga validates the parameters next.
      if (resolved !== given) setParams(resolved as typeof params);
    },
  };
}

/** When all stored queries together have more characters (4 MB), those that were unused for longest are dropped. */
const MAX_STORED_LENGTH = 2 ** 21;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Automatic persisted queries, as in Apollo Client and urql: a client sends the SHA-256 of a query, which fits into a
 * short, cacheable URL. After the error PERSISTED_QUERY_NOT_FOUND, the client sends the text, too.
 */
export function usePersistedQueries(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_STORED_LENGTH,
    // A longer text is refused as a document, and would displace many others here.
    maxEntrySize: TEXT_LIMITS.document + 64,
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
        // Clients recognise this error by exactly this message, or by its code.
        if (known === undefined)
          throw requestError('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 200);
        setParams({ ...params, query: known });
        return;
      }
      if (typeof query !== 'string') return;
      if (createHash('sha256').update(query).digest('hex') !== hash) {
        const message = 'Expected the SHA-256 of the query, in hex, as its "sha256Hash"; got another.';
        throw requestError(message, 'PERSISTED_QUERY_MISMATCH', 400);
      }
      texts.set(hash, query);
    },
  };
}

/** Refuses a long `operationName`, a document with too many lexical tokens, and an invalid document. */
export function useValidation(documents: Pick<Documents, 'parse' | 'errorsOf'>): Plugin {
  return {
    onParams({ params }) {
      // This is not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (typeof name !== 'string' || name.length <= TEXT_LIMITS.name) return;
      const message = `Expected at most ${TEXT_LIMITS.name} characters as "operationName", got ${name.length}.`;
      throw requestError(message, 'BAD_USER_INPUT', 400);
    },
    onParse({ setParseFn }) {
      setParseFn((text) => documents.parse(String(text)));
    },
    onValidate({ params: { documentAST }, setResult }) {
      setResult(documents.errorsOf(documentAST));
    },
  };
}
