import { runAtOnce } from '../../scheduling/chunks.js';
import { createMatches, MATCH, type Matches, NO_MATCH } from '../text-index.js';
import type { TokenIndexes } from '../token-indexes.js';
import type { KnownChains } from '../token-search.js';
import { WORD_LENGTH, type WordList, wordListSteps } from './word-list.js';

/** Any slip is mended only towards words of this length: shorter ones are too often tokens that are not listed. */
const MIN_FOR_ANY_SLIP = 5;
/** How many words one slip away are looked at, and how many words are given for one. */
const MAX_NEAR = 12;
const MAX_MENDED = 4;
/** Longer lists of texts are not needed: a whole word is in few of them. */
const MAX_TEXTS = 1024;

/** The words that may be meant by a word that finds nothing, the most likely first; see {@link createWordMender}. */
export type WordMender = (typed: string, chains: KnownChains | undefined) => readonly string[];

/**
 * Mends words of one listing. A wrong guess sends somebody to another token, which costs money, so the rule is
 * narrow. The first letter is right. Letters are swapped or doubled: then any word of symbols, names and chains may be
 * meant. Or there is another slip of one letter: then only a longer word of chains or names that is no symbol.
 */
export function createWordMender(
  { textIndex, textCount, symbolCount }: TokenIndexes,
  nameWords: WordList,
): WordMender {
  /** Made when it is first needed, and reused, as a search never awaits. */
  let reused: Matches | undefined;

  function find(word: string): Matches {
    reused ??= createMatches(textCount, MAX_TEXTS);
    textIndex.find(word, reused);
    return reused;
  }

  /** Whether a text below `end` has the word as one of these matches. */
  function isFound({ best, texts, count }: Matches, end: number, wanted: readonly number[]): boolean {
    if (count <= texts.length) {
      for (let index = 0; index < count; index++) {
        const text = texts[index] ?? 0;
        if (text < end && wanted.includes(best[text] ?? NO_MATCH)) return true;
      }
      return false;
    }
    for (let text = 0; text < end; text++) if (wanted.includes(best[text] ?? NO_MATCH)) return true;
    return false;
  }

  return (typed, chains) => {
    const chainWords = chains && wordsOfChains(chains);
    const tidied = respelled(typed).filter(
      (word) =>
        isFound(find(word), textCount, [MATCH.firstWord, MATCH.word]) || (chainWords?.has(word) ?? false),
    );
    const ofChains = chainWords?.near(typed, MIN_FOR_ANY_SLIP, MAX_NEAR) ?? [];
    const ofNames = nameWords.near(typed, MIN_FOR_ANY_SLIP, MAX_NEAR);
    const others = [...new Set([...ofChains, ...ofNames])].flatMap((word) => {
      const matches = find(word);
      if (tidied.includes(word) || isFound(matches, symbolCount, [MATCH.firstWord])) return [];
      return [{ word, isOfChain: ofChains.includes(word), count: matches.count }];
    });
    others.sort((one, other) => Number(other.isOfChain) - Number(one.isOfChain) || other.count - one.count);
    return [...tidied, ...others.map(({ word }) => word)].slice(0, MAX_MENDED);
  };
}

/** The word with two neighbouring letters swapped, and with one of two equal neighbours; the first letter stays. */
function respelled(word: string): readonly string[] {
  const respellings = new Set<string>();
  for (let at = 1; at < word.length; at++) {
    const isDoubled = word[at] === word[at - 1];
    if (isDoubled && word.length > WORD_LENGTH.min) {
      respellings.add(word.slice(0, at) + word.slice(at + 1));
    }
    if (at > 1 && !isDoubled) {
      respellings.add(word.slice(0, at - 1) + word[at] + word[at - 1] + word.slice(at + 1));
    }
  }
  return [...respellings];
}

const ofChains = new WeakMap<KnownChains, WordList>();

function wordsOfChains(chains: KnownChains): WordList {
  const known = ofChains.get(chains) ?? runAtOnce(wordListSteps(chains.texts));
  ofChains.set(chains, known);
  return known;
}
