/** Counts the parts of a JSON text before it is parsed: a parsed `{},` takes many times the memory of its text. */
import { randomInt } from 'node:crypto';

/** The prime and the seed of the hash FNV-1a. The seed is random: nobody can prepare names with equal hashes. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32) | 0;

const [QUOTE, COMMA, COLON, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('",:\\[]{}');

/** The parts of a JSON text, with their names in messages. */
const PARTS = {
  levels: 'levels of objects and arrays',
  containers: 'objects and arrays',
  commas: 'commas between values',
  names: 'names of members',
} as const;

export type PartLimits = Readonly<Record<keyof typeof PARTS, number>>;

/** Creates the check of one text against the limits. The text may be invalid and may arrive in pieces. */
export function createPartCheck(limits: PartLimits) {
  let isInString = false;
  let isEscaped = false;
  let containers = 0;
  let commas = 0;
  let level = 0;
  let levels = 0;
  /** The hash of the last string. Names with equal hashes count once. */
  let hash = SEED;
  const names = new Set<number>();
  /** @returns the first limit that the text exceeds so far, such as "64 levels of objects and arrays" */
  return (bytes: Uint8Array): string | undefined => {
    // This loop is faster than for...of.
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
      } else if (byte === COMMA) commas++;
      else if (byte === COLON) names.add(hash);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        containers++;
        level++;
        if (level > levels) levels = level;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) level--;
    }
    const counts = { containers, commas, names: names.size, levels };
    const parts = Object.keys(PARTS) as (keyof typeof PARTS)[];
    const exceeded = parts.find((part) => counts[part] > limits[part]);
    return exceeded && `${limits[exceeded]} ${PARTS[exceeded]}`;
  };
}

/** A parsed value takes about this many bytes of memory beside its text. */
const BYTES_OF_VALUE = 64;
/** In a URL, the characters before a value are escaped: `%2C`, `%5B`, `%7B`. */
const PERCENT = '%'.charCodeAt(0);

/** Estimates the bytes that a JSON text and its parsed value take in memory together. */
export function parsedBytes(text: string): number {
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE || code === PERCENT) values++;
  }
  return text.length + BYTES_OF_VALUE * values;
}
