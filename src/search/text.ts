import { GatewayError } from '../domain/errors.js';
import { foldText, narrowText } from '../domain/fold-text.js';
import type { Line } from './columns/lines.js';
import {
  type Identifier,
  identifierOf,
  withoutPunctuationAround,
  withWholeTypes,
} from './query/identifiers.js';

/** One word of what a person typed. */
export interface SearchWord {
  /** Folded as symbols are, to be compared with them. */
  readonly folded: string;
  /**
   * Its letters and digits, or the whole word if it has none: the form that a `TextIndex` finds. Empty for an
   * identifier, which matches no text.
   */
  readonly letters: string;
  /** The addresses that it may be, in the letter case as typed. */
  readonly addresses: readonly string[];
  readonly identifier: Identifier | undefined;
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
const ONLY_LETTERS = /^[a-z0-9]*$/;
const HAS_LETTERS = /[\p{L}\p{N}]/u;
/** Between "r" and "Z" in "LayerZero". */
const BEFORE_CAPITAL = /(?<=\p{Ll})(?=\p{Lu})/gu;
/** Stands for punctuation. */
const MARK_OF_PART = '\u0001';
const PUNCTUATION = /[^\p{L}\p{N}]+/u;

/**
 * The interpretations of a query, from strict to loose: use the first that finds anything. A blank query has
 * none, and finds everything.
 *
 * @throws GatewayError BAD_USER_INPUT for too many words
 */
export function interpretationsOf(typed: string): readonly Interpretation[] {
  const asTyped = distinct(withWholeTypes(narrowText(typed).split(/\s+/).filter(Boolean)).map(wordOf));
  if (asTyped.length === 0) return [];
  // "usdc/base", "usdc on base": split words at punctuation, and drop filler words.
  const split = asTyped.flatMap((word) =>
    word.identifier ? [word] : word.folded.split(PUNCTUATION).filter(Boolean).map(wordOf),
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

/** A symbol as symbols are compared: `USDT0` and `USD₮0` are equal. */
export function foldSymbol(symbol: string): string {
  return foldText(symbol).trim();
}

/** The words of a symbol: only their letters and digits. */
export function symbolLines(text: string): readonly Line[] {
  return [{ words: wordsOf(text).map((word) => [lettersOf(word)]), isJoined: false }];
}

/**
 * The words of a name, each in its parts, which begin behind punctuation and at capitals: "finance" finds
 * "yearn.finance", and "zero" finds "LayerZero". A name is also found as one word: "usdcoin" finds "USD Coin".
 */
export function nameLines(name: string): readonly Line[] {
  const text = name.replace(BEFORE_CAPITAL, MARK_OF_PART);
  const words = wordsOf(text).map(partsOf);
  const oneWord = text.replace(/\s+/g, '');
  if (oneWord === text) return [{ words, isJoined: false }];
  const written = wordsOf(oneWord).map((word) => [lettersOf(word)]);
  // One line serves both ways to write it, unless its words have other letters then, as those of "S & P".
  if (written.length === 1 && written[0]?.[0] === words.flat().join('')) return [{ words, isJoined: true }];
  return [words, written].map((line) => ({ words: line, isJoined: false }));
}

function wordsOf(text: string): readonly string[] {
  return foldText(text).split(/\s+/).filter(Boolean);
}

function partsOf(word: string): readonly string[] {
  if (ONLY_LETTERS.test(word)) return [word];
  const parts = word.split(PUNCTUATION).filter(Boolean);
  return parts.length > 0 ? parts : [word];
}

function wordOf(typed: string): SearchWord {
  const folded = foldText(typed);
  const identifier = identifierOf(typed);
  if (identifier) return { folded, letters: '', addresses: identifier.addresses, identifier };
  const addresses = [...new Set([typed, withoutPunctuationAround(typed)])];
  return { folded, letters: lettersOf(folded), addresses, identifier };
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
