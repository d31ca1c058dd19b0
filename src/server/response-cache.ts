/** The response cache: responses in memory, by keys made from their requests. */
import { createHash } from 'node:crypto';
import { Source, stripIgnoredCharacters } from 'graphql';
import { LRUCache } from 'lru-cache';
import { parsedBytes } from '../domain/json-parts.js';
import { exceededTokenLimit } from '../execution/documents.js';
import type { RequestParameters } from '../execution/operation-writer.js';
import { createSeenBefore } from '../execution/seen-before.js';
import type { Gateway } from '../gateway.js';
import type { Dependencies } from '../graph/dependencies.js';
import type { Body } from '../http/encodings.js';
import { isAskedByBody, isJsonType } from '../http/operations.js';
import type { CacheableRequest } from './exchange.js';

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

/** The key of a longer request is not stored. If its text was not seen lately, it is parsed only in its turn. */
export const MAX_SHORT_LENGTH = 16_384;
/** A longer request is not cached: keys are computed before an operation waits for its turn, so they must be cheap. */
const MAX_KEYED_LENGTH = 65_536;
/** A longer text is parsed before the turn of its operation only if it has few values for its length. */
const MAX_UNCHECKED_LENGTH = 1_024;
/** The most bytes in memory for each character of such a text. Keys of tokens take 4, symbols of three letters 11. */
const MAX_BYTES_OF_CHARACTER = 12;
/** A response is estimated to take this many bytes beside its key and body: its headers and dependencies. */
const RESPONSE_BYTES = 2_000;
/** A key is estimated to take this many bytes beside the text of its request. */
const KEY_BYTES = 500;

/**
 * The cache does not check whether an entry is current. A request by id has the same key as one with the text. A document
 * with too many lexical tokens has no key, like any refused one.
 */
export function createResponseCache(
  maxBytes: number,
  maxQueryTokens: number,
  { path, withTrustedText }: Gateway,
) {
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

  /**
   * The same for requests that differ only in white space, comments (except with `extensions`), the order of members,
   * or ignored members. An unusual request has no key, and is executed each time.
   */
  function canonicalKey(request: CacheableRequest): string | undefined {
    const parameters = isQuickToParse(request.body)
      ? withTrustedText(parametersOf(request, path))
      : undefined;
    if (!parameters) return undefined;
    const { query, variables, operationName, extensions } = parameters;
    try {
      // With extensions, the exact text is a part of the key: extensions can have a hash of this text. It can also be missing.
      const document = typeof query === 'string' && !extensions ? stripped(query, maxQueryTokens) : query;
      const { method, accept, origin } = request;
      // JSON has null for undefined.
      const parts = [method, accept, origin, document, operationName, variables, extensions];
      return createHash('sha256').update(JSON.stringify(parts, sorted)).digest('base64url');
    } catch {
      return undefined;
    }
  }

  function computeKey(request: CacheableRequest, text: string): string | undefined {
    if (text.length > MAX_KEYED_LENGTH) return undefined;
    const key = keys.get(text) ?? canonicalKey(request);
    if (key !== undefined && text.length <= MAX_SHORT_LENGTH) keys.set(text, key);
    return key;
  }

  return {
    /** The key of a request whose text was seen lately. Undefined for a new text, which is then remembered. */
    keyIfSeen(request: CacheableRequest): string | undefined {
      const text = textOf(request);
      const known = keys.get(text);
      if (known !== undefined || text.length > MAX_KEYED_LENGTH) return known;
      return isTextKnown(text) ? computeKey(request, text) : undefined;
    },
    /** Equal for requests that mean the same. Undefined if the response cannot be cached. */
    cacheKey: (request: CacheableRequest) => computeKey(request, textOf(request)),
    responses,
    size: () => ({ bytes: responses.calculatedSize + keys.calculatedSize, entries: responses.size }),
  };
}

/**
 * Everything in a request that its response varies by (RFC 9111), as one text. Headers contain no line break. A
 * template would be slower: V8 makes a tree of its parts, and copies the tree into one text when the cache looks it up.
 */
function textOf({ method, url, accept, origin, contentType, body }: CacheableRequest): string {
  return [method, url, accept, origin, contentType, body].join('\n');
}

/** A thousand requests can arrive at once, and each of them with 16,000 brackets would take 5 ms and half a megabyte. */
function isQuickToParse(text: string): boolean {
  return text.length <= MAX_UNCHECKED_LENGTH || parsedBytes(text) <= MAX_BYTES_OF_CHARACTER * text.length;
}

/** The document without white space and comments. Throws on a syntax error or too many tokens. */
function stripped(document: string, maxQueryTokens: number): string {
  if (exceededTokenLimit(new Source(document), maxQueryTokens)) throw new RangeError('Expected fewer tokens');
  return stripIgnoredCharacters(document);
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

/** A URL with more parameters is left to GraphQL Yoga: to read thousands of them takes milliseconds. */
const MAX_PARAMETERS = 50;

const OTHER_PARAMETER = new RegExp(`[?&](?!(${KNOWN_PARAMETERS.join('|')})=)[^&]`);

/** Whether a request to the endpoint has members or parameters that are ignored. False for a long or unusual request. */
export function hasIgnoredMembers(request: CacheableRequest, path: string): boolean {
  if (request.body.length + request.url.length > MAX_SHORT_LENGTH) return false;
  // The URL is not decoded for this check. A wrong `true` only costs time.
  if (!isAskedByBody(request.method)) return OTHER_PARAMETER.test(request.url);
  if (!isQuickToParse(request.body)) return false;
  return Object.keys(parametersOf(request, path) ?? {}).some((name) => !KNOWN_PARAMETERS.includes(name));
}

/** Reads the parameters of a request to the endpoint. Undefined for an unusual one, such as a form. */
export function parametersOf(request: CacheableRequest, path: string): RequestParameters | undefined {
  return isAskedByBody(request.method) ? fromBody(request, path) : fromUrl(request, path);
}

function fromBody(request: CacheableRequest, path: string): RequestParameters | undefined {
  const { url, contentType = '', body } = request;
  if (url !== path || !isJsonType(contentType)) return undefined;
  if (body.length > MAX_SHORT_LENGTH) return parsed(body);
  request.parsed ??= { parameters: parsed(body) };
  return request.parsed.parameters;
}

function fromUrl({ method, url }: CacheableRequest, path: string): RequestParameters | undefined {
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  if (url.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // GraphQL Yoga decides about a parameter that is given twice.
  if (KNOWN_PARAMETERS.some((name) => search.getAll(name).length > 1)) return undefined;
  const { variables, extensions, ...plain } = Object.fromEntries(search);
  if (!isQuickToParse(variables ?? '') || !isQuickToParse(extensions ?? '')) return undefined;
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
