/** Finds items, such as tokens, by the starts of the words of their texts. */
import { forEachInSteps } from '../scheduling/steps.js';
import { compare, firstIndex, sortInSteps } from './token-order.js';

/** How letters match a text, from best to worst: the first word, its start, another word, its start, any part. */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

export type Match = (typeof MATCH)[keyof typeof MATCH];

/** Prefixes of indexed words: `first` of a text's first word, `other` of its other words, `rest` of parts of words. */
export const MARK = { first: '\n', other: ' ', rest: '' } as const;

/** `whole`: the letters are the word. `start`: the word begins with them. */
const MATCHES: readonly (readonly [mark: string, whole: Match, start: Match])[] = [
  [MARK.first, MATCH.firstWord, MATCH.start],
  [MARK.other, MATCH.word, MATCH.wordStart],
  [MARK.rest, MATCH.inside, MATCH.inside],
];

/** Indexes texts, each with its items, by their words with marks (see {@link MARK}). It yields to requests. */
export async function createWordStarts<Item>(
  texts: Iterable<readonly [text: string, items: readonly Item[]]>,
  wordsOf: (text: string) => readonly string[],
) {
  const pairs: { readonly word: string; readonly ofWord: readonly Item[] }[] = [];
  await forEachInSteps(texts, ([text, ofWord]) => {
    for (const word of wordsOf(text)) pairs.push({ word, ofWord });
  });
  await sortInSteps(pairs, (a, b) => compare(a.word, b.word));
  const words: string[] = [];
  /** The items of the first word, then of the second, and so on. */
  const items: Item[] = [];
  /** For each word, how many of `items` come before its own. */
  const itemsBefore = [0];
  await forEachInSteps(pairs, ({ word, ofWord }) => {
    if (word !== words.at(-1)) words.push(word);
    for (const item of ofWord) items.push(item);
    itemsBefore[words.length] = items.length;
  });

  /** The first word at or after `start` that `isBehind` accepts. Steps double, because it is usually near. */
  function nextFrom(start: number, isBehind: (word: string) => boolean): number {
    let step = 1;
    while (start + step < words.length && !isBehind(words[start + step] ?? '')) step *= 2;
    const from = start + (step >> 1);
    return from + firstIndex(Math.min(step, words.length - from), (nth) => isBehind(words[from + nth] ?? ''));
  }

  return {
    /** The items of the words that begin with these letters, in groups that match equally well; items can repeat. */
    find(letters: string): readonly { readonly match: Match; readonly items: readonly Item[] }[] {
      const groups: { readonly match: Match; readonly items: readonly Item[] }[] = [];
      for (const [mark, whole, start] of letters === '' ? [] : MATCHES) {
        const wanted = mark + letters;
        const first = firstIndex(words.length, (nth) => (words[nth] ?? '') >= wanted);
        const middle = words[first] === wanted ? first + 1 : first;
        const end = nextFrom(middle, (word) => !word.startsWith(wanted));
        const add = (match: Match, from: number, to: number) => {
          if (from < to) groups.push({ match, items: items.slice(itemsBefore[from], itemsBefore[to]) });
        };
        add(whole, first, middle);
        add(start, middle, end);
      }
      return groups;
    },
  };
}
