import { malformed } from './errors.js';
import { MAX_ROWS } from './limits.js';

/** Levels of objects and arrays; a listing needs four. */
const MAX_DEPTH = 32;
/** Members of one object; a row has about ten. Many thousands of names of their own cost much to read. */
const MAX_MEMBERS = 1_000;
/** Objects and arrays in all; a row is two. */
const MAX_CONTAINERS = 5 * MAX_ROWS;
/** Values that follow another one; a row has about ten. */
const MAX_VALUES = 20 * MAX_ROWS;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Looks at JSON before it is parsed, piece by piece. */
export interface JsonShape {
  /**
   * Goes on with the next piece.
   *
   * @throws UpstreamError UPSTREAM_MALFORMED as soon as the text has more parts than any listing
   */
  add(bytes: Uint8Array): void;
}

/**
 * Makes a check of the shape of one JSON text. Parsed, 32 MB of `{},` or `[[[[` are gigabytes of objects; to
 * count the parts costs a few hundredths of a second, and no memory. It finds no other faults: those the
 * parser finds.
 */
export function createJsonShape(): JsonShape {
  let isInString = false;
  let isEscaped = false;
  let depth = 0;
  let containers = 0;
  let values = 0;
  /** By the level: whether it is of an object, and how many values follow the first. */
  const isObject = new Uint8Array(MAX_DEPTH + 1);
  const following = new Uint32Array(MAX_DEPTH + 1);

  function open(byte: number): void {
    if (++depth > MAX_DEPTH) throw tooMuch(`${MAX_DEPTH} levels`);
    if (++containers > MAX_CONTAINERS) throw tooMuch(`${MAX_CONTAINERS} objects and arrays`);
    isObject[depth] = Number(byte === OPEN_BRACE);
    following[depth] = 0;
  }

  function follow(): void {
    if (++values > MAX_VALUES) throw tooMuch(`${MAX_VALUES} values`);
    const count = (following[depth] ?? 0) + 1;
    following[depth] = count;
    if (count < MAX_MEMBERS) return;
    if (isObject[depth]) throw tooMuch(`${MAX_MEMBERS} members of an object`);
    if (count >= MAX_ROWS) throw tooMuch(`${MAX_ROWS} rows`);
  }

  return {
    add(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at];
        if (isEscaped) isEscaped = false;
        else if (isInString) {
          if (byte === BACKSLASH) isEscaped = true;
          else if (byte === QUOTE) isInString = false;
        } else if (byte === QUOTE) isInString = true;
        else if (byte === COMMA) follow();
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open(byte);
        // What closes too often is no JSON, which the parser says.
        else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && depth > 0) depth--;
      }
    },
  };
}

function tooMuch(most: string) {
  return malformed(`expected at most ${most}, got more`);
}
