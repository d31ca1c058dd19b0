import { GatewayError } from '../domain/errors.js';
import { foldText, narrowText } from '../domain/fold-text.js';

/** One word of what a person typed. */
export interface SearchWord {
  /** As symbols are compared with it. */
  readonly folded: string;
  /** What is looked for in a {@link TextIndex}: its letters and digits, or the whole of it if it has none. */
  readonly letters: string;
  /** The addresses that it can mean, in the letter case in which they were typed. */
  readonly addresses: readonly string[];
}

/** One way to read what was typed: what is meant has all of the words. */
export interface Interpretation {
  readonly words: readonly SearchWord[];
  /** Whether the symbol of what a chain charges fees in is a name of the chain, too. */
  readonly byCurrency: boolean;
}

/**
 * How well a word was found in a text, by its best match there: the lower, the better. It begins the text and
 * is a word of it, or only begins it; is a word elsewhere, or begins one; or is a part of a word.
 */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

/** One of {@link MATCH}. */
export type Match = (typeof MATCH)[keyof typeof MATCH];

/** Texts in which words and parts of words are found. */
export interface TextIndex {
  /** Calls `found` once for each text that has these letters, with the number of the text. */
  find(letters: string, found: (text: number, match: Match) => void): void;
}

/** Nobody types more words, and each costs a look at all texts. */
export const MAX_WORDS = 8;
/** Words that say what kind of thing is meant, or join others, where nothing is named by them. */
const GENERIC = new Set(
  'a and at chain coin coins for from in mainnet native network of on the to token tokens via with'.split(
    ' ',
  ),
);
/** What an address is found by in a link or behind a prefix. */
const HEX_ADDRESS = /0x[0-9a-f]{40,64}(?![0-9a-z])/i;
const ONLY_LETTERS = /^[a-z0-9]*$/;
const HAS_LETTERS = /[\p{L}\p{N}]/u;
const MARKS = /[^\p{L}\p{N}]+/u;
const MARKS_AROUND = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/**
 * The ways to read what was typed, each looser than the one before: what the first finds is meant that finds
 * anything. None for a blank text, which means all.
 *
 * @throws GatewayError BAD_USER_INPUT for too many words
 */
export function interpretationsOf(typed: string): readonly Interpretation[] {
  const asTyped = distinct(narrowText(typed).split(/\s+/).filter(Boolean).map(wordOf));
  if (asTyped.length === 0) return [];
  // "usdc/base", "usdc on base": marks may join words, and words may mean nothing.
  const apart = asTyped.flatMap((word) =>
    word.addresses.some((address) => HEX_ADDRESS.test(address))
      ? [word]
      : word.folded.split(MARKS).filter(Boolean).map(wordOf),
  );
  const meaning = distinct(apart.filter(({ folded }) => !GENERIC.has(folded)));
  const loose = meaning.length > 0 ? meaning : asTyped;
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

/** What is found of a text: its words by their letters, with a space between. */
export function indexLine(text: string): string {
  return foldText(text).split(/\s+/).map(lettersOf).filter(Boolean).join(' ');
}

/** Makes an index of these lines, each known by its number among them. */
export function createTextIndex(lines: readonly string[]): TextIndex {
  const starts = new Uint32Array(lines.length);
  let length = 1;
  for (const [index, line] of lines.entries()) {
    starts[index] = length;
    length += line.length + 1;
  }
  // One long text is searched many times faster than many short ones.
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
  const addresses = hex ? [hex] : [...new Set([typed, typed.replace(MARKS_AROUND, '')])];
  return { folded, letters: lettersOf(folded), addresses };
}

/** Words without a letter or digit are dropped, unless there are only such. */
function distinct(words: readonly SearchWord[]): readonly SearchWord[] {
  const all = [...new Map(words.map((word) => [word.folded, word])).values()];
  const withLetters = all.filter(({ folded }) => HAS_LETTERS.test(folded));
  return withLetters.length > 0 ? withLetters : all;
}

/** "usdce" and "susdc" are to find "USDC.e" and "S*USDC", too. */
function lettersOf(folded: string): string {
  return ONLY_LETTERS.test(folded) ? folded : folded.replace(/[^\p{L}\p{N}]/gu, '') || folded;
}

/** The last of the ascending `starts`, from the one at `low` on, that is not beyond `position`. */
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
