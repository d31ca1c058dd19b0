import { foldAddress, isNativeOf, isNativePlaceholder } from '../../src/domain/addresses.js';
import { foldText } from '../../src/domain/fold-text.js';
import type { Chain, Token } from '../../src/domain/listing.js';
import { type Interpretation, interpretationsOf, type SearchWord } from '../../src/search/text.js';
import type { SortKey } from '../../src/search/token-order.js';
import type { TokenSearchRequest } from '../../src/search/token-search.js';

/**
 * The rules of the token search, written down as plainly as possible: it looks at each token, keeps those that match,
 * and sorts them. The index of the gateway has to find the same.
 *
 * @returns all tokens found, in order
 */
export function searchPlainly(
  tokens: readonly Token[],
  chains: readonly Chain[] | undefined,
  { query, filter, order, pricesUsable, after }: TokenSearchRequest,
): readonly Token[] {
  const chainOf = ({ chainKey }: Token) => chains?.find((chain) => chain.chainKey === chainKey);
  const priceOf = (token: Token) => (pricesUsable ? (token.price?.usd ?? null) : null);
  const isOneOf = (text: string, list: readonly string[]) =>
    list.some((item) => item.toLowerCase() === text.toLowerCase());

  const candidates = tokens.filter((token) => {
    const price = priceOf(token);
    const { chainKeys, chainTypes, symbols, isBridgeable, isNative, hasPrice, minPriceUsd, maxPriceUsd } =
      filter;
    if (chainKeys && !chainKeys.includes(token.chainKey)) return false;
    if (chainTypes && !isOneOf(chainOf(token)?.chainType ?? 'none', chainTypes)) return false;
    if (symbols && !isOneOf(token.symbol, symbols)) return false;
    if (isBridgeable !== undefined && token.isBridgeable !== isBridgeable) return false;
    if (isNative !== undefined && isNativeOf(chainOf(token), token) !== isNative) return false;
    if (hasPrice !== undefined && (price !== null) !== hasPrice) return false;
    if (minPriceUsd !== undefined && (price === null || price < minPriceUsd)) return false;
    return maxPriceUsd === undefined || (price !== null && price <= maxPriceUsd);
  });

  function relevance(token: Token, { words, byCurrency }: Interpretation): readonly number[] | undefined {
    const state = (token.isBridgeable ? 0 : 2) + (priceOf(token) === null ? 1 : 0);
    if (words.length === 0) return [state];
    const scores = words.map((word) => scoreOf(token, word, chainOf(token), byCurrency));
    if (scores.includes(Number.POSITIVE_INFINITY)) return undefined;
    const exact = scores.indexOf(0);
    const begun = scores.indexOf(1);
    const symbolMatch = exact >= 0 ? [0, exact] : begun >= 0 ? [1, begun] : [2, 0];
    return [...symbolMatch, state, scores.reduce((sum, score) => sum + score, 0)];
  }

  function keyOf(token: Token, ranks: readonly number[]): readonly (string | number)[] {
    const ties = [textKey(token.symbol), token.chainKey, foldAddress(token.address)];
    const price = priceOf(token);
    if (order === 'RELEVANCE') return [...ranks, ...ties];
    if (order === 'NAME') return [textKey(token.name), ...ties];
    if (order === 'SYMBOL') return ties;
    return [...priceKey(order, price), ...ties];
  }

  const interpretations = interpretationsOf(query);
  const blank = { words: [], byCurrency: false };
  for (const interpretation of interpretations.length > 0 ? interpretations : [blank]) {
    const found = candidates.flatMap((token) => {
      const ranks = relevance(token, interpretation);
      return ranks ? [{ token, key: keyOf(token, ranks) }] : [];
    });
    if (found.length > 0) {
      return found
        .toSorted((a, b) => compareKeys(a.key, b.key))
        .filter(({ key }) => !after || compareKeys(key, cursorKey(after)) > 0)
        .map(({ token }) => token);
    }
  }
  return [];
}

