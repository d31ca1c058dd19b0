/** The response cache: responses in memory, by keys made from their requests. */
import { createHash } from 'node:crypto';
import { Source, stripIgnoredCharacters } from 'graphql';
import { LRUCache } from 'lru-cache';
import { exceededTokenLimit } from '../../execution/document-limits.js';
import { createSeenBefore } from '../../execution/seen-before.js';
import { DocumentRefusal, type TrustedDocuments } from '../../execution/trusted-documents.js';
import type { Dependencies } from '../../graph/dependencies.js';
import { isAskedByBody } from '../../http/query-method.js';
import { type CacheableRequest, parametersOf } from './exchange.js';
import type { CompleteResponse } from './send-response.js';

/** A response that can be sent again while its dependencies are current. */
export interface CachedResponse {
  readonly response: CompleteResponse;
  readonly dependencies: Dependencies;
  /** When the response was made, in milliseconds since 1970. */
  readonly madeAt: number;
}

export type ResponseCache = ReturnType<typeof createResponseCache>;

/** The key of a longer text is not remembered, but computed each time. */
const MAX_TEXT_LENGTH = 16_384;
/** A longer request is not cached: keys are computed before an operation waits for its turn, so they must be cheap. */
const MAX_KEYED_LENGTH = 65_536;
/** Requests with longer headers are not cached. Those of browsers have about 100 characters. */
const MAX_HEADERS_LENGTH = 500;
/** Estimated size of an entry without its key and body, in bytes. */
const ENTRY_BYTES = 500;

/**
 * Creates an empty cache of responses by cache key, of bounded total size. It does not check whether an entry is current.
 *
 * @param maxBytes the estimated size of everything in it
 * @param path the path of the GraphQL endpoint, such as `/graphql`
 * @param maxQueryTokens a document with more lexical tokens has no key; the gateway refuses it
 * @param trusted gives an id the key of its document, and a refused document no key
 */
export function createResponseCache(
  maxBytes: number,
  path: string,
  maxQueryTokens: number,
  trusted?: TrustedDocuments,
) {
  const maxResponseBytes = Math.ceil(maxBytes * 0.84);
  const responses = new LRUCache<string, CachedResponse>({
    maxSize: maxResponseBytes,
    maxEntrySize: Math.ceil(maxResponseBytes / 2),
    // Includes the compressed bodies.
    sizeCalculation: ({ response: { byteLength } }, key) =>
      ENTRY_BYTES + 2 * key.length + Math.ceil(1.5 * byteLength),
  });
  /** Cache keys, by the text and the headers of requests. */
  const keys = new LRUCache<string, string>({
    maxSize: Math.ceil(maxBytes * 0.16),
    sizeCalculation: (_key, variant) => ENTRY_BYTES + 2 * variant.length,
  });
  const isTextKnown = createSeenBefore();

  return {
    /**
     * The key of a request whose exact text and headers were seen before; undefined for any other. Look it up first:
     * computing the key costs more than the rest of a hit.
     */
    knownKey: (request: CacheableRequest) => keys.get(variantOf(request)),
    /** Whether a request with this text was seen lately. Notes the text. */
    hasSeen(request: CacheableRequest) {
      const text = textOf(request);
      return text.length <= MAX_KEYED_LENGTH && isTextKnown(text);
    },
    /** The key of a request, equal for requests that mean the same. Undefined if the response cannot be cached. */
    cacheKey(request: CacheableRequest): string | undefined {
      const variant = variantOf(request);
      const known = keys.get(variant);
      if (known !== undefined) return known;
      const { length } = textOf(request);
      if (length > MAX_KEYED_LENGTH) return undefined;
      const key = canonicalKey(request, path, maxQueryTokens, trusted);
      if (key !== undefined && length <= MAX_TEXT_LENGTH) keys.set(variant, key);
      return key;
    },
    get: (key: string) => responses.get(key),
    set: (key: string, cached: CachedResponse) => responses.set(key, cached),
    delete: (key: string) => responses.delete(key),
    /** The estimated size of the responses and of the texts that they are found by, and the number of responses. */
    size: () => ({
      bytes: responses.calculatedSize + keys.calculatedSize,
      entries: responses.size,
    }),
  };
}

/** The text of a request with the method and headers that its response varies by (RFC 9111). No header has a line break. */
function variantOf({
  method,
  url,
  accept = '',
  origin = '',
  contentType = '',
  body,
}: CacheableRequest): string {
  return `${method}\n${accept}\n${origin}\n${contentType}\n${url}\n${isAskedByBody(method) ? body : ''}`;
}

/** The part of a request that most requests differ in. */
function textOf({ method, url, body }: CacheableRequest): string {
  return isAskedByBody(method) ? body : url;
}

/**
 * The key of a request: the same for requests that differ only in white space, the order of members, and ignored members.
 * Undefined for an unusual request, which is then executed each time.
 */
function canonicalKey(
  request: CacheableRequest,
  path: string,
  maxQueryTokens: number,
  trusted: TrustedDocuments | undefined,
): string | undefined {
  const { method, accept = '', origin = '', contentType = '' } = request;
  if (accept.length + origin.length + contentType.length > MAX_HEADERS_LENGTH) return undefined;
  const given = parametersOf(request, path);
  const parameters = given && trusted ? trusted.resolve(given) : given;
  if (!parameters || parameters instanceof DocumentRefusal) return undefined;
  const { query, variables, operationName, extensions } = parameters;
  try {
    // With extensions the exact text counts: they can hold its hash. The text can also be missing then.
    const document = typeof query === 'string' && !extensions ? stripped(query, maxQueryTokens) : query;
    const parts = [document ?? null, operationName ?? null, variables ?? null, extensions ?? null].map(
      withSortedKeys,
    );
    return createHash('sha256')
      .update(JSON.stringify([method, request.accept, request.origin, ...parts]))
      .digest('base64url');
  } catch {
    return undefined;
  }
}

/** The document without white space and comments. Throws on a syntax error, or if it has too many tokens. */
function stripped(document: string, maxQueryTokens: number): string {
  if (exceededTokenLimit(new Source(document), maxQueryTokens)) throw new RangeError('Expected fewer tokens');
  return stripIgnoredCharacters(document);
}

/** Sorts the members of objects by name. Throws on a number that JSON cannot represent. */
function withSortedKeys(value: unknown): unknown {
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('Expected a finite number');
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, withSortedKeys(member)]),
  );
}
