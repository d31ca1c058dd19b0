/** Searches one token listing: matches its words, applies the filter, and picks one page in an order. */
import { foldChainKey } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import {
  blankRankOf,
  chainShift,
  NO_SYMBOL_MATCH,
  ownRankOf,
  rankOf,
  stateOf,
  symbolMatchOf,
} from './ranks.js';
import { foldSymbol, type Interpretation, interpretationsOf } from './text.js';
import { type ChainsByKey, nativesOn, type Places, type TokenIndexes } from './token-indexes.js';
import {
  compareTieBreakers,
  firstIndex,
  type SortKey,
  type TokenOrder,
  textKey,
  tieBreakerOf,
} from './token-order.js';
import { type KnownChains, NO_MATCH, scoresOf, type WordScores } from './word-scores.js';

export interface TokenSearchRequest {
  /** As a person types it; a blank query finds all tokens. */
  readonly query: string;
  readonly filter: TokenSearchFilter;
  readonly order: TokenOrder;
  readonly first: number;
  /** The page starts after this position, which must belong to the same order. */
  readonly after?: SortKey | undefined;
  /** False if the listing's prices are too old: the search then treats all tokens as unpriced. */
  readonly pricesUsable: boolean;
}

/** Whether the result of this request depends on the chain listing. */
export function needsChains({ query, filter }: Pick<TokenSearchRequest, 'query' | 'filter'>): boolean {
  return query.trim() !== '' || filter.chainTypes != null || filter.isNative != null;
}

/**
 * Without chains, no token has a chain type, and a token is native only if its address is the placeholder.
 *
 * @throws GatewayError BAD_USER_INPUT for a query with too many words
 */
export type TokenSearch = ReturnType<typeof createTokenSearch>;
export type TokenPage = ReturnType<TokenSearch>;

/** The interpretation of a query without words, which finds all tokens. */
const BLANK: Interpretation = { words: [], byCurrency: false };

/** Makes the search of a listing. The rows may have other prices than the rows that were indexed. */
export function createTokenSearch(rows: readonly Token[], indexes: TokenIndexes) {
  const tokens = Array.from(indexes.rowAt, (row) => rows[row] as Token);
  const all = tokens.map((_token, place) => place);
  const listed = pricedTokens(tokens, indexes, ({ price }) => price?.usd ?? Number.NaN);
  /** Made when first needed: while prices are too old. */
  let unpriced: typeof listed | undefined;
  /** Made when first needed: few searches sort by name. */
  let names: readonly string[] | undefined;

  function nameAt(place: number): string {
    names ??= tokens.map(({ name }) => textKey(name));
    return names[place] ?? '';
  }

  return (request: TokenSearchRequest, chains: KnownChains | undefined) => {
    const { query, filter, order, first, after, pricesUsable } = request;
    if (!pricesUsable) unpriced ??= pricedTokens(tokens, indexes, () => Number.NaN);
    const { prices, ownRanks } = unpriced && !pricesUsable ? unpriced : listed;
    const matches = matcherOf(filter, tokens, prices, indexes, chains);

    function matchesOf(interpretation: Interpretation): Matches {
      const scored = scoresOf(interpretation, tokens, indexes, chains);
      const matching = matchedByAll(scored, all);
      return { scored, matching, found: matches ? matching.filter(matches) : matching };
    }

    const { scored, matching, found } = bestMatches(interpretationsOf(query), matchesOf);

    function rankAt(place: number): number {
      const ownRank = ownRanks[place] ?? 0;
      if (scored.length === 0) return blankRankOf(ownRank);
      let sum = 0;
      for (const { scores } of scored) sum += scores[place] ?? 0;
      return rankOf(symbolMatchAt(scored, place), sum, ownRank);
    }

    const { keyAt, cursorValue, keyOf } = scaleOf(order, prices, nameAt, rankAt);
    const isSeen = after && seenBy(after, keyOf, tokens, indexes);
    const { picked, before } = pageOf(found, keyAt, first, isSeen);
    return {
      tokens: picked.map(({ place }) => tokens[place] as Token),
      /** The sort key of the token at this index of the page. */
      sortKeyOf(index: number): SortKey {
        const { key, place } = picked[index] as Position;
        return { order, value: cursorValue(key), tieBreaker: tieBreakerOf(tokens[place] as Token) };
      },
      /** On all pages together. */
      totalCount: found.length,
      /** Whether the query finds tokens, but the filter hides all of them. */
      isHidden: found.length === 0 && matching.length > 0,
      hasPrevious: before > 0,
      hasNext: before + picked.length < found.length,
    };
  };
}

