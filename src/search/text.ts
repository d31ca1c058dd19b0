/** Reads queries, and splits symbols, names and keys into the words by which they are found. */
import { GatewayError } from '../domain/errors.js';
import { foldText, narrowText } from '../domain/fold-text.js';
import { MAX_LENGTHS, TEXT_LIMITS } from '../domain/text-limits.js';
import { type Identifier, identifierOf, withoutPunctuationAround, withWholeTypes } from './identifiers.js';
import { MARK } from './word-starts.js';

/** One word of a query. */
export interface SearchWord {
  /** The form in which symbols are compared. */
  readonly folded: string;
  /** The form in which names and symbols are searched; empty for an identifier, which matches neither. */
  readonly letters: string;
  /** The addresses that the word can mean, in the letter case as typed. */
  readonly addresses: readonly string[];
  readonly identifier: Identifier | undefined;
}

/** One way to understand a query: it finds the rows that match every word. */
export interface Interpretation {
  readonly words: readonly SearchWord[];
  /** Whether a chain is also named by the symbol of its native currency. */
  readonly byCurrency: boolean;
}

/** A query with more words is refused, because each costs a look-up. Ranks, and so cursors, depend on it. */
export const MAX_WORDS = 8;
/** At most this many letters of a symbol, or parts of a name, are indexed. Usual texts have fewer. */
const MAX_STARTS = 32;
/** Filler words, ignored in the looser interpretations. */
export const FILLERS: ReadonlySet<string> = new Set(
  'a and at chain coin coins en for from in mainnet native network of on the to token tokens via with на'.split(
    ' ',
  ),
);
const ONLY_LETTERS_AND_DIGITS = /^[a-z0-9]*$/;
export const HAS_LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
export const HAS_LETTER = /\p{L}/u;
export const PUNCTUATION = /[^\p{L}\p{N}]+/u;
/** The place before a capital letter within a word, such as between "r" and "Z" in "LayerZero". */
const BEFORE_CAPITAL = /(?<=\p{Ll})(?=\p{Lu})/gu;
/** Inserted there, it separates the parts of a word as punctuation does. */
const MARK_OF_PART = '\u0001';

/** From strict to loose; none for a blank query. @throws GatewayError BAD_USER_INPUT for too many words */
export function interpretationsOf(typed: string): readonly Interpretation[] {
  const asTyped = distinct(withWholeTypes(narrowText(typed).split(/\s+/).filter(Boolean)).map(wordOf));
  if (asTyped.length === 0) return [];
  // "usdc/base", "usdc on base": split words at punctuation, and drop filler words.
  const split = asTyped.flatMap((word) =>
    word.identifier ? [word] : word.folded.split(PUNCTUATION).filter(Boolean).map(wordOf),
  );
  const significant = distinct(split.filter(({ folded }) => !FILLERS.has(folded)));
  const loose = significant.length > 0 ? significant : asTyped;
  const count = Math.max(asTyped.length, loose.length);
  if (count > MAX_WORDS)
    throw new GatewayError(
      'BAD_USER_INPUT',
      `Expected at most ${MAX_WORDS} words to search for, got ${count}.`,
    );
  const [strictText, looseText] = [asTyped, loose].map((words) =>
    words.map(({ folded }) => folded).join('\n'),
  );
  return [
    { words: asTyped, byCurrency: false },
    ...(strictText === looseText ? [] : [{ words: loose, byCurrency: false }]),
    { words: loose, byCurrency: true },
  ];
}

/**
 * The form in which symbols are compared: `USDT0` and `USD₮0` are equal. Folding can make 18 letters of one. A symbol
 * that becomes too long is compared as it is: thousands of such forms would fill the memory.
 */
export function foldSymbol(symbol: string): string {
  const folded = foldText(symbol).trim();
  return folded.length > MAX_LENGTHS.symbol ? symbol : folded;
}

/** The part of a name by which it is found. A query is never longer, and folding can make 18 letters of one. */
export function searchedPart(name: string): string {
  return name.slice(0, TEXT_LIMITS.search);
}

/** The letters and digits of a whole name, to compare it with several words of a query at once. */
export function wholeLetters(name: string): string {
  return lettersOf(foldText(name).replace(/\s+/g, ''));
}

/** The indexed words of a {@link foldSymbol}, which is found by its words, and by letters anywhere in them. */
export function symbolStarts(folded: string): readonly string[] {
  const starts: string[] = [];
  for (const [nth, word] of folded.split(/\s+/).map(lettersOf).entries()) {
    for (let from = 0; from < word.length && starts.length < MAX_STARTS; from++) {
      starts.push((from > 0 ? MARK.rest : markOf(nth)) + word.slice(from));
    }
  }
  return starts;
}

export function keyStarts(chainKey: string): readonly string[] {
  const words = wordsOf(chainKey).slice(0, MAX_STARTS);
  return words.map((word, nth) => markOf(nth) + lettersOf(word));
}

/**
 * The indexed words of a name. Its parts begin after punctuation and at capitals: "finance" finds "yearn.finance", and
 * "zero" finds "LayerZero". It is also found as one word: "usdcoin" finds "USD Coin".
 */
export function nameStarts(name: string): readonly string[] {
  const text = name.replace(BEFORE_CAPITAL, MARK_OF_PART);
  const oneWord = text.replace(/\s+/g, '');
  const parts = wordsOf(text).map(partsOf);
  const starts = parts.flatMap((ofWord, nth) =>
    ofWord.slice(0, MAX_STARTS).map((_part, from) => markOf(nth + from) + ofWord.slice(from).join('')),
  );
  return [...starts.slice(0, MAX_STARTS), ...(oneWord === text ? [] : keyStarts(oneWord))];
}

/** @param nth the position of a word in its text */
function markOf(nth: number): string {
  return nth > 0 ? MARK.other : MARK.first;
}

function wordsOf(text: string): readonly string[] {
  return foldText(text).split(/\s+/).filter(Boolean);
}

function partsOf(word: string): readonly string[] {
  if (ONLY_LETTERS_AND_DIGITS.test(word)) return [word];
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

/** Drops repeated words, and words without a letter or digit unless no word has one. */
function distinct(words: readonly SearchWord[]): readonly SearchWord[] {
  const all = [...new Map(words.map((word) => [word.folded, word])).values()];
  const withLetterOrDigit = all.filter(({ folded }) => HAS_LETTER_OR_DIGIT.test(folded));
  return withLetterOrDigit.length > 0 ? withLetterOrDigit : all;
}

/** The letters and digits of a word, or all of it if it has none: so "usdce" finds "USDC.e". */
function lettersOf(folded: string): string {
  return ONLY_LETTERS_AND_DIGITS.test(folded) ? folded : folded.replace(/[^\p{L}\p{N}]/gu, '') || folded;
}
