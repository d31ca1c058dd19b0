/** The response cache: responses in memory, by keys made from their requests. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { RequestParameters } from '../execution/operation-writer.js';
import { createSeenBefore } from '../execution/seen-before.js';
import type { Dependencies } from '../graph/dependencies.js';
import type { Body } from '../http/encodings.js';
import { isAskedByBody, isJsonType } from '../http/operations.js';
import type { Exchange } from './exchange.js';

export interface CompleteResponse {
  readonly operation: string | undefined;
  /** Names and values, alternating: the headers that are equal for every request with the same cache key. */
  readonly headers: readonly string[];
  readonly body: Body;
}

interface CachedResponse extends CompleteResponse {
  readonly dependencies: Dependencies;
  /** When the response was made, in milliseconds since 1970. */
  readonly madeAt: number;
}

/** A longer request is not cached. */
const MAX_KEYED_LENGTH = 65_536;
/** A response is estimated to take this many bytes beside its key and body: its headers and dependencies. */
const RESPONSE_BYTES = 2_000;
/** A key is estimated to take this many bytes beside the text of its request. */
const KEY_BYTES = 500;

/** The cache does not check whether an entry is current. */
export function createResponseCache(maxBytes: number) {
  const maxResponseBytes = Math.ceil(maxBytes * 0.84);
  const responses = new LRUCache<string, CachedResponse>({
    maxSize: maxResponseBytes,
    maxEntrySize: Math.ceil(maxResponseBytes / 2),
    // Includes the compressed bodies.
    sizeCalculation: ({ body }, key) =>
      RESPONSE_BYTES + 2 * key.length + Math.ceil(1.5 * body.plain.byteLength),
  });
  /** The cache keys, by the text of the request: to compute a key costs more than all other work for a hit. */
  const keys = new LRUCache<string, string>({
    maxSize: Math.ceil(maxBytes * 0.16),
    sizeCalculation: (_key, text) => KEY_BYTES + 2 * text.length,
  });
  const isTextKnown = createSeenBefore();

  return {
    /** The key of a request whose text has come at least twice. Nothing is parsed. */
    knownKey: (request: Exchange): string | undefined => keys.get(textOf(request)),
    /**
     * Computes the key of a parsed request. Requests have the same key if they differ only in ignored members, in the order
     * of members, or in white space around them. A new text has no key, because its response is usually not worth caching,
     * unless only its ignored members are new.
     */
    keyOf(request: Exchange, parameters: RequestParameters): string | undefined {
      const text = textOf(request);
      if (text.length > MAX_KEYED_LENGTH) return undefined;
      const isKnown = isTextKnown(text);
      if (!isKnown && Object.keys(parameters).every((name) => KNOWN_PARAMETERS.includes(name)))
        return undefined;
      const key = canonicalKey(request, parameters);
      if (key === undefined || (!isKnown && !responses.has(key))) return undefined;
      if (isKnown) keys.set(text, key);
      return key;
    },
    responses,
    size: () => ({ bytes: responses.calculatedSize + keys.calculatedSize, entries: responses.size }),
  };
}

/**
 * Everything in a request that its response varies by (RFC 9111), as one text. Headers contain no line break. A
 * template would be slower: V8 makes a tree of its parts, and copies the tree into one text when the cache looks it up.
 */
function textOf({ method, url, accept, origin, contentType, read }: Exchange): string {
  return [method, url, accept, origin, contentType, read.body].join('\n');
}

/** Undefined if the request cannot be cached. */
function canonicalKey({ method, accept, origin }: Exchange, parameters: RequestParameters) {
  const { query, operationName, variables, extensions } = parameters;
  try {
    // JSON has null for undefined.
    const parts = [method, accept, origin, query, operationName, variables, extensions];
    return createHash('sha256').update(JSON.stringify(parts, sorted)).digest('base64url');
  } catch {
    return undefined;
  }
}

/** For JSON.stringify: sorts the members of objects by name. Throws on a number that JSON cannot represent. */
function sorted(_name: string, value: unknown): unknown {
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('Expected a finite number');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The parameters that GraphQL over HTTP defines, and the ids of documents. Others are ignored. */
const KNOWN_PARAMETERS = ['query', 'operationName', 'variables', 'extensions', 'documentId', 'doc_id'];

/** Reads the parameters of a request to the endpoint. Undefined for an unusual one, such as a form. */
export function parametersOf(request: Exchange, path: string): RequestParameters | undefined {
  const { method, url, contentType = '', read } = request;
  if (isAskedByBody(method))
    return url === path && isJsonType(contentType) ? parsed(read.body ?? '') : undefined;
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // GraphQL Yoga decides about a parameter that is given twice.
  if (KNOWN_PARAMETERS.some((name) => search.getAll(name).length > 1)) return undefined;
  const { variables, extensions, ...plain } = Object.fromEntries(search);
  const jsonIn = (text: string | undefined) => text && (parsed(text) ?? text);
  return { ...plain, variables: jsonIn(variables), extensions: jsonIn(extensions) };
}

function parsed(text: string): RequestParameters | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as RequestParameters)
      : undefined;
  } catch {
    return undefined;
  }
}