/** The prices of tokens (NaN for none), and the parts of their ranks that do not depend on the query, by place. */
function pricedTokens(
  tokens: readonly Token[],
  { staticRanks, nativeTwins }: TokenIndexes,
  priceOf: (token: Token) => number,
) {
  const prices = Float64Array.from(tokens, priceOf);
  const states = Uint8Array.from(tokens, ({ isBridgeable }, place) =>
    stateOf(isBridgeable, !Number.isNaN(prices[place])),
  );
  // Of the tokens with one symbol on one chain, the native asset comes first: it gets the best state of these tokens.
  for (const [native, twins] of nativeTwins) {
    states[native] = twins.reduce((least, twin) => Math.min(least, states[twin] ?? 0), states[native] ?? 0);
  }
  return {
    prices,
    ownRanks: Float64Array.from(states, (state, place) => ownRankOf(state, staticRanks[place] ?? 0)),
  };
}

/** `matching`: the tokens that match all words of an interpretation. `found`: those that also match the filter. */
interface Matches {
  readonly scored: readonly WordScores[];
  readonly matching: Places;
  readonly found: Places;
}

/** The first interpretation that finds tokens. */
function bestMatches(
  [asTyped = BLANK, ...looser]: readonly Interpretation[],
  matchesOf: (interpretation: Interpretation) => Matches,
): Matches {
  const strict = matchesOf(asTyped);
  const loosely = looser.find(({ byCurrency }) => !byCurrency);
  let inOrder = [strict];
  if (loosely && !(strict.found.length > 0 && namesSymbol(strict))) {
    const loose = matchesOf(loosely);
    // "eth coin" does not mean a coin on Ethereum: if the words name a symbol only without filler words, the loose
    // interpretation comes first. The filter has no influence on this order.
    inOrder = namesSymbol(loose) && !namesSymbol(strict) ? [loose, strict] : [strict, loose];
  }
  const byCurrency = looser.at(-1);
  // If the filter hides ETH, "eth zksync" does not mean the other tokens of the chain, as "eth" alone may.
  const hidden =
    byCurrency?.words.length === 1 ? undefined : inOrder.find(({ matching }) => matching.length > 0);
  const best = inOrder.find(({ found }) => found.length > 0) ?? hidden;
  return best ?? (byCurrency ? matchesOf(byCurrency) : strict);
}

function namesSymbol({ scored, matching }: Matches): boolean {
  return matching.some((place) => symbolMatchAt(scored, place) < NO_SYMBOL_MATCH);
}

/** The best {@link symbolMatchOf} of a token. */
function symbolMatchAt(scored: readonly WordScores[], place: number): number {
  let best: number = NO_SYMBOL_MATCH;
  for (let nth = 0; nth < scored.length; nth++) {
    best = Math.min(best, symbolMatchOf(scored[nth]?.scores[place] ?? NO_MATCH, nth));
  }
  return best;
}

/** @param all all places: the result if there are no words */
function matchedByAll(words: readonly WordScores[], all: Places): Places {
  const [fewest = all] = words.map(({ places }) => places).sort((a, b) => a.length - b.length);
  return words.reduce((found, { scores }) => found.filter((place) => scores[place] !== NO_MATCH), fewest);
}

/** The values that an order sorts by, ascending: all numbers or all texts. */
type Key = number | string;

/** The keys of an order, and their conversion to and from the values of cursors. */
interface Scale {
  keyAt(place: number): Key;
  cursorValue(key: Key): SortKey['value'];
  keyOf(value: SortKey['value']): Key;
}

function scaleOf(
  order: TokenOrder,
  prices: Float64Array,
  nameAt: (place: number) => string,
  rankAt: (place: number) => number,
): Scale {
  if (order === 'RELEVANCE') return { keyAt: rankAt, cursorValue: (key) => key, keyOf: Number };
  if (order === 'SYMBOL') return { keyAt: () => 0, cursorValue: () => null, keyOf: () => 0 };
  if (order === 'NAME') return { keyAt: nameAt, cursorValue: (key) => key, keyOf: String };
  const sign = order === 'PRICE_ASC' ? 1 : -1;
  // A token without a price comes last in both directions.
  const keyOf = (price: number) => (Number.isNaN(price) ? Number.POSITIVE_INFINITY : sign * price);
  return {
    keyAt: (place) => keyOf(prices[place] ?? Number.NaN),
    cursorValue: (key) => (key === Number.POSITIVE_INFINITY ? null : sign * Number(key)),
    keyOf: (value) => keyOf(Number(value ?? Number.NaN)),
  };
}

