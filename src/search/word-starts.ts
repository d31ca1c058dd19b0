/** Finds texts by the starts of their words. */
import { forEachChunk } from '../scheduling/chunks.js';
import { sortInSteps } from './sort-in-steps.js';
import { compare, firstIndex } from './token-order.js';

/**
 * How well a word matches a text; lower is better: it is the first word of the text, the start of the first word,
 * another word, the start of another word, or inside a word.
 */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

/** One of {@link MATCH}. */
export type Match = (typeof MATCH)[keyof typeof MATCH];

/** Prefixes of indexed words: `first` of a text's first word, `other` of its other words, `rest` of parts of words. */
export const MARK = { first: '\n', other: ' ', rest: '' } as const;

/** For each mark, the match of letters that equal a word with this mark, and of letters that begin one. */
const MATCHES: readonly (readonly [mark: string, whole: Match, start: Match])[] = [
  [MARK.first, MATCH.firstWord, MATCH.start],
  [MARK.other, MATCH.word, MATCH.wordStart],
  [MARK.rest, MATCH.inside, MATCH.inside],
];

/**
 * Sorts the words of all texts, so that words with the same start are neighbours.
 *
 * @param wordsOf the words of a text, each with its {@link MARK} before it
 * @param placesOf the tokens that have a text
 */
export async function createWordStarts<Text>(
  texts: readonly Text[],
  wordsOf: (text: Text) => readonly string[],
  placesOf: (text: Text) => readonly number[] = () => [],
): Promise<WordStarts<Text>> {
  const words: string[] = [];
  const textOf: Text[] = [];
  await forEachChunk(texts, (chunk) => {
    for (const text of chunk) {
      for (const word of wordsOf(text)) {
        words.push(word);
        textOf.push(text);
      }
    }
  });
  const order = await sortInSteps(words.length, (a, b) => compare(words[a] ?? '', words[b] ?? ''));
  const sorted: string[] = [];
  const sortedTexts: Text[] = [];
  const places: number[] = [];
  const placesBefore = new Uint32Array(words.length + 1);
  await forEachChunk([...order], (chunk) => {
    for (const word of chunk) {
      const text = textOf[word] as Text;
      for (const place of placesOf(text)) places.push(place);
      sorted.push(words[word] ?? '');
      placesBefore[sortedTexts.push(text)] = places.length;
    }
  });
  return new WordStarts(sorted, sortedTexts, Uint32Array.from(places), placesBefore);
}

/** Finds texts by the starts of their words. */
export class WordStarts<Text> {
  /**
   * @param words all words with their marks, in order
   * @param texts the text of each word
   * @param places the tokens of the first word, then of the second, and so on: one array, because reading it is fast
   * @param placesBefore for each word, how many entries of `places` come before its own
   */
  constructor(
    private readonly words: readonly string[],
    private readonly texts: readonly Text[],
    private readonly places: Uint32Array,
    private readonly placesBefore: Uint32Array,
  ) {}

  /** The words that begin with these letters, in groups that match equally well. A text can be found several times. */
  find(letters: string): readonly FoundWords<Text>[] {
    if (letters === '') return [];
    const groups: FoundWords<Text>[] = [];
    for (const [mark, whole, other] of MATCHES) {
      const wanted = mark + letters;
      const start = this.firstFrom(0, (word) => word >= wanted);
      if (!this.words[start]?.startsWith(wanted)) continue;
      const middle = this.firstFrom(start, (word) => word !== wanted);
      const end = this.firstFrom(middle, (word) => !word.startsWith(wanted));
      if (start < middle) groups.push(this.found(whole, start, middle));
      if (middle < end) groups.push(this.found(other, middle, end));
    }
    return groups;
  }

  private firstFrom(start: number, isBehind: (word: string) => boolean): number {
    return start + firstIndex(this.words.length - start, (nth) => isBehind(this.words[start + nth] ?? ''));
  }

  private found(match: Match, start: number, end: number): FoundWords<Text> {
    const { texts, placesBefore } = this;
    return {
      match,
      texts: () => texts.slice(start, end),
      places: this.places.subarray(placesBefore[start], placesBefore[end]),
    };
  }
}

/** Words that match equally well. */
export interface FoundWords<Text> {
  readonly match: Match;
  /** The text of each word. */
  texts(): readonly Text[];
  /** The tokens that have these texts. */
  readonly places: Uint32Array;
}
