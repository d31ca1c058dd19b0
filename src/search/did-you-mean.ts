/** Suggests other queries if a search finds nothing: with corrected words, or with symbols in place of names. */
import { foldText, narrowText } from '../domain/fold-text.js';
import type { Chain, Token } from '../domain/listing.js';
import { FILLERS, HAS_LETTER, HAS_LETTER_OR_DIGIT, PUNCTUATION } from './text.js';
import type { TokenIndexes } from './token-indexes.js';
import type { TokenSearch, TokenSearchRequest } from './token-search.js';
import { WORD_LENGTH } from './word-list.js';
import type { KnownChains } from './word-scores.js';
import { MATCH } from './word-starts.js';

export type SuggestingSearch = ReturnType<typeof withDidYouMean>;
export type FoundTokens = ReturnType<SuggestingSearch>;

/** A line "Did you mean …?" cannot show more. */
const MAX_SUGGESTIONS = 3;
/** Tries at most 6 corrected queries, and stops after 12 words in all: each word is looked up in all texts. */
const MAX_TRIED = 6;
const MAX_WORDS_TRIED = 12;
/** Of the first 20 tokens that a word finds, those with the word in their name are used. 2 of their symbols are tried. */
const NAMED_LOOKED_AT = 20;
const MAX_SYMBOLS = 2;
/** Corrections of one typed word. */
const MAX_CORRECTED = 4;
const MARKS = /([^\p{L}\p{N}]+)/u;
/** The request that tells whether a word finds anything at all. */
const EVERYTHING = { filter: {}, order: 'SYMBOL', first: 1, pricesUsable: false } as const;
const LETTERS_ONLY = /^[\p{L}\p{N}]+$/u;
/** An address, the start of an address, or a text that may contain an address. */
const LIKE_ADDRESS = /0x[0-9a-f]{4}|^(?=[^\d]*\d)[0-9a-f]{6,}$/i;

export function withDidYouMean(search: TokenSearch, indexes: TokenIndexes) {
  /** The queries that the person may have meant, the most likely first. */
  function correctionsOf(query: string, chains: KnownChains | undefined): readonly string[] {
    const typed = narrowText(query).split(/\s+/).filter(Boolean);
    if (typed.some((word) => LIKE_ADDRESS.test(word))) return [];
    if (typed.some((word) => word.split(PUNCTUATION).some(({ length }) => length > WORD_LENGTH.max)))
      return [];
    /** The distinct words as typed, by their folded form. */
    const words = new Map<string, string>();
    for (const word of typed) if (!words.has(foldText(word))) words.set(foldText(word), word);
    const isRight = (text: string) =>
      text.length < WORD_LENGTH.min ||
      !HAS_LETTER_OR_DIGIT.test(text) ||
      FILLERS.has(text) ||
      search({ ...EVERYTHING, query: words.get(text) ?? text }, chains).totalCount > 0;
    const correctionsOfPiece = (piece: string): readonly string[] => {
      if (isRight(piece)) return [piece];
      return HAS_LETTER.test(piece) ? correctedWords(piece, indexes, chains) : [];
    };
    let ways: readonly string[] = [''];
    for (const [folded, word] of words) {
      let meant: readonly string[] = [word];
      if (!isRight(folded)) {
        meant = [''];
        for (const piece of folded.split(MARKS)) meant = combined(meant, correctionsOfPiece(piece), '');
      }
      ways = combined(ways, meant, ' ');
    }
    const asTyped = [...words.values()];
    // If every word is right, one may be a name in place of a symbol. If a wrong word has no correction, `ways` is empty.
    const isAllRight = ways.some((way) => foldText(way) === foldText(asTyped.join(' ')));
    return isAllRight ? withSymbols(asTyped, chains) : ways;
  }

  /** Replaces a typed word from a token's name by the symbol of that token: "tether arb" may mean "USDT arb". */
  function withSymbols(words: readonly string[], chains: KnownChains | undefined): readonly string[] {
    if (words.length < 2) return [];
    const ways = words.flatMap((word, nth) => {
      if (word.length < WORD_LENGTH.min) return [];
      const request = { ...EVERYTHING, order: 'RELEVANCE', query: word, first: NAMED_LOOKED_AT } as const;
      const symbols = search(request, chains)
        .tokens.filter(({ name }) => foldText(name).split(PUNCTUATION).includes(foldText(word)))
        .map(({ symbol }) => symbol)
        .filter((symbol) => LETTERS_ONLY.test(symbol));
      const distinct = [...new Set(symbols)].slice(0, MAX_SYMBOLS);
      return distinct.map((symbol) => words.with(nth, symbol).join(' '));
    });
    return ways.slice(0, MAX_TRIED);
  }

  function suggestionsFor(request: TokenSearchRequest, chains: KnownChains | undefined): readonly string[] {
    const suggestions: string[] = [];
    let wordsLeft = MAX_WORDS_TRIED;
    for (const query of correctionsOf(request.query, chains)) {
      const first = { ...request, query, order: 'RELEVANCE', first: 1, after: undefined } as const;
      const [token] = search(first, chains).tokens;
      const chain = token && chains?.byKey(token.chainKey);
      if (token) suggestions.push(asWritten(query, request.query, token, chain));
      wordsLeft -= query.split(PUNCTUATION).length;
      if (suggestions.length === MAX_SUGGESTIONS || wordsLeft <= 0) break;
    }
    return suggestions;
  }

  return (request: TokenSearchRequest, chains: KnownChains | undefined) => {
    const page = search(request, chains);
    let suggestions: readonly string[] | undefined;
    return {
      ...page,
      query: request.query,
      /** The number of tokens that were searched. */
      searchedCount: indexes.rowAt.length,
      /** If nothing was found, up to three queries that find something under the same filter, the most likely first. */
      didYouMean(): readonly string[] {
        suggestions ??= page.totalCount > 0 || page.isHidden ? [] : suggestionsFor(request, chains);
        return suggestions;
      },
    };
  };
}

