import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Source, stripIgnoredCharacters } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Basis } from './basis.js';
import { hasMoreTokens } from './document-tokens.js';
import { type Encoding, encode } from './encodings.js';

/** A whole answer without errors, ready to be sent. */
export interface KeptAnswer {
  readonly basis: Basis;
  /** The operation's name, for the log. */
  readonly operation: string | undefined;
  /** Names and values in turn: those that are the same for every request with this key. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** The body in an encoding: at once where it was written so before. Small ones stay as they are. */
  encoded(encoding: Encoding): EncodedBody | Promise<EncodedBody>;
  /** A strong tag of the body as it is in this encoding. */
  etag(encoding: Encoding): string;
}

/** A body and how it is written. */
export interface EncodedBody {
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
}

/** A request, as far as its answer depends on it. */
export interface Question {
  readonly method: string;
  /** With its query string. */
  readonly url: string;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  /** Empty where the method has none. */
  readonly body: string;
}

/** What is asked. */
export function questionOf({ method = 'GET', url = '/', headers }: IncomingMessage, body: string): Question {
  return {
    method,
    url,
    accept: headers.accept,
    origin: headers.origin,
    contentType: headers['content-type'],
    acceptEncoding: one(headers['accept-encoding']),
    ifNoneMatch: headers['if-none-match'],
    requestId: one(headers['x-request-id']),
    body,
  };
}

/** A header that comes more than once is one with commas between. */
function one(values: string | string[] | undefined): string | undefined {
  return typeof values === 'object' ? values.join(', ') : values;
}

/** Answers by the questions that they answer, of bounded size in all. */
export interface Answers {
  /** Equal for questions that mean the same; undefined where it is none whose answer could be kept. */
  keyOf(question: Question): string | undefined;
  /** What was kept under this key, whether it is still good or not. */
  find(key: string): KeptAnswer | undefined;
  /** Keeps an answer in the place of an older one. */
  keep(key: string, answer: KeptAnswer): void;
  /** Makes room of an answer that is good no more. */
  drop(key: string): void;
}

/** Up to here answers are small, and have a place of their own, so that big ones cannot push them out. */
const SMALL_BYTES = 65_536;
/** The key of a longer request is computed anew each time. */
const MAX_TEXT_LENGTH = 16_384;
/** A longer request is not cached: keys are computed before an operation waits for its turn, so they must be cheap. */
const MAX_KEYED_LENGTH = 65_536;
/** No client that is one sends more. */
const MAX_HEADERS_LENGTH = 500;
/** How many are kept of one text: the clients of one page send it alike. */
const MAX_READINGS = 8;
/** Smaller bodies gain nothing by being compressed. */
const MIN_COMPRESSED_BYTES = 1_024;
/** What an entry takes beside its key and body. */
const ENTRY_BYTES = 500;

/** What a text meant with these headers. */
interface Reading extends Pick<Question, 'method' | 'url' | 'accept' | 'origin' | 'contentType'> {
  readonly meaning: string;
}

function isOf(reading: Reading, question: Question): boolean {
  return (
    reading.method === question.method &&
    reading.url === question.url &&
    reading.accept === question.accept &&
    reading.contentType === question.contentType &&
    reading.origin === question.origin
  );
}

/**
 * Makes the place where answers are kept.
 *
 * @param maxBytes of all of them together, as far as that can be told
 * @param path the path that is asked, such as `/graphql`
 * @param maxQueryTokens a document with more lexical tokens is refused elsewhere, and has no key
 */
