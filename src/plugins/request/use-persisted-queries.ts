import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

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
