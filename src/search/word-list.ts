/** A list of words, which finds the words that differ from a given word by one typo. */
import { foldText, isOneTypo } from '../domain/fold-text.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { HAS_LETTER, PUNCTUATION } from './text.js';

/** Words of other lengths are left out: shorter words are too similar to others, and people rarely type longer ones. */
export const WORD_LENGTH = { min: 4, max: 24 } as const;
/** A shorter word is near to none: a short word that differs by a letter is often the symbol of an unlisted token. */
const MIN_NEAR_LENGTH = 5;
/** At most this many words count as near. */
const MAX_NEAR = 12;

/** The texts are folded, and split at white space and punctuation. */
export async function createWordList(texts: Iterable<string>) {
  const words = new Set<string>();
  await forEachInSteps(texts, (text) => {
    for (const word of foldText(text).split(PUNCTUATION)) {
      const { length } = word;
      if (length >= WORD_LENGTH.min && length <= WORD_LENGTH.max && HAS_LETTER.test(word)) words.add(word);
    }
  });
  return {
    has: (word: string) => words.has(word),
    /** The listed words that are one typo away and begin with the same letter. Words of the same length come first. */
    near(word: string): readonly string[] {
      const near = [...words].filter(
        (other) => other[0] === word[0] && other.length >= MIN_NEAR_LENGTH && isOneTypo(word, other),
      );
      return [0, 1, -1]
        .flatMap((longer) => near.filter(({ length }) => length === word.length + longer))
        .slice(0, MAX_NEAR);
    },
  };
}
