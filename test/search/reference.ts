import { foldAddress, isNativeOf, isNativePlaceholder } from '../../src/domain/addresses.js';
import { foldText } from '../../src/domain/fold-text.js';
import { groupBy } from '../../src/domain/keyed-rows.js';
import type { Chain, Token } from '../../src/domain/listing.js';
import type { SortKey } from '../../src/search/order/token-order.js';
import { type Interpretation, interpretationsOf, type SearchWord } from '../../src/search/text.js';
import type { TokenSearchRequest } from '../../src/search/token-search.js';

/**
 * A reference implementation of the token search, as simple as possible: it checks each token, keeps the matches, and
 * sorts them. The indexed search must find the same.
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
  const frequencyClass = (count: number) => (count === 0 ? 0 : -1 - Math.floor(Math.log2(count)));
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
  const countOnChain = ({ chainKey }: Token) => -(bridgeable.get(chainKey) ?? 0);
  const bySymbolAndChain = groupBy(tokens, ({ symbol, chainKey }) => `${foldSymbol(symbol)} on ${chainKey}`);
  /** The tokens with this symbol on this chain, if one of them has the placeholder of native assets as its address. */
  const twinsOf = ({ symbol, chainKey }: Token) => {
    const twins = bySymbolAndChain.get(`${foldSymbol(symbol)} on ${chainKey}`) ?? [];
    return twins.some(({ address }) => isNativePlaceholder(address)) ? twins : [];
  };
  const stateOf = (token: Token) => (token.isBridgeable ? 0 : 2) + (priceOf(token) === null ? 1 : 0);
  const frequencyClassOfSymbol = ({ symbol }: Token) => frequencyClass(listedOn.get(foldSymbol(symbol)) ?? 0);

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
    const isNative = isNativePlaceholder(token.address);
    const twins = twinsOf(token);
    const state = Math.min(stateOf(token), ...(isNative ? twins.map(stateOf) : []));
    const isTwin = twins.length > 1 && !isNative ? 1 : 0;
    if (words.length === 0) return [frequencyClassOfSymbol(token), state, countOnChain(token), isTwin];
    const named = wordsOfName(token, words);
    const scores = words.map((word, nth) =>
      Math.min(
        scoreOf(token, word, chainOf(token), byCurrency),
        named.has(nth) ? 1 : Number.POSITIVE_INFINITY,
      ),
    );
    if (scores.includes(Number.POSITIVE_INFINITY)) return undefined;
    const best = Math.min(...scores, 3);
    const symbolMatch = best < 3 ? [best, scores.indexOf(best)] : [3, 0];
    const sum = scores.reduce((total, score) => total + score, 0);
    return [...symbolMatch, sum, state, countOnChain(token), frequencyClassOfSymbol(token), isTwin];
  }

  function keyOf(token: Token, ranks: readonly number[]): readonly (string | number)[] {
    const ties = [textKey(token.symbol), token.chainKey, foldAddress(token.address)];
    const price = priceOf(token);
    if (order === 'RELEVANCE') return [...ranks, ...ties];
    if (order === 'NAME') return [textKey(token.name), ...ties];
    if (order === 'SYMBOL') return ties;
    return [...priceKey(order, price), ...ties];
  }

  const foundBy = (interpretation: Interpretation, among: readonly Token[] = candidates) =>
    among.flatMap((token) => {
      const ranks = relevance(token, interpretation);
      return ranks ? [{ token, ranks }] : [];
    });
  const namesSymbol = (interpretation: Interpretation) =>
    foundBy(interpretation, tokens).some(({ ranks: [symbolMatch = 3] }) => symbolMatch < 3);
  const [strict, ...looser] = interpretationsOf(query);
  const [loose] = looser;
  const isLoose = strict && loose && !loose.byCurrency && !namesSymbol(strict) && namesSymbol(loose);
  const inOrder = isLoose ? [loose, strict, ...looser.slice(1)] : strict ? [strict, ...looser] : [];
  const found = strict
    ? (inOrder.map((interpretation) => foundBy(interpretation)).find(({ length }) => length > 0) ?? [])
    : foundBy({ words: [], byCurrency: false });
  return found
    .map(({ token, ranks }) => ({ token, key: keyOf(token, ranks) }))
    .toSorted((a, b) => compareKeys(a.key, b.key))
    .filter(({ key }) => !after || compareKeys(key, cursorKey(after)) > 0)
    .map(({ token }) => token);
}

