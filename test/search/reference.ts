import { foldAddress, isNativeOf, isNativePlaceholder } from '../../src/domain/addresses.js';
import { foldText } from '../../src/domain/fold-text.js';
import type { Chain, Token } from '../../src/domain/listing.js';
import type { SortKey } from '../../src/search/order/token-order.js';
import { type Interpretation, interpretationsOf, type SearchWord } from '../../src/search/text.js';
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
  /** The larger the count, the smaller the number; it changes where a count crosses a power of two. */
  const rarity = (count: number) => (count === 0 ? 0 : -1 - Math.floor(Math.log2(count)));
  const bridgeable = groupSizes(
    tokens.filter(({ isBridgeable }) => isBridgeable),
    ({ chainKey }) => chainKey,
    ({ address }) => foldAddress(address),
  );
  const listedOn = groupSizes(
    tokens,
    ({ symbol }) => foldSymbol(symbol),
    ({ chainKey }) => chainKey,
  );
  const rarityOfChain = ({ chainKey }: Token) => rarity(bridgeable.get(chainKey) ?? 0);
  const rarityOfSymbol = ({ symbol }: Token) => rarity(listedOn.get(foldSymbol(symbol)) ?? 0);

  const candidates = tokens.filter((token) => {
    const price = priceOf(token);
    const { chainKeys, chainTypes, symbols, isBridgeable, isNative, hasPrice, minPriceUsd, maxPriceUsd } =
      filter;
    if (chainKeys && !chainKeys.includes(token.chainKey)) return false;
    if (chainTypes && !isOneOf(chainOf(token)?.chainType ?? 'none', chainTypes)) return false;
    if (symbols && !symbols.map(foldSymbol).includes(foldSymbol(token.symbol))) return false;
    if (isBridgeable !== undefined && token.isBridgeable !== isBridgeable) return false;
    if (isNative !== undefined && isNativeOf(chainOf(token), token) !== isNative) return false;
    if (hasPrice !== undefined && (price !== null) !== hasPrice) return false;
    if (minPriceUsd !== undefined && (price === null || price < minPriceUsd)) return false;
    return maxPriceUsd === undefined || (price !== null && price <= maxPriceUsd);
  });

  function relevance(token: Token, { words, byCurrency }: Interpretation): readonly number[] | undefined {
    const state = (token.isBridgeable ? 0 : 2) + (priceOf(token) === null ? 1 : 0);
    if (words.length === 0) return [rarityOfSymbol(token), state, rarityOfChain(token)];
    const scores = words.map((word) => scoreOf(token, word, chainOf(token), byCurrency));
    if (scores.includes(Number.POSITIVE_INFINITY)) return undefined;
    const exact = scores.indexOf(0);
    const begun = scores.indexOf(1);
    const symbolMatch = exact >= 0 ? [0, exact] : begun >= 0 ? [1, begun] : [2, 0];
    const sum = scores.reduce((total, score) => total + score, 0);
    return [...symbolMatch, state, sum, rarityOfChain(token), rarityOfSymbol(token)];
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

/** How many different items the tokens of each group have. */
function groupSizes(
  tokens: readonly Token[],
  groupOf: (token: Token) => string,
  itemOf: (token: Token) => string,
): ReadonlyMap<string, number> {
  const groups = new Map<string, Set<string>>();
  for (const token of tokens) {
    const group = groups.get(groupOf(token)) ?? new Set();
    groups.set(groupOf(token), group.add(itemOf(token)));
  }
  return new Map([...groups].map(([group, items]) => [group, items.size]));
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
  const address = foldAddress(token.address);
  const { addressOn, addressStart, addressEnd = '' } = word.identifier ?? {};
  const isAddress =
    word.addresses.some((typed) => foldAddress(typed) === address) &&
    (addressOn === undefined || addressOn === caip2Of(chain));
  const isStart =
    addressStart !== undefined &&
    address.toLowerCase().startsWith(addressStart) &&
    address.toLowerCase().endsWith(addressEnd);
  return Math.min(
    isAddress || isStart ? 2 : Number.POSITIVE_INFINITY,
    chainScoreOf(token, word, chain, byCurrency),
    word.identifier ? Number.POSITIVE_INFINITY : textScoreOf(token, word),
  );
}

function textScoreOf(token: Token, word: SearchWord): number {
  const symbol = matchOf([symbolWordsOf(token.symbol)], word, 'inside');
  const name = matchOf(bothWays(token.name), word);
  // A word of marks alone folds to nothing, and nothing is no symbol.
  const isSymbol = word.folded !== '' && foldSymbol(token.symbol) === word.folded;
  return Math.min(isSymbol ? 0 : symbol <= 1 ? 1 : symbol <= 4 ? 5 : symbol, 6 + Math.max(name, 1));
}

function chainScoreOf(token: Token, word: SearchWord, chain: Chain | undefined, byCurrency: boolean): number {
  const notNative = isNativePlaceholder(token.address) ? 0 : 1;
  const caip2 = caip2Of(chain);
  if (word.identifier) {
    const isMeant = caip2 !== undefined && caip2 === word.identifier.caip2;
    return isMeant ? 3 + notNative : Number.POSITIVE_INFINITY;
  }
  if (chain && [String(chain.chainId), caip2].includes(word.folded)) return 3 + notNative;
  if (byCurrency && chain && foldSymbol(chain.nativeCurrency.symbol) === word.folded) return 3 + notNative;
  const names = chain
    ? [chain.chainKey, chain.shortName, chain.name, ...nicknamesOf(chain.chainKey)].map(bothWays)
    : [];
  const match = Math.min(...[[symbolWordsOf(token.chainKey)], ...names].map((lines) => matchOf(lines, word)));
  return match === 0 ? 3 + notNative : 10 + 2 * (match - 1) + notNative;
}

const nicknamesOf = (chainKey: string) =>
  chainKey === 'bsc' ? ['Binance Smart Chain', 'BNB Smart Chain'] : [];

const caip2Of = (chain: Chain | undefined) =>
  chain?.chainType === 'evm' ? `eip155:${chain.chainId}` : undefined;

/** In so many letters of a symbol, and parts of a name, a match may begin. */
const MAX_STARTS = 32;

/**
 * 0: the first word, 1: its start, 2: another word, 3: its start; in symbols also 4: inside a word. A word is given in
 * its parts, and letters may start at each, or span all words of a line if they start the first.
 */
function matchOf(
  lines: readonly (readonly (readonly string[])[])[],
  { letters }: SearchWord,
  inside?: 'inside',
): number {
  if (letters === '') return Number.POSITIVE_INFINITY;
  const matches = lines.flatMap((words) =>
    words.flatMap((parts, nth) => {
      const word = parts.join('');
      const later = nth === 0 ? 0 : 2;
      const before = words.slice(0, nth).flat();
      const left = MAX_STARTS - (inside ? before.join('') : before).length;
      return parts.slice(0, Math.max(0, left)).map((_part, from) => {
        const rest = parts.slice(from).join('');
        if (rest === letters) return from === 0 ? later : 2;
        if (rest.startsWith(letters)) return from === 0 ? later + 1 : 3;
        const isInside = inside && word.slice(0, left - 1 + letters.length).includes(letters);
        return isInside ? 4 : Number.POSITIVE_INFINITY;
      });
    }),
  );
  return Math.min(...matches, Number.POSITIVE_INFINITY);
}

/** A name as it is, and written as one word. */
function bothWays(name: string): readonly (readonly (readonly string[])[])[] {
  return [partsOfWords(name), symbolWordsOf(name.replace(/\s+/g, ''))];
}

/** The words of a name, each in the parts that begin behind punctuation and at capitals. */
const partsOfWords = remembered((name) =>
  foldText(name.replace(/(\p{Ll})(?=\p{Lu})/gu, '$1\u0001'))
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const parts = word.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
      return parts.length > 0 ? parts : [word];
    }),
);

/** The words of a symbol: their letters and digits, or all of a word that has none. */
const symbolWordsOf = remembered((text) =>
  foldText(text)
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => [word.replace(/[^\p{L}\p{N}]/gu, '') || word]),
);

const foldSymbol = (symbol: string) => foldText(symbol).trim();

/** Computes the words of each text once: the search asks for them with every word of every query. */
function remembered(wordsOf: (text: string) => readonly (readonly string[])[]) {
  const known = new Map<string, readonly (readonly string[])[]>();
  return (text: string) => {
    const words = known.get(text) ?? wordsOf(text);
    known.set(text, words);
    return words;
  };
}
