/** Reads the bodies and headers of responses, within limits. */
import { createPartCheck } from '../../domain/json-parts.js';
import { MAX_LISTING_ROWS } from '../../domain/listing.js';
import { malformed } from '../../domain/upstream-error.js';
import { yieldThen } from '../../scheduling/steps.js';

export interface Readable {
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

const JSON_TYPE = /^(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;
/** The log shows at most this much of a body (UTF-16 code units): enough for the message of an error. */
const LOGGED_BODY_LENGTH = 500;
/** A longer `Age` counts as a year, which exceeds every limit on ages, and gives a valid date. */
const MAX_AGE_MS = 365 * 86_400_000;

/** Rejects with UPSTREAM_MALFORMED if the body is not sent as JSON, is too long, has too many parts, or is not JSON in UTF-8. */
export async function readJson({ headers, body }: Readable, url: string, maxBytes: number) {
  const type = headers.get('content-type') ?? 'none';
  if (!JSON_TYPE.test(type))
    throw malformed('expected content of type application/json', `${url}: content-type ${type}`);
  const checkParts = createPartCheck(MAX_PARTS);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw malformed(`expected at most ${maxBytes} bytes, got more`, url);
    const exceeded = await yieldThen(() => checkParts(chunk));
    if (exceeded) throw malformed(`expected at most ${exceeded}, got more`, url);
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

/** A row has two objects or arrays and about ten commas. Many levels are allowed: a nested row is left out later. */
const MAX_PARTS = {
  containers: 5 * MAX_LISTING_ROWS,
  commas: 14 * MAX_LISTING_ROWS,
  names: 1_000,
  levels: 200_000,
};

/** The beginning of a body, for the log. The last word is whole, because the log would not mask half of a secret. */
export async function headOf({ body }: Readable): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString('utf8');
      if (text.length > LOGGED_BODY_LENGTH)
        return `${text.slice(0, LOGGED_BODY_LENGTH).replace(/\S*$/, '')}…`;
    }
  } catch {
    // An unreadable body is not logged.
    return '';
  }
  return text;
}

/** The milliseconds of an `Age` header, as RFC 9111 reads it: the first of several values; 0 if this value is invalid. */
export function ageOf(header: string | null): number {
  const [, seconds = 0] = /^\s*(\d+)\s*(?:,|$)/.exec(header ?? '') ?? [];
  return Math.min(Number(seconds) * 1000, MAX_AGE_MS);
}