/** The words that, with their neighbours, are the whole name of the token. */
function wordsOfName({ name }: Token, words: readonly SearchWord[]): ReadonlySet<number> {
  const runs = knownRuns.get(words) ?? runsOf(words);
  knownRuns.set(words, runs);
  return runs.get(symbolWordsOf(name.replace(/\s+/g, '')).flat().join('')) ?? NO_WORDS;
}

const NO_WORDS: ReadonlySet<number> = new Set();
const knownRuns = new WeakMap<readonly SearchWord[], ReadonlyMap<string, ReadonlySet<number>>>();

/** Sequences of neighbouring words of a query, by their joined letters. */
function runsOf(words: readonly SearchWord[]): ReadonlyMap<string, ReadonlySet<number>> {
  const runs = new Map<string, Set<number>>();
  for (const [start] of words.entries()) {
    for (let end = start + 1; end <= words.length; end++) {
      const run = words.slice(start, end).map(({ letters }) => letters);
      if (run.includes('')) continue;
      const members = runs.get(run.join('')) ?? new Set();
      for (let nth = start; nth < end; nth++) members.add(nth);
      runs.set(run.join(''), members);
    }
  }
  return runs;
}

/** The number of distinct items in each group of tokens. */
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

/** The sort key of a token in all orders except relevance. */
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

/** Sorts tokens without a price last. */
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

/** The best score of a word for a token; infinite if it does not match. */
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
    isAddress || isStart ? 3 : Number.POSITIVE_INFINITY,
    chainScoreOf(token, word, chain, byCurrency),
    word.identifier ? Number.POSITIVE_INFINITY : textScoreOf(token, word),
  );
}

function textScoreOf(token: Token, word: SearchWord): number {
  const symbol = matchOf([symbolWordsOf(token.symbol)], word, 'inside');
  const name = matchOf(bothWays(token.name), word);
  // A word of punctuation can fold to an empty text, which must not match a symbol.
  const isSymbol = word.folded !== '' && foldSymbol(token.symbol) === word.folded;
  return Math.min(isSymbol ? 0 : symbol <= 1 ? 2 : symbol <= 4 ? 6 : symbol, 7 + Math.max(name, 1));
}

function chainScoreOf(token: Token, word: SearchWord, chain: Chain | undefined, byCurrency: boolean): number {
  const notNative = isNativeOf(chain, token) ? 0 : 1;
  const caip2 = caip2Of(chain);
  if (word.identifier) {
    const isMeant = caip2 !== undefined && caip2 === word.identifier.caip2;
    return isMeant ? 4 + notNative : Number.POSITIVE_INFINITY;
  }
  if (chain && [String(chain.chainId), caip2].includes(word.folded)) return 4 + notNative;
  if (byCurrency && chain && foldSymbol(chain.nativeCurrency.symbol) === word.folded) return 4 + notNative;
  const names = chain
    ? [chain.chainKey, chain.shortName, chain.name, ...nicknamesOf(chain.chainKey)].map(bothWays)
    : [];
  const match = Math.min(...[[symbolWordsOf(token.chainKey)], ...names].map((lines) => matchOf(lines, word)));
  return match === 0 ? 4 + notNative : 11 + 2 * (match - 1) + notNative;
}

const nicknamesOf = (chainKey: string) =>
  ({ bsc: ['Binance Smart Chain', 'BNB Smart Chain', 'BEP20'], tron: ['TRC20'] })[chainKey] ?? [];

const caip2Of = (chain: Chain | undefined) =>
  chain?.chainType === 'evm' ? `eip155:${chain.chainId}` : undefined;

/** Matches may begin at this many letters of a symbol, or parts of a name. */
const MAX_STARTS = 32;

/**
 * The match of letters in a text. 0: the first word, 1: its start, 2: another word, 3: its start; in symbols also 4:
 * inside a word. Words are given as parts: a match starts at a part, and at the first part it may span all words.
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

/** A name, and the name written as one word. */
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

const foldSymbol = remembered((symbol) => foldText(symbol).trim());

/** Memoizes a function of a text, which the search calls for every word of every query. */
function remembered<Made>(make: (text: string) => Made) {
  const known = new Map<string, Made>();
  return (text: string) => {
    const made = known.get(text) ?? make(text);
    known.set(text, made);
    return made;
  };
}
