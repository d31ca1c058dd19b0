/** Suggests other queries if a search finds nothing. */
import { foldText, narrowText } from '../domain/fold-text.js';
import type { Token } from '../domain/listing.js';
import { correctedWords } from './corrected-words.js';
import { FILLERS, HAS_LETTER, HAS_LETTERS, PUNCTUATION } from './text.js';
import type { TokenIndexes } from './token-indexes.js';
import type { KnownChains, TokenPage, TokenSearch, TokenSearchRequest } from './token-search.js';
import { WORD_LENGTH } from './word-list.js';

/** The result of a search, with suggestions if it found nothing. */
export interface FoundTokens extends TokenPage {
  readonly query: string;
  /** The number of tokens that were searched. */
  readonly searchedCount: number;
  /** If nothing was found, up to three queries that find something under the same filter, the most likely first. */
  didYouMean(): readonly string[];
}

/** A {@link TokenSearch} with suggestions. */
export type SuggestingSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => FoundTokens;

const MAX_SUGGESTIONS = 3;
/** No further query is tried after so many queries, or so many words in them: each word is looked up in all texts. */
const MAX_TRIED = 6;
const MAX_WORDS_TRIED = 12;
/** Of the tokens with a word in their names, the first 20 are examined, and the first 2 of their symbols are tried. */
const NAMED_LOOKED_AT = 20;
const MAX_SYMBOLS = 2;
const MARKS = /([^\p{L}\p{N}]+)/u;
/** The request that tells whether a word finds anything at all. */
const EVERYTHING = { filter: {}, order: 'SYMBOL', first: 1, pricesUsable: false } as const;
const LETTERS_ONLY = /^[\p{L}\p{N}]+$/u;
/** A whole address, the start of one, or a text in which one may be. */
const LIKE_ADDRESS = /0x[0-9a-f]{4}|^(?=[^\d]*\d)[0-9a-f]{6,}$/i;

/** Adds suggestions to a search. */
export function withDidYouMean(search: TokenSearch, indexes: TokenIndexes): SuggestingSearch {
  /** The queries that the person may have meant, the most likely first. */
  function correctionsOf(query: string, chains: KnownChains | undefined): readonly Correction[] {
    const typed = narrowText(query).split(/\s+/).filter(Boolean);
    if (typed.some(isLikeAddress)) return [];
    /** The distinct words as typed, by their folded form. */
    const words = new Map<string, string>();
    for (const word of typed) if (!words.has(foldText(word))) words.set(foldText(word), word);
    // A query can repeat a piece of a word; each is looked up once.
    const isRight = remembered(
      (text) =>
        text.length < WORD_LENGTH.min ||
        !HAS_LETTERS.test(text) ||
        FILLERS.has(text) ||
        search({ ...EVERYTHING, query: words.get(text) ?? text }, chains).totalCount > 0,
    );
    const correctionsOfPiece = remembered((piece): readonly Correction[] => {
      if (isRight(piece)) return [{ text: piece, words: [] }];
      if (!HAS_LETTER.test(piece)) return [];
      return correctedWords(piece, indexes, chains).map((text) => ({ text, words: [text] }));
    });
    let ways: readonly Correction[] = [NOTHING];
    for (const [folded, word] of words) {
      let meant: readonly Correction[] = [{ text: word, words: [] }];
      if (!isRight(folded)) {
        meant = [NOTHING];
        for (const piece of folded.split(MARKS)) meant = combined(meant, correctionsOfPiece(piece), '');
      }
      ways = combined(ways, meant, ' ');
    }
    const corrected = ways.filter(({ words }) => words.length > 0);
    // If every word is right, one may be a name instead of a symbol. A wrong word without correction leaves no ways.
    return ways.length > corrected.length ? withSymbols([...words.values()], chains) : corrected;
  }

  /** Replaces a word of a name by the symbol of the tokens with that name: "tether arb" may mean "USDT arb". */
  function withSymbols(words: readonly string[], chains: KnownChains | undefined): readonly Correction[] {
    if (words.length < 2) return [];
    const ways = words.flatMap((word, nth) => {
      if (word.length < WORD_LENGTH.min) return [];
      const request = { ...EVERYTHING, order: 'RELEVANCE', query: word, first: NAMED_LOOKED_AT } as const;
      const symbols = search(request, chains)
        .tokens.filter(({ name }) => foldText(name).split(PUNCTUATION).includes(foldText(word)))
        .map(({ symbol }) => symbol)
        .filter((symbol) => LETTERS_ONLY.test(symbol));
      return [...new Set(symbols)]
        .slice(0, MAX_SYMBOLS)
        .map((symbol) => ({ text: words.with(nth, symbol).join(' '), words: [] }));
    });
    return ways.slice(0, MAX_TRIED);
  }

  function suggestionsFor(request: TokenSearchRequest, chains: KnownChains | undefined): readonly string[] {
    const suggestions: string[] = [];
    let wordsLeft = MAX_WORDS_TRIED;
    for (const { text, words } of correctionsOf(request.query, chains)) {
      const first = { ...request, query: text, order: 'RELEVANCE', first: 1, after: undefined } as const;
      const [token] = search(first, chains).tokens;
      if (token) suggestions.push(asWritten(text, words, token, chains));
      wordsLeft -= text.split(PUNCTUATION).length;
      if (suggestions.length === MAX_SUGGESTIONS || wordsLeft <= 0) break;
    }
    return suggestions;
  }

  return (request, chains) => {
    const page = search(request, chains);
    let suggestions: readonly string[] | undefined;
    return {
      ...page,
      query: request.query,
      searchedCount: indexes.rowAt.length,
      didYouMean() {
        suggestions ??= page.totalCount > 0 ? [] : suggestionsFor(request, chains);
        return suggestions;
      },
    };
  };
}

