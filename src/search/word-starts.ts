/** Finds texts by the starts of their words. */
import type { Steps } from '../scheduling/chunks.js';
import { sortSteps } from './order/sort-steps.js';
import { compare, firstIndex } from './order/token-order.js';

/**
 * How well a word matches a text; lower is better: it is the first word of the text, the start of the first word,
 * another word, the start of another word, or inside a word.
 */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

/** One of {@link MATCH}. */
export type Match = (typeof MATCH)[keyof typeof MATCH];

/** Prefixes of indexed words: of the first word of a text, of each other word, and of the rest of a word. */
export const MARK = { first: '\n', other: ' ', rest: '' } as const;

/** For each mark, the match of letters that equal a word with this mark, and of letters that begin one. */
const MATCHES: readonly (readonly [mark: string, whole: Match, start: Match])[] = [
  [MARK.first, MATCH.firstWord, MATCH.start],
  [MARK.other, MATCH.word, MATCH.wordStart],
  [MARK.rest, MATCH.inside, MATCH.inside],
];

/** Finds texts by the starts of their words. */
export interface WordStarts<Text> {
  /** Calls `found` once for each word that begins with these letters, so it can pass the same text several times. */
  find(letters: string, found: (text: Text, match: Match) => void): void;
}

/** Texts and words that are handled in one step: well below a millisecond. */
const STEP_TEXTS = 128;
const STEP_WORDS = 4096;

/**
 * Sorts the words of all texts, so that words with the same start are neighbours.
 *
 * @param wordsOf the words of a text, each with its {@link MARK} before it
 */
export function* wordStartsSteps<Text>(
  texts: readonly Text[],
  wordsOf: (text: Text) => readonly string[],
): Steps<WordStarts<Text>> {
  const words: string[] = [];
  const textOf: Text[] = [];
  for (const [nth, text] of texts.entries()) {
    for (const word of wordsOf(text)) {
      words.push(word);
      textOf.push(text);
    }
    if (nth % STEP_TEXTS === 0) yield;
  }
  const order = yield* sortSteps(words.length, (a, b) => compare(words[a] ?? '', words[b] ?? ''));
  const sorted: string[] = [];
  const textAt: Text[] = [];
  for (const index of order) {
    sorted.push(words[index] ?? '');
    textAt.push(textOf[index] as Text);
    if (sorted.length % STEP_WORDS === 0) yield;
  }

  return {
    find(letters, found) {
      if (letters === '') return;
      for (const [mark, whole, start] of MATCHES) {
        const wanted = mark + letters;
        let at = firstIndex(sorted.length, (index) => (sorted[index] ?? '') >= wanted);
        for (let word = sorted[at]; word?.startsWith(wanted); word = sorted[++at]) {
          found(textAt[at] as Text, word.length === wanted.length ? whole : start);
        }
      }
    },
  };
}
