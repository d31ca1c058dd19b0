import { randomInt } from 'node:crypto';
import { MAX_ROWS } from '../../domain/row-limits.js';
import { malformed } from '../../domain/upstream-error.js';

/** The limit of different member names; rows have about twenty. Parsing a million takes seconds. */
const MAX_NAMES = 1_000;
/** The limit of objects and arrays; a row has two. */
const MAX_CONTAINERS = 5 * MAX_ROWS;
/** The limit of commas; a row has about ten. */
const MAX_VALUES = 12 * MAX_ROWS;

/** FNV-1a with a random seed. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32) | 0;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/**
 * Makes the check of one JSON text before it is parsed: call it with each chunk of the text. It counts objects, values
 * and names, since 32 MB of `{},` or `[[[[` would be gigabytes when parsed. Counting takes a few hundredths of a second,
 * and no memory. Syntax is left to the parser.
 *
 * @returns throws an UpstreamError UPSTREAM_MALFORMED as soon as the text has more parts than any listing
 */
export function createShapeCheck(): (bytes: Uint8Array) => void {
  let isInString = false;
  let isEscaped = false;
  let containers = 0;
  let values = 0;
  /** The hash of the last string. Names with equal hashes count once; the random seed prevents forged collisions. */
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

function tooMany(most: string) {
  return malformed(`expected at most ${most}, got more`);
}
