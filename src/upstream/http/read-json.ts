/** Reads the bodies and headers of responses, within limits. */
import { randomInt } from 'node:crypto';
import { MAX_LISTING_ROWS } from '../../domain/listing.js';
import { malformed, type UpstreamError } from '../../domain/upstream-error.js';
import { yieldThen } from '../../scheduling/chunks.js';

/** The part of a response that is needed here. */
export interface Readable {
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface ReadJson {
  readonly json: unknown;
  /** The length of the text, counted after decompression. */
  readonly bytes: number;
}

const JSON_TYPE = /^(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;
/** How much of a body the log shows, in UTF-16 code units: enough for the message of an error. */
const LOGGED_BODY_LENGTH = 500;
/** A longer `Age` counts as a year: longer than every setting, and the resulting date is still valid. */
const MAX_AGE_MS = 365 * 86_400_000;

/**
 * Reads a JSON body.
 *
 * @throws UpstreamError UPSTREAM_MALFORMED if the content type is not JSON, or the body is longer than `maxBytes`, has
 *   more parts than any listing, or is not JSON in UTF-8
 */
export async function readJson(
  { headers, body }: Readable,
  url: string,
  maxBytes: number,
): Promise<ReadJson> {
  const type = headers.get('content-type') ?? 'none';
  if (!JSON_TYPE.test(type)) {
    throw malformed('expected content of type application/json', `${url}: content-type ${type}`);
  }
  const count = createPartCount();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw malformed(`expected at most ${maxBytes} bytes, got more`, url);
    await yieldThen(() => count(chunk));
    chunks.push(chunk);
  }
  const json = await yieldThen((): unknown => {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
    } catch (cause) {
      throw malformed('expected JSON in UTF-8', `${url}: ${String(cause)}`, cause);
    }
  });
  return { json, bytes };
}

/** The most different member names; rows have about twenty. Parsing a million takes seconds. */
const MAX_NAMES = 1_000;
/** The most objects and arrays; a row has two. */
const MAX_CONTAINERS = 5 * MAX_LISTING_ROWS;
/** The most commas; a row has about ten. */
const MAX_VALUES = 14 * MAX_LISTING_ROWS;

/** FNV-1a. The random seed prevents forged collisions, which would hide names. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32) | 0;

const [QUOTE, COMMA, COLON, OPEN_BRACKET, BACKSLASH, OPEN_BRACE] = Buffer.from('",:[\\{');

/**
 * Creates a counter of the parts of a JSON text that arrives in pieces: 32 MB of `{},` would be gigabytes when parsed.
 *
 * @returns a function to call with each piece; it throws UPSTREAM_MALFORMED if there are more parts than in any listing
 */
function createPartCount(): (bytes: Uint8Array) => void {
  let isInString = false;
  let isEscaped = false;
  let containers = 0;
  let values = 0;
  /** The hash of the last string. Names with equal hashes count once. */
  let hash = SEED;
  const names = new Set<number>();
  return (bytes) => {
    // Faster than for...of.
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (isInString) {
        if (byte === QUOTE && !isEscaped) isInString = false;
        else {
          isEscaped = byte === BACKSLASH && !isEscaped;
          hash = Math.imul(hash ^ byte, PRIME);
        }
      } else if (byte === QUOTE) {
        isInString = true;
        isEscaped = false;
        hash = SEED;
      } else if (byte === COMMA) {
        if (++values > MAX_VALUES) throw tooMany(`${MAX_VALUES} values`);
      } else if (byte === COLON) {
        if (names.add(hash).size > MAX_NAMES) throw tooMany(`${MAX_NAMES} names of members`);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++containers > MAX_CONTAINERS) throw tooMany(`${MAX_CONTAINERS} objects and arrays`);
      }
    }
  };
}

function tooMany(most: string): UpstreamError {
  return malformed(`expected at most ${most}, got more`);
}

/** The beginning of a body, for the log. It ends with a whole word: a secret that is cut would not be masked. */
export async function headOf({ body }: Readable): Promise<string> {
  try {
    for await (const chunk of body ?? []) {
      const text = Buffer.from(chunk).toString('utf8');
      return text.length > LOGGED_BODY_LENGTH
        ? `${text.slice(0, LOGGED_BODY_LENGTH).replace(/\S*$/, '')}…`
        : text;
    }
  } catch {
    // An unreadable body is not logged.
  }
  return '';
}

/**
 * The milliseconds of an `Age` header, as RFC 9111 reads it: the first of several values counts, and a value that is
 * not a non-negative whole number counts as 0. At most a year.
 */
export function ageOf(header: string | null): number {
  const [, seconds = 0] = /^\s*(\d+)\s*(?:,|$)/.exec(header ?? '') ?? [];
  return Math.min(Number(seconds) * 1000, MAX_AGE_MS);
}
