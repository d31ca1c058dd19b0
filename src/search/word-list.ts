/** A list of words, which finds the words that differ from a given word by one typo. */
import { foldText, isOneTypo } from '../domain/fold-text.js';
import { HAS_LETTER, PUNCTUATION } from './text.js';

/** Words of other lengths are left out: shorter words are too similar to others, and people do not type longer ones. */
export const WORD_LENGTH = { min: 4, max: 24 } as const;

/** The words of texts. They are folded, and split at white space and punctuation. */
export class WordList {
  /** The words by first letter and length. */
  readonly #groups = new Map<string, Set<string>>();

  add(text: string): void {
    for (const word of foldText(text).split(PUNCTUATION)) {
      const { length } = word;
      if (length < WORD_LENGTH.min || length > WORD_LENGTH.max || !HAS_LETTER.test(word)) continue;
      const group = groupOf(word, length);
      this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(word));
    }
  }

  has(word: string): boolean {
    return this.#groups.get(groupOf(word, word.length))?.has(word) ?? false;
  }

  /** Up to `max` listed words, one typo from this word, that have its first letter and at least `minLength` letters. */
  near(word: string, minLength: number, max: number): readonly string[] {
    return [word.length, word.length + 1, word.length - 1]
      .filter((length) => length >= minLength)
      .flatMap((length) => [...(this.#groups.get(groupOf(word, length)) ?? [])])
      .filter((other) => isOneTypo(word, other))
      .slice(0, max);
  }
}

function groupOf(word: string, length: number): string {
  return `${word.slice(0, 1)}${length}`;
}