/** Joins each of the first texts with each of the second: the most likely pairs, in order. */
function combined(first: readonly string[], second: readonly string[], between: string): readonly string[] {
  const pairs = first.flatMap((one, nth) =>
    second.map((other, mth) => ({ text: one === '' ? other : one + between + other, order: nth + mth })),
  );
  pairs.sort((one, other) => one.order - other.order);
  return pairs.slice(0, MAX_TRIED).map(({ text }) => text);
}

/** Spells the corrected words of a query as the token or its chain spells them, such as "USDC". */
function asWritten(query: string, typed: string, { symbol, name }: Token, chain: Chain | undefined) {
  const written = [symbol, name, chain?.name ?? '', chain?.shortName ?? '']
    .flatMap((text) => narrowText(text).split(/\s+/))
    .filter((word) => word.length <= WORD_LENGTH.max && LETTERS_ONLY.test(word));
  const typedPieces = foldText(typed).split(MARKS);
  return query
    .split(MARKS)
    .map((piece) =>
      typedPieces.includes(piece) ? piece : (written.find((word) => foldText(word) === piece) ?? piece),
    )
    .join('');
}

/**
 * Corrections of a word that finds nothing, the most likely first. A wrong guess leads a person to another token, which
 * costs money, so the rule is narrow. The first letter must be right. If two letters are swapped or one is doubled, the
 * correction may be any word of symbols, names and chains. For any other typo of one letter it must be a word of at
 * least five letters from names or chains, and not a symbol.
 */
function correctedWords(typed: string, indexes: TokenIndexes, chains: KnownChains | undefined) {
  const respelledWords = respelled(typed).filter(
    (word) => usesOf(word, indexes).isWord || (chains?.words.has(word) ?? false),
  );
  const ofChains = chains?.words.near(typed) ?? [];
  const ofNames = indexes.words.near(typed);
  const others = [...new Set([...ofChains, ...ofNames])].flatMap((word) => {
    const { isSymbol, count } = usesOf(word, indexes);
    const isOfChain = ofChains.includes(word);
    // The plural of a chain is not a typo: "stables" does not mean the chain Stable. But "bitcoins" means Bitcoin.
    if (isSymbol || respelledWords.includes(word) || (isOfChain && typed === `${word}s`)) return [];
    return [{ word, isOfChain, count }];
  });
  others.sort((one, other) => Number(other.isOfChain) - Number(one.isOfChain) || other.count - one.count);
  return [...respelledWords, ...others.map(({ word }) => word)].slice(0, MAX_CORRECTED);
}

/** `count`: the tokens and chains that a word finds. `isWord`: it is a whole word of one. `isSymbol`: a symbol begins with it. */
function usesOf(word: string, { symbolStarts, nameStarts, chainKeyStarts }: TokenIndexes) {
  const ofSymbols = symbolStarts.find(word);
  const found = [...ofSymbols, ...nameStarts.find(word), ...chainKeyStarts.find(word)];
  return {
    isSymbol: ofSymbols.some(({ match }) => match === MATCH.firstWord),
    isWord: found.some(({ match }) => match === MATCH.firstWord || match === MATCH.word),
    count: found.reduce((count, { items }) => count + items.length, 0),
  };
}

/** All spellings of a word with two neighbouring letters swapped, or with a doubled letter written once. The first stays. */
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