/** Makes the function that says whether a token is on the page of this cursor, or on an earlier page. */
function seenBy(
  { order, value, tieBreaker }: SortKey,
  keyOf: Scale['keyOf'],
  tokens: readonly Token[],
  { chains }: TokenIndexes,
): (key: Key, place: number) => boolean {
  const isAfter = (place: number) => compareTieBreakers(tieBreakerOf(tokens[place] as Token), tieBreaker) > 0;
  const end = { key: keyOf(value), place: firstIndex(tokens.length, isAfter) };
  const [, chainKey] = tieBreaker;
  const shift = order === 'RELEVANCE' ? chainShift(Number(value), chains.get(chainKey)?.bridgeable ?? 0) : 0;
  const hasMoved = (place: number) => shift !== 0 && tokens[place]?.chainKey === chainKey;
  return (key, place) => isBefore(hasMoved(place) ? Number(key) - shift : key, place, end);
}

/** A position in an order: by key, and then by place. */
interface Position {
  readonly key: Key;
  readonly place: number;
}

/** The first `size` tokens that are not seen yet, in their order. `before`: how many are seen. */
function pageOf(
  places: readonly number[],
  keyAt: Scale['keyAt'],
  size: number,
  isSeen: (key: Key, place: number) => boolean = () => false,
): { readonly picked: readonly Position[]; readonly before: number } {
  const picked: Position[] = [];
  let before = 0;
  for (const place of places) {
    const key = keyAt(place);
    const last = picked[size - 1];
    if (isSeen(key, place)) before++;
    else if (!last || isBefore(key, place, last)) {
      const index = firstIndex(picked.length, (at) => isBefore(key, place, picked[at] as Position));
      picked.splice(index, 0, { key, place });
      if (last) picked.pop();
    }
  }
  return { picked, before };
}

function isBefore(key: Key, place: number, position: Position): boolean {
  return key < position.key || (key === position.key && place < position.place);
}

/** A condition that is null or omitted matches everything. */
export interface TokenSearchFilter {
  /** Keys and types of chains, in any letter case. */
  readonly chainKeys?: readonly string[] | null | undefined;
  readonly chainTypes?: readonly string[] | null | undefined;
  /** Symbols as a person types them. */
  readonly symbols?: readonly string[] | null | undefined;
  readonly isBridgeable?: boolean | null | undefined;
  readonly isNative?: boolean | null | undefined;
  readonly hasPrice?: boolean | null | undefined;
  readonly minPriceUsd?: number | null | undefined;
  readonly maxPriceUsd?: number | null | undefined;
  /** Only these tokens match. The tokens must be the row objects of the listing that is searched. */
  readonly reachable?: ReadonlySet<Token> | undefined;
}

/** The test of a token by its place; undefined without a condition. */
function matcherOf(
  filter: TokenSearchFilter,
  tokens: readonly Token[],
  prices: Float64Array,
  indexes: TokenIndexes,
  chains: ChainsByKey | undefined,
): ((place: number) => boolean) | undefined {
  if (Object.values(filter).every((condition) => condition == null)) return undefined;
  const { symbols, chainKeys, chainTypes, isBridgeable, isNative, hasPrice, reachable } = filter;
  const min = filter.minPriceUsd ?? Number.NEGATIVE_INFINITY;
  const max = filter.maxPriceUsd ?? Number.POSITIVE_INFINITY;
  const needsPrice = filter.minPriceUsd != null || filter.maxPriceUsd != null;
  // Each condition marks its tokens in an array. Testing the texts of each found token, often thousands, is slower.
  const marked = (lists: readonly (Places | undefined)[]) => {
    const marks = new Uint8Array(prices.length);
    for (const places of lists) for (const place of places ?? []) marks[place] = 1;
    return marks;
  };
  const allKeys = () => [...indexes.chains.keys()];
  // Distinct: otherwise a key that is given 500 times would mark its tokens 500 times.
  const on = (keys: readonly string[]) =>
    marked([...new Set(keys)].map((key) => indexes.chains.get(key)?.all));
  const types = chainTypes && new Set<string | undefined>(chainTypes.map((type) => type.toLowerCase()));
  const onChain = chainKeys && on(chainKeys.map(foldChainKey));
  const ofType = types && on(allKeys().filter((key) => types.has(chains?.byKey(key)?.chainType)));
  const ofSymbol =
    symbols && marked([...new Set(symbols.map(foldSymbol))].map((symbol) => indexes.symbols.get(symbol)));
  const natives =
    isNative == null ? undefined : marked(allKeys().map((key) => nativesOn(key, indexes, chains)));
  return (place) => {
    const price = prices[place] ?? Number.NaN;
    return (
      (!onChain || onChain[place] === 1) &&
      (!ofType || ofType[place] === 1) &&
      (!ofSymbol || ofSymbol[place] === 1) &&
      (!natives || natives[place] === Number(isNative)) &&
      (isBridgeable == null || tokens[place]?.isBridgeable === isBridgeable) &&
      (hasPrice == null || Number.isNaN(price) !== hasPrice) &&
      (!reachable || reachable.has(tokens[place] as Token)) &&
      (!needsPrice || (price >= min && price <= max))
    );
  };
}
