import { GatewayError } from '../domain/errors.js';
import { foldText, narrowText } from '../domain/fold-text.js';
import type { Line } from './text-index.js';

/** One word of what a person typed. */
export interface SearchWord {
  /** Folded as symbols are, to be compared with them. */
  readonly folded: string;
  /** Its letters and digits, or the whole word if it has none: the form that a `TextIndex` finds. */
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

/** Each word costs a look-up in all texts, and no person types more. */
export const MAX_WORDS = 8;
/** Filler words, ignored in the looser interpretations. */
export const FILLERS: ReadonlySet<string> = new Set(
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

/** The words of a symbol: only their letters and digits. */
export function symbolLines(text: string): readonly Line[] {
  return [{ words: wordsOf(text), isJoined: false }];
}

/** The words of a name, which is also found as one word: "usdcoin" finds "USD Coin". */
export function nameLines(text: string): readonly Line[] {
  const words = wordsOf(text);
  const oneWord = text.replace(/\s+/g, '');
  if (oneWord === text) return [{ words, isJoined: false }];
  const written = wordsOf(oneWord);
  // One line serves both ways to write it, unless its words have other letters then, as those of "S & P".
  if (written.length === 1 && written[0] === words.join('')) return [{ words, isJoined: true }];
  return [words, written].map((line) => ({ words: line, isJoined: false }));
}

function wordsOf(text: string): readonly string[] {
  return foldText(text).split(/\s+/).map(lettersOf).filter(Boolean);
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
