import { foldText, narrowText } from '../../domain/fold-text.js';
import type { Token } from '../../domain/listing.js';
import { FILLERS } from '../text.js';
import type { TokenIndexes } from '../token-indexes.js';
import type { KnownChains, TokenPage, TokenSearch, TokenSearchRequest } from '../token-search.js';
import { mendedWords } from './mended-words.js';
import { WORD_LENGTH } from './word-list.js';

/** What a search has found, with a question in place of what it has not. */
export interface FoundTokens extends TokenPage {
  /** What was searched for. */
  readonly query: string;
  /** How many tokens were searched. */
  readonly searchedCount: number;
  /**
   * Where nothing was found: up to three queries that find something under the same filter, the most likely first.
   * Made when it is first called, which takes no longer than the search took.
   */
  didYouMean(): readonly string[];
}

/** As a {@link TokenSearch}. */
export type AskingSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => FoundTokens;

const MAX_SUGGESTIONS = 3;
/** How many queries are tried, and how many words they may have before no other is tried: each costs a search. */
const MAX_TRIED = 6;
const MAX_WORDS_TRIED = 12;
const BETWEEN_WORDS = /[^\p{L}\p{N}]+/u;
const MARKS = /([^\p{L}\p{N}]+)/u;
/** To find out whether a word finds anything at all. */
const EVERYTHING = { filter: {}, order: 'SYMBOL', first: 1, pricesUsable: false } as const;
const LETTERS_ONLY = /^[\p{L}\p{N}]+$/u;
const HAS_LETTERS = /[\p{L}\p{N}]/u;
const HAS_LETTER = /\p{L}/u;
/** A whole address, the start of one, or a text in which one may be. */
const LIKE_ADDRESS = /0x[0-9a-f]{4}|^(?=[^\d]*\d)[0-9a-f]{6,}$/i;

/** Adds the question to a search. */
export function withDidYouMean(search: TokenSearch, indexes: TokenIndexes): AskingSearch {
  /** The queries that may be meant, the most likely first. */
  function meantBy(query: string, chains: KnownChains | undefined): readonly Mending[] {
    const typed = narrowText(query).split(/\s+/).filter(Boolean);
    if (typed.some(isLikeAddress)) return [];
    const words = new Map(typed.toReversed().map((word) => [foldText(word), word]));
    // A word or a piece of one can be there again and again, and is looked up once.
    const isRight = remembered(
      (text) =>
        text.length < WORD_LENGTH.min ||
        !HAS_LETTERS.test(text) ||
        FILLERS.has(text) ||
        search({ ...EVERYTHING, query: words.get(text) ?? text }, chains).totalCount > 0,
    );
    const meantByPiece = remembered((piece): readonly Mending[] => {
      if (isRight(piece)) return [{ text: piece, words: [] }];
      if (!HAS_LETTER.test(piece)) return [];
      return mendedWords(piece, indexes, chains).map((text) => ({ text, words: [text] }));
    });
    let ways: readonly Mending[] = [{ text: '', words: [] }];
    for (const folded of new Set(typed.map(foldText))) {
      const isMeant = isRight(folded);
      let meant: readonly Mending[] = [{ text: isMeant ? (words.get(folded) ?? '') : '', words: [] }];
      for (const piece of isMeant ? [] : folded.split(MARKS))
        meant = combined(meant, meantByPiece(piece), '');
      ways = combined(ways, meant, ' ');
    }
    return ways.filter(({ words }) => words.length > 0);
  }

  function suggestionsFor(request: TokenSearchRequest, chains: KnownChains | undefined): readonly string[] {
    const suggestions: string[] = [];
    let wordsLeft = MAX_WORDS_TRIED;
    for (const { text, words } of meantBy(request.query, chains)) {
      const [token] = search(
        { ...request, query: text, order: 'RELEVANCE', first: 1, after: undefined },
        chains,
      ).tokens;
      if (token) suggestions.push(asWritten(text, words, token, chains));
      wordsLeft -= text.split(BETWEEN_WORDS).length;
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

/** Calls the function once for each text. */
function remembered<Result>(make: (text: string) => Result): (text: string) => Result {
  const made = new Map<string, Result>();
  return (text) => {
    const result = made.has(text) ? (made.get(text) as Result) : make(text);
    made.set(text, result);
    return result;
  };
}

/** A text, or a part of one, that may be meant, with the words in it that were mended. */
interface Mending {
  readonly text: string;
  readonly words: readonly string[];
}

/** Each of the first with each of the second, as far as they are tried, those that come early in both first. */
function combined(
  first: readonly Mending[],
  second: readonly Mending[],
  between: string,
): readonly Mending[] {
  return first
    .flatMap((one, nth) =>
      second.map((other, mth) => ({
        text: one.text === '' ? other.text : one.text + between + other.text,
        words: [...one.words, ...other.words],
        order: nth + mth,
      })),
    )
    .sort((one, other) => one.order - other.order)
    .slice(0, MAX_TRIED);
}

function isLikeAddress(word: string): boolean {
  return LIKE_ADDRESS.test(word) || word.split(BETWEEN_WORDS).some(({ length }) => length > WORD_LENGTH.max);
}

/** The text with its mended words as the token or its chain writes them, such as "USDC". */
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
  return text
    .split(MARKS)
    .map((piece) =>
      words.includes(piece) ? (written.find((word) => foldText(word) === piece) ?? piece) : piece,
    )
    .join('');
}
