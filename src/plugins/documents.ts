/** Which document a request is for, and whether it may be executed. */

import { createHash } from 'node:crypto';
import { GraphQLError, Source } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../domain/error-codes.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import type { Documents } from '../execution/documents.js';
import { DocumentRefusal, type TrustedDocuments } from '../execution/trusted-documents.js';

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

/** Total length of all stored queries, in characters. */
const MAX_STORED_LENGTH = 2 ** 21;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Automatic persisted queries, as in Apollo Client and urql. A client first sends a query with the SHA-256 of its text,
 * and later only the hash, which fits into a short, cacheable URL. An unknown hash is answered with
 * PERSISTED_QUERY_NOT_FOUND, and the client sends the text again.
 */
export function usePersistedQueries(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_STORED_LENGTH,
    sizeCalculation: (text) => text.length + 64,
  });
  return {
    onParams({ params, setParams }) {
      const hash = hashOf(params.extensions);
      if (hash === undefined) return;
      // Not validated yet: the client can send any value.
      const query: unknown = params.query ?? undefined;
      if (query === undefined) {
        const known = texts.get(hash);
        if (known === undefined) {
          // Clients recognise it by exactly this message, or by its code.
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

function hashOf(extensions: unknown): string | undefined {
  const { persistedQuery } = (extensions ?? {}) as { persistedQuery?: unknown };
  const { version, sha256Hash } = (persistedQuery ?? {}) as { version?: unknown; sha256Hash?: unknown };
  return version === 1 && typeof sha256Hash === 'string' && HASH.test(sha256Hash) ? sha256Hash : undefined;
}

function refusal(message: string, code: string, status: number): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status } } });
}

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
