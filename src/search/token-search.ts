/** Searches one token listing. */
import type { Token } from '../domain/listing.js';
import { orderOf, type Position, pageOf } from './orders.js';
import { blankRankOf, NO_SYMBOL_MATCH, ownRankOf, rankOf, stateOf, symbolMatchOf } from './ranks.js';
import { type Interpretation, interpretationsOf } from './text.js';
import { matcherOf, type TokenSearchFilter } from './token-filter.js';
import type { Places, TokenIndexes } from './token-indexes.js';
import type { SortKey, TokenOrder } from './token-order.js';
import { type KnownChains, NO_MATCH, scoresOf, type WordScores } from './word-scores.js';

export type { KnownChains };

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

/** One page of the tokens found. */
export interface TokenPage {
  readonly tokens: readonly Token[];
  /** The sort key of the token at this index of the page. */
  sortKeyOf(index: number): SortKey;
  /** Number of tokens found, on all pages together. */
  readonly totalCount: number;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

/** Whether the result of this request depends on the chain listing. */
export function needsChains({ query, filter }: Pick<TokenSearchRequest, 'query' | 'filter'>): boolean {
  return query.trim() !== '' || filter.chainTypes != null || filter.isNative != null;
}

/**
 * Searches one token listing. Pass the chains if they are known and {@link needsChains} is true. Without chains, no
 * token has a chain type, and a token is native only if its address is the placeholder.
 *
 * @throws GatewayError BAD_USER_INPUT for a query with too many words
 */
export type TokenSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => TokenPage;

/** The interpretation of a query without words, which finds all tokens. */
const BLANK: Interpretation = { words: [], byCurrency: false };

/** Makes the search of a listing. The rows may have other prices than the rows that were indexed. */
export function createTokenSearch(rows: readonly Token[], indexes: TokenIndexes): TokenSearch {
  const tokens = Array.from(indexes.rowAt, (row) => rows[row] as Token);
  const all = tokens.map((_token, place) => place);
  const listed = pricedTokens(tokens, indexes, ({ price }) => price?.usd ?? Number.NaN);
  /** The tokens without their prices. Made when first needed: while prices are too old. */
  let unpriced: typeof listed | undefined;

  return ({ query, filter, order: orderBy, first, after, pricesUsable }, chains) => {
    if (!pricesUsable) unpriced ??= pricedTokens(tokens, indexes, () => Number.NaN);
    const { prices, ownRanks } = unpriced && !pricesUsable ? unpriced : listed;
    const matches = matcherOf(filter, tokens, prices, indexes, chains);

    function matchesOf(interpretation: Interpretation): Matches {
      const scored = scoresOf(interpretation, indexes, chains);
      const matching = matchedByAll(scored, all);
      return { scored, matching, found: matches ? matching.filter(matches) : matching };
    }

    const { scored, found } = bestMatches(interpretationsOf(query), matchesOf);

    function rankAt(place: number): number {
      const ownRank = ownRanks[place] ?? 0;
      if (scored.length === 0) return blankRankOf(ownRank);
      let sum = 0;
      for (const { scores } of scored) sum += scores[place] ?? 0;
      return rankOf(symbolMatchAt(scored, place), sum, ownRank);
    }

    const order = orderOf(orderBy, { tokens, indexes, prices, rankAt });
    const { picked, before } = pageOf(found, order.keyAt, first, after && order.isSeenBy(after));
    return {
      tokens: picked.map(({ place }) => tokens[place] as Token),
      sortKeyOf: (index) => order.sortKeyOf(picked[index] as Position),
      totalCount: found.length,
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

/** The matches of the first interpretation that finds anything, with one exception. */
function bestMatches(
  [asTyped = BLANK, ...looser]: readonly Interpretation[],
  matchesOf: (interpretation: Interpretation) => Matches,
): Matches {
  const strict = matchesOf(asTyped);
  const loosely = looser.find(({ byCurrency }) => !byCurrency);
  let inOrder = [strict];
  if (loosely && !(strict.found.length > 0 && namesSymbol(strict))) {
    const loose = matchesOf(loosely);
    // "eth coin" does not mean a coin on Ethereum: if the words name a symbol only after filler words are dropped, the
    // loose interpretation comes first. The filter has no influence on this order.
    inOrder = namesSymbol(loose) && !namesSymbol(strict) ? [loose, strict] : [strict, loose];
  }
  const byCurrency = looser.at(-1);
  return inOrder.find(({ found }) => found.length > 0) ?? (byCurrency ? matchesOf(byCurrency) : strict);
}

/** Whether any of the matching tokens has a symbol match: see `symbolMatchOf`. */
function namesSymbol({ scored, matching }: Matches): boolean {
  return matching.some((place) => symbolMatchAt(scored, place) < NO_SYMBOL_MATCH);
}

/** The best symbol match of a token. */
function symbolMatchAt(scored: readonly WordScores[], place: number): number {
  let best: number = NO_SYMBOL_MATCH;
  for (let nth = 0; nth < scored.length; nth++) {
    best = Math.min(best, symbolMatchOf(scored[nth]?.scores[place] ?? NO_MATCH, nth));
  }
  return best;
}

/** The {@link Places} of the tokens that match all words. @param all all places: the result if there are no words */
function matchedByAll(words: readonly WordScores[], all: Places): Places {
  const [fewest = all] = words.map(({ places }) => places).sort((a, b) => a.length - b.length);
  return words.reduce((found, { scores }) => found.filter((place) => scores[place] !== NO_MATCH), fewest);
}
