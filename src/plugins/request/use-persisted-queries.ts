import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

/** What the texts of persisted queries may take in all, in characters. */
const MAX_KEPT_LENGTH = 2 ** 21;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Automatic persisted queries, as Apollo Client and urql ask them: a query is sent once with the SHA-256 of
 * its text, and by that alone from then on, so that it fits into a short address which caches can hold. A
 * hash that is not known is answered with PERSISTED_QUERY_NOT_FOUND, upon which clients send the text again.
 */
export function usePersistedQueries(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_KEPT_LENGTH,
    sizeCalculation: (text) => text.length + 64,
  });
  return {
    onParams({ params, setParams }) {
      const hash = hashOf(params.extensions);
      if (hash === undefined) return;
      // Not yet checked: it is whatever the client sent.
      const query: unknown = params.query ?? undefined;
      if (query === undefined) {
        const known = texts.get(hash);
        if (known === undefined) throw notFound();
        setParams({ ...params, query: known });
        return;
      }
      if (typeof query !== 'string') return;
      if (createHash('sha256').update(query).digest('hex') !== hash) throw mismatch();
      texts.set(hash, query);
    },
  };
}

function hashOf(extensions: unknown): string | undefined {
  const { persistedQuery } = (extensions ?? {}) as { persistedQuery?: unknown };
  const { version, sha256Hash } = (persistedQuery ?? {}) as { version?: unknown; sha256Hash?: unknown };
  return version === 1 && typeof sha256Hash === 'string' && HASH.test(sha256Hash) ? sha256Hash : undefined;
}

/** Clients know it by this very message, or by its code. */
function notFound(): GraphQLError {
  return new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', http: { status: 200 } },
  });
}

function mismatch(): GraphQLError {
  return new GraphQLError('Expected the SHA-256 of the query, in hex, as its "sha256Hash"; got another.', {
    extensions: { code: 'PERSISTED_QUERY_MISMATCH', http: { status: 400 } },
  });
}
