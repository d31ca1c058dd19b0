import { JsonReader } from '../../domain/json-reader.js';
import { malformed, UpstreamError } from '../../domain/upstream-error.js';
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
const LOGGED_BODY_LENGTH = 500;
/** A longer `Age` counts as this one. It is longer than every setting, and the date that long ago is still a date. */
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
  const malformedJson = (cause: unknown) =>
    malformed('expected JSON in UTF-8', `${url}: ${String(cause)}`, cause);
  const reader = new JsonReader();
  const read = <Result>(step: () => Result): Result => {
    try {
      return step();
    } catch (cause) {
      throw cause instanceof UpstreamError ? cause : malformedJson(cause);
    }
  };
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw malformed(`expected at most ${maxBytes} bytes, got more`, url);
    await yieldThen(() => read(() => reader.add(chunk)));
  }
  return { json: read(() => reader.end()), bytes };
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
 * The milliseconds of an `Age` header, as RFC 9111 reads it: the first of several values counts, and one that is not a
 * non-negative whole number is ignored. A year at most.
 */
export function ageOf(header: string | null): number {
  const [, seconds = 0] = /^\s*(\d+)\s*(?:,|$)/.exec(header ?? '') ?? [];
  return Math.min(Number(seconds) * 1000, MAX_AGE_MS);
}
