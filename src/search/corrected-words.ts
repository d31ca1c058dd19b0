/** Corrects typos in a word that finds nothing. */
import type { TokenIndexes } from './token-indexes.js';
import type { KnownChains } from './token-search.js';
import { WORD_LENGTH } from './word-list.js';
import { MATCH } from './word-starts.js';

/** A shorter word is not corrected to one with another letter: it is often the symbol of a token that is not listed. */
const MIN_FOR_ANY_TYPO = 5;
/** A typed word is compared with at most `MAX_NEAR` words one typo away, and gets at most `MAX_CORRECTED` corrections. */
const MAX_NEAR = 12;
const MAX_CORRECTED = 4;

/**
 * Corrections of a word that finds nothing, the most likely first. A wrong guess leads a person to another token, which
 * costs money, so the rule is narrow. The first letter must be right. If two letters are swapped or one is doubled, the
 * correction may be any word of symbols, names and chains. For any other typo of one letter it must be a word of at
 * least five letters from names or chains, and not a symbol.
 */
export function correctedWords(
  typed: string,
  indexes: TokenIndexes,
  chains: KnownChains | undefined,
): readonly string[] {
  const respelledWords = respelled(typed).filter(
    (word) => usesOf(word, indexes).isWord || (chains?.words.has(word) ?? false),
  );
  const ofChains = chains?.words.near(typed, MIN_FOR_ANY_TYPO, MAX_NEAR) ?? [];
  const ofNames = indexes.words.near(typed, MIN_FOR_ANY_TYPO, MAX_NEAR);
  const others = [...new Set([...ofChains, ...ofNames])].flatMap((word) => {
    const { isSymbol, count } = usesOf(word, indexes);
    // A plural is not a typo: "stables" does not mean the chain Stable.
    if (isSymbol || respelledWords.includes(word) || typed === `${word}s`) return [];
    return [{ word, isOfChain: ofChains.includes(word), count }];
  });
  others.sort((one, other) => Number(other.isOfChain) - Number(one.isOfChain) || other.count - one.count);
  return [...respelledWords, ...others.map(({ word }) => word)].slice(0, MAX_CORRECTED);
}

/** The number of tokens and chains that a word matches, and whether it is a whole word, or the first one of a symbol. */
function usesOf(word: string, { symbolStarts, nameStarts, chainKeyStarts }: TokenIndexes) {
  const ofSymbols = symbolStarts.find(word);
  const found = [...ofSymbols, ...nameStarts.find(word), ...chainKeyStarts.find(word)];
  return {
    isSymbol: ofSymbols.some(({ match }) => match === MATCH.firstWord),
    isWord: found.some(({ match }) => match === MATCH.firstWord || match === MATCH.word),
    count: found.reduce((count, { items }) => count + items.length, 0),
  };
}

/** The word with two neighbouring letters swapped, or with a doubled letter written once. The first letter stays. */
function respelled(word: string): readonly string[] {
  const respellings = new Set<string>();
  for (let at = 1; at < word.length; at++) {
    if (word[at] !== word[at - 1]) {
      if (at > 1) respellings.add(word.slice(0, at - 1) + word[at] + word[at - 1] + word.slice(at + 1));
    } else if (word.length > WORD_LENGTH.min) {
      respellings.add(word.slice(0, at) + word.slice(at + 1));
    }
  }
  return [...respellings];
}