/** Memoizes a function of a text. */
function remembered<Result>(make: (text: string) => Result): (text: string) => Result {
  const made = new Map<string, Result>();
  return (text) => {
    const result = made.has(text) ? (made.get(text) as Result) : make(text);
    made.set(text, result);
    return result;
  };
}

/** A text, or a part of one, that the person may have meant, with the words that were corrected in it. */
interface Correction {
  readonly text: string;
  readonly words: readonly string[];
}

const NOTHING: Correction = { text: '', words: [] };

/** Joins each of the first with each of the second. The most likely pairs come first; at most {@link MAX_TRIED}. */
function combined(
  first: readonly Correction[],
  second: readonly Correction[],
  between: string,
): readonly Correction[] {
  const pairs = first.flatMap((one, nth) =>
    second.map((other, mth) => ({
      text: one.text === '' ? other.text : one.text + between + other.text,
      words: [...one.words, ...other.words],
      order: nth + mth,
    })),
  );
  return pairs.sort((one, other) => one.order - other.order).slice(0, MAX_TRIED);
}

function isLikeAddress(word: string): boolean {
  return LIKE_ADDRESS.test(word) || word.split(PUNCTUATION).some(({ length }) => length > WORD_LENGTH.max);
}

/** The text with its corrected words as the token or its chain writes them, such as "USDC". */
function asWritten(
  text: string,
  words: readonly string[],
  { symbol, name, chainKey }: Token,
  chains: KnownChains | undefined,
): string {
  const chain = chains?.byKey(chainKey);
  const written = [symbol, name, chain?.name ?? '', chain?.shortName ?? '']
    .flatMap((text) => narrowText(text).split(/\s+/))
    .filter((word) => word.length <= WORD_LENGTH.max && LETTERS_ONLY.test(word));
  const asIn = (piece: string) => written.find((word) => foldText(word) === piece) ?? piece;
  return text
    .split(MARKS)
    .map((piece) => (words.includes(piece) ? asIn(piece) : piece))
    .join('');
}
