import { GatewayError } from '../domain/errors.js';
import { foldText, narrowText } from '../domain/fold-text.js';

/** One word of what a person typed. */
export interface SearchWord {
  /** Folded as symbols are, to be compared with them. */
  readonly folded: string;
  /** Its letters and digits, or the whole word if it has none: the form that a {@link TextIndex} finds. */
  readonly letters: string;
  /** The addresses that it may be, in the letter case as typed. */
  readonly addresses: readonly string[];
}

/** One way to understand a query: a row or chain is found if it matches every word. */
export interface Interpretation {
  readonly words: readonly SearchWord[];
  /** Whether the symbol of its native currency also names a chain. */
  readonly byCurrency: boolean;
}

/**
 * How well a word matches a text; lower is better. It is the first word of the text, or the start of the
 * first word; another word, or the start of one; or inside a word.
 */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

/** One of {@link MATCH}. */
export type Match = (typeof MATCH)[keyof typeof MATCH];

/** An index that finds words and parts of words in many texts. */
export interface TextIndex {
  /** Calls `found` once for each text that contains these letters, with its number and its best match. */
  find(letters: string, found: (text: number, match: Match) => void): void;
}

/** Each word costs a scan of all texts, and no person types more. */
export const MAX_WORDS = 8;
/** Filler words, ignored in the looser interpretations. */
const FILLERS = new Set(
  'a and at chain coin coins for from in mainnet native network of on the to token tokens via with'.split(
    ' ',
  ),
);
/** Finds an address within a longer text, such as a link. */
const HEX_ADDRESS = /0x[0-9a-f]{40,64}(?![0-9a-z])/i;
const ONLY_LETTERS = /^[a-z0-9]*$/;
const HAS_LETTERS = /[\p{L}\p{N}]/u;
const PUNCTUATION = /[^\p{L}\p{N}]+/u;
const PUNCTUATION_AROUND = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/**
 * The interpretations of a query, from strict to loose: use the first that finds anything. A blank query has
 * none, and finds everything.
 *
 * @throws GatewayError BAD_USER_INPUT for too many words
 */
export function interpretationsOf(typed: string): readonly Interpretation[] {
  const asTyped = distinct(narrowText(typed).split(/\s+/).filter(Boolean).map(wordOf));
  if (asTyped.length === 0) return [];
  // "usdc/base", "usdc on base": split words at punctuation, and drop filler words.
  const split = asTyped.flatMap((word) =>
    word.addresses.some((address) => HEX_ADDRESS.test(address))
      ? [word]
      : word.folded.split(PUNCTUATION).filter(Boolean).map(wordOf),
  );
  const significant = distinct(split.filter(({ folded }) => !FILLERS.has(folded)));
  const loose = significant.length > 0 ? significant : asTyped;
  if (Math.max(asTyped.length, loose.length) > MAX_WORDS) {
    throw new GatewayError(
      'BAD_USER_INPUT',
      `Expected at most ${MAX_WORDS} words to search for, got ${Math.max(asTyped.length, loose.length)}.`,
    );
  }
  return [
    { words: asTyped, byCurrency: false },
    { words: loose, byCurrency: false },
    { words: loose, byCurrency: true },
  ];
}

/** The line that stands for a text in an index: the letters of its words, separated by spaces. */
export function indexLine(text: string): string {
  return foldText(text).split(/\s+/).map(lettersOf).filter(Boolean).join(' ');
}

/** Makes an index of lines from {@link indexLine}; a line's number is its position in the array. */
export function createTextIndex(lines: readonly string[]): TextIndex {
  const starts = new Uint32Array(lines.length);
  let length = 1;
  for (const [index, line] of lines.entries()) {
    starts[index] = length;
    length += line.length + 1;
  }
  // Searching one long string is many times faster than searching many short ones.
  const joined = `\n${lines.join('\n')}\n`;

  function matchAt(at: number, letters: string): Match {
    const before = joined[at - 1];
    const behind = joined[at + letters.length];
    const isWhole = behind === '\n' || behind === ' ';
    if (before === '\n') return isWhole ? MATCH.firstWord : MATCH.start;
    if (before === ' ') return isWhole ? MATCH.word : MATCH.wordStart;
    return MATCH.inside;
  }

  return {
    find(letters, found) {
      if (letters === '') return;
      let text = 0;
      let best: Match | undefined;
      for (let at = joined.indexOf(letters); at !== -1; at = joined.indexOf(letters, at + 1)) {
        const its = lastStartUpTo(starts, at, text);
        if (best !== undefined && its !== text) {
          found(text, best);
          best = undefined;
        }
        text = its;
        const match = matchAt(at, letters);
        if (best === undefined || match < best) best = match;
      }
      if (best !== undefined) found(text, best);
    },
  };
}

function wordOf(typed: string): SearchWord {
  const folded = foldText(typed);
  const hex = HEX_ADDRESS.exec(typed)?.[0];
  const addresses = hex ? [hex] : [...new Set([typed, typed.replace(PUNCTUATION_AROUND, '')])];
  return { folded, letters: lettersOf(folded), addresses };
}

/** Without repeats. Words without a letter or digit are dropped too, unless no others are left. */
function distinct(words: readonly SearchWord[]): readonly SearchWord[] {
  const all = [...new Map(words.map((word) => [word.folded, word])).values()];
  const withLetters = all.filter(({ folded }) => HAS_LETTERS.test(folded));
  return withLetters.length > 0 ? withLetters : all;
}

/** Only the letters and digits, so that "usdce" finds "USDC.e" and "susdc" finds "S*USDC". */
function lettersOf(folded: string): string {
  return ONLY_LETTERS.test(folded) ? folded : folded.replace(/[^\p{L}\p{N}]/gu, '') || folded;
}

/** Binary search, from index `low` on, for the last of the ascending `starts` that is at most `position`. */
function lastStartUpTo(starts: Uint32Array, position: number, low: number): number {
  let first = low;
  let last = starts.length - 1;
  while (first < last) {
    const middle = (first + last + 1) >>> 1;
    if ((starts[middle] ?? 0) <= position) first = middle;
    else last = middle - 1;
  }
  return first;
}