export function createAnswers(maxBytes: number, path: string, maxQueryTokens: number): Answers {
  const placeFor = (share: number) =>
    new LRUCache<string, KeptAnswer>({
      maxSize: Math.ceil(maxBytes * share),
      maxEntrySize: Math.ceil((maxBytes * share) / 1.5),
      // With room for the same in encodings, which take less.
      sizeCalculation: ({ body }, key) => ENTRY_BYTES + 2 * key.length + Math.ceil(1.5 * body.byteLength),
    });
  const small = placeFor(0.27);
  const large = placeFor(0.54);
  // The very text of a question leads to what it means, and that to its answer.
  const readings = new LRUCache<string, readonly Reading[]>({
    maxSize: Math.ceil(maxBytes * 0.16),
    sizeCalculation: (read, text) => ENTRY_BYTES * (1 + read.length) + 2 * text.length,
  });

  // One document is asked with many variables.
  const documents = new LRUCache<string, string>({
    maxSize: Math.ceil(maxBytes * 0.03),
    sizeCalculation: (stripped, document) => ENTRY_BYTES + 2 * (stripped.length + document.length),
  });

  function strip(document: string): string {
    const known = documents.get(document);
    if (known !== undefined) return known;
    if (hasMoreTokens(new Source(document), maxQueryTokens)) throw new RangeError('Expected fewer tokens');
    const stripped = stripIgnoredCharacters(document);
    documents.set(document, stripped);
    return stripped;
  }

  function keyOf(question: Question): string | undefined {
    // Looked up as it came: to put all that matters into one string costs more than everything else here.
    const text = question.method === 'POST' ? question.body : question.url;
    const read = readings.get(text) ?? [];
    for (const reading of read) if (isOf(reading, question)) return reading.meaning;
    if (text.length > MAX_KEYED_LENGTH) return undefined;
    const meaning = meaningOf(question, path, strip);
    if (meaning !== undefined && text.length <= MAX_TEXT_LENGTH) {
      const { method, url, accept, origin, contentType } = question;
      const reading = { method, url, accept, origin, contentType, meaning };
      readings.set(text, [reading, ...read.slice(0, MAX_READINGS - 1)]);
    }
    return meaning;
  }

  return {
    keyOf,
    find: (key) => small.get(key) ?? large.get(key),
    keep(key, answer) {
      const [place, other] = answer.body.byteLength <= SMALL_BYTES ? [small, large] : [large, small];
      other.delete(key);
      place.set(key, answer);
    },
    drop(key) {
      small.delete(key);
      large.delete(key);
    },
  };
}

/** Makes an answer of what was answered. */
export function createKeptAnswer(
  made: Pick<KeptAnswer, 'basis' | 'operation' | 'headers' | 'body'>,
): KeptAnswer {
  const { body } = made;
  const plain: EncodedBody = { encoding: 'identity', bytes: body };
  const written = new Map<Encoding, EncodedBody | Promise<EncodedBody>>([['identity', plain]]);
  let digest: string | undefined;
  return {
    ...made,
    encoded(encoding) {
      if (body.byteLength < MIN_COMPRESSED_BYTES) return plain;
      const known = written.get(encoding);
      if (known) return known;
      const writing = encode(body, encoding).then((bytes) => {
        const done = bytes.byteLength < body.byteLength ? { encoding, bytes } : plain;
        written.set(encoding, done);
        return done;
      });
      written.set(encoding, writing);
      return writing;
    },
    etag(encoding) {
      digest ??= createHash('sha1').update(body).digest('base64url');
      return encoding === 'identity' ? `"${digest}"` : `"${digest}-${encoding}"`;
    },
  };
}

/**
 * What a question means, whatever its white space and the order of its parts; undefined where it is not one
 * of the plain kind, which is then answered anew each time.
 */
function meaningOf(
  question: Question,
  path: string,
  strip: (document: string) => string,
): string | undefined {
  const { method, accept = '', origin = '', contentType = '' } = question;
  // They are kept with the answer, which is not counted by them.
  if (accept.length + origin.length + contentType.length > MAX_HEADERS_LENGTH) return undefined;
  const parameters = method === 'POST' ? fromBody(question, path) : fromUrl(question, path);
  if (!parameters) return undefined;
  const { query, variables, operationName, extensions, ...others } = parameters;
  if (Object.keys(others).length > 0) return undefined;
  try {
    // A hash among the extensions is of the very text; without a text there must be one.
    const document = typeof query === 'string' && !extensions ? strip(query) : query;
    const asked = [document ?? null, operationName ?? null, variables ?? null, extensions ?? null].map(
      inOrder,
    );
    return createHash('sha256')
      .update(JSON.stringify([method, question.accept, question.origin, ...asked]))
      .digest('base64url');
  } catch {
    return undefined;
  }
}

function fromBody({ url, contentType = '', body }: Question, path: string) {
  if (url !== path || !/^application\/json(;|$)/.test(contentType)) return undefined;
  return parsed(body);
}

function fromUrl({ method, url }: Question, path: string): Record<string, unknown> | undefined {
  if (method !== 'GET' || !url.startsWith(`${path}?`)) return undefined;
  const search = new URLSearchParams(url.slice(path.length + 1));
  // Which of two is meant is for the GraphQL server to say.
  if (new Set(search.keys()).size < [...search.keys()].length) return undefined;
  const { variables, extensions, ...plain } = Object.fromEntries(search);
  return {
    ...plain,
    variables: variables === undefined ? undefined : (parsed(variables) ?? variables),
    extensions: extensions === undefined ? undefined : (parsed(extensions) ?? extensions),
  };
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The same value with the members of its objects in the order of their names; throws where JSON has none for it. */
function inOrder(value: unknown): unknown {
  // 1e999 is read as infinite, and would be written as null.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('Expected a finite number');
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, inOrder(member)]),
  );
}
