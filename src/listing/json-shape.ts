import { randomInt } from 'node:crypto';
import { malformed } from './errors.js';
import { MAX_ROWS } from './limits.js';

/** Names of members, however often each comes; rows have about twenty. To read a million costs seconds. */
const MAX_NAMES = 1_000;
/** Objects and arrays in all; a row is two. */
const MAX_CONTAINERS = 5 * MAX_ROWS;
/** Values that follow another one; a row has about ten. */
const MAX_VALUES = 12 * MAX_ROWS;

/** FNV-1a, but for where it begins. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32) | 0;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

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
  let containers = 0;
  let values = 0;
  /** Of the text that was read last. Two names of one hash count as one, which nobody can bring about who does not know the seed. */
  let hash = SEED;
  const names = new Set<number>();

  function open(): void {
    if (++containers > MAX_CONTAINERS) throw tooMuch(`${MAX_CONTAINERS} objects and arrays`);
  }

  function follow(): void {
    if (++values > MAX_VALUES) throw tooMuch(`${MAX_VALUES} values`);
  }

  function name(): void {
    if (names.add(hash).size > MAX_NAMES) throw tooMuch(`${MAX_NAMES} names of members`);
  }

  return {
    add(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at];
        if (isInString) {
          if (byte === QUOTE && !isEscaped) isInString = false;
          else {
            isEscaped = byte === BACKSLASH && !isEscaped;
            hash = Math.imul(hash ^ (byte ?? 0), PRIME);
          }
        } else if (byte === QUOTE) {
          isInString = true;
          isEscaped = false;
          hash = SEED;
        } else if (byte === COMMA) follow();
        else if (byte === COLON) name();
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open();
      }
    },
  };
}

function tooMuch(most: string) {
  return malformed(`expected at most ${most}, got more`);
}
