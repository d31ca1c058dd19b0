import { foldText, isOneSlip } from '../../domain/fold-text.js';
import type { Steps } from '../../scheduling/chunks.js';

/** The words of names, to be compared with what somebody typed. */
export interface WordList {
  /** Whether this is one of the words. */
  has(word: string): boolean;
  /** The words of at least `minLength` letters with the same first letter that are one slip from this one, at most `max`. */
  near(word: string, minLength: number, max: number): readonly string[];
}

/** Shorter words are too much like others; no person types longer ones. */
export const WORD_LENGTH = { min: 4, max: 24 } as const;

const STEP_TEXTS = 128;
const BETWEEN_WORDS = /[^\p{L}\p{N}]+/u;
const HAS_LETTER = /\p{L}/u;

/** Lists the words of texts, folded and in small pieces: at a mark, another word begins. */
export function* wordListSteps(texts: Iterable<string>): Steps<WordList> {
  const words = new Set<string>();
  let read = 0;
  for (const text of texts) {
    for (const word of wordsIn(text)) words.add(word);
    if (++read % STEP_TEXTS === 0) yield;
  }
  // Words of one length that begin alike are one text: an array of strings would take several times the memory.
  const ofGroup = new Map<string, string[]>();
  read = 0;
  for (const word of words) {
    const group = groupOf(word, word.length);
    const known = ofGroup.get(group);
    if (known) known.push(word);
    else ofGroup.set(group, [word]);
    if (++read % STEP_TEXTS === 0) yield;
  }
  const groups = new Map<string, string>();
  for (const [group, members] of ofGroup) {
    groups.set(group, members.join(''));
    yield;
  }

  return {
    has(word) {
      const text = groups.get(groupOf(word, word.length)) ?? '';
      for (let from = 0; from < text.length; from += word.length) {
        if (text.startsWith(word, from)) return true;
      }
      return false;
    },
    near(word, minLength, max) {
      const found: string[] = [];
      for (const length of [word.length, word.length + 1, word.length - 1]) {
        const text = length < minLength ? '' : (groups.get(groupOf(word, length)) ?? '');
        for (let from = 0; from < text.length && found.length < max; from += length) {
          if (isOneSlip(word, text, from, length)) found.push(text.slice(from, from + length));
        }
      }
      return found;
    },
  };
}

/** The words of a text that may be listed, folded. */
function wordsIn(text: string): readonly string[] {
  return foldText(text)
    .split(BETWEEN_WORDS)
    .filter((word) => isWord(word) && word.length >= WORD_LENGTH.min);
}

/** Whether a text of letters and digits can be a word of a person. */
function isWord(text: string): boolean {
  return text.length <= WORD_LENGTH.max && HAS_LETTER.test(text);
}

function groupOf(word: string, length: number): string {
  return `${word.slice(0, 1)}${length}`;
}