/** The sort key of a token in an order that is not by relevance. */
export function sortKeyOf(order: SortKey['order'], token: Token): SortKey {
  const value =
    order === 'SYMBOL' ? null : order === 'NAME' ? textKey(token.name) : (token.price?.usd ?? null);
  return { order, value, tieBreaker: [textKey(token.symbol), token.chainKey, foldAddress(token.address)] };
}

function cursorKey({ order, value, tieBreaker }: SortKey): readonly (string | number)[] {
  if (order === 'SYMBOL') return tieBreaker;
  if (order === 'NAME') return [String(value), ...tieBreaker];
  return [...priceKey(order, value === null ? null : Number(value)), ...tieBreaker];
}

/** Tokens without a price come last. */
function priceKey(order: SortKey['order'], price: number | null): readonly number[] {
  return price === null ? [1, 0] : [0, order === 'PRICE_ASC' ? price : -price];
}

function compareKeys(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (const [index, item] of a.entries()) {
    const other = b[index] ?? '';
    if (item !== other) return item < other ? -1 : 1;
  }
  return 0;
}

function textKey(text: string): string {
  return text.toLowerCase().slice(0, 64);
}

/** The best of all ways in which the word matches the token; infinite if it does not match. */
function scoreOf(token: Token, word: SearchWord, chain: Chain | undefined, byCurrency: boolean): number {
  const symbol = matchOf([wordsOf(token.symbol)], word);
  const name = matchOf(bothWays(token.name), word);
  const chainNames = [
    [wordsOf(token.chainKey)],
    ...(chain
      ? [chain.chainKey, chain.shortName, chain.name, ...nicknamesOf(chain.chainKey)].map(bothWays)
      : []),
  ].map((lines) => matchOf(lines, word));
  // A word of marks alone folds to nothing, and nothing is no symbol.
  const isSymbol = word.folded !== '' && foldText(token.symbol).trim() === word.folded;
  const isCurrency = byCurrency && chain && foldText(chain.nativeCurrency.symbol) === word.folded;
  const onChain = Math.min(...chainNames, isCurrency ? 0 : Number.POSITIVE_INFINITY);
  const isAddress = word.addresses.some((address) => foldAddress(address) === foldAddress(token.address));
  return Math.min(
    isSymbol ? 0 : symbol <= 1 ? 1 : symbol <= 4 ? 3 : symbol,
    isAddress ? 2 : Number.POSITIVE_INFINITY,
    4 + Math.max(name, 1),
    9 + 2 * onChain + (isNativePlaceholder(token.address) ? 0 : 1),
  );
}

const nicknamesOf = (chainKey: string) =>
  chainKey === 'bsc' ? ['Binance Smart Chain', 'BNB Smart Chain'] : [];

/** 0: the first word, 1: its start, 2: another word, 3: its start, 4: inside a word. */
function matchOf(lines: readonly (readonly string[])[], { letters }: SearchWord): number {
  const matches = lines.flatMap((words) =>
    words.map((word, nth) => {
      const later = nth === 0 ? 0 : 2;
      if (letters === '' || !word.includes(letters)) return Number.POSITIVE_INFINITY;
      if (word === letters) return later;
      return word.startsWith(letters) ? later + 1 : 4;
    }),
  );
  return Math.min(...matches, Number.POSITIVE_INFINITY);
}

/** A text as it is, and written as one word. */
function bothWays(text: string): readonly (readonly string[])[] {
  return [wordsOf(text), wordsOf(text.replace(/\s+/g, ''))];
}

/** The words of a text: their letters and digits, or all of a word that has none. */
function wordsOf(text: string): readonly string[] {
  return foldText(text)
    .split(/\s+/)
    .map((word) => word.replace(/[^\p{L}\p{N}]/gu, '') || word)
    .filter(Boolean);
}
