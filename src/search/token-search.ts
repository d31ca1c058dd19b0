/** Searches one token listing. */
import type { Token } from '../domain/listing.js';
import { orderOf, type Position, pageOf } from './orders.js';
import { blankRankOf, NO_SYMBOL_MATCH, rankOf, STATE, STATES, symbolMatchOf } from './ranks.js';
import { type Interpretation, interpretationsOf } from './text.js';
import { matcherOf, type TokenSearchFilter } from './token-filter.js';
import type { Places, TokenIndexes } from './token-indexes.js';
import type { SortKey, TokenOrder } from './token-order.js';
import { type KnownChains, NO_MATCH, scoresOf, type WordScores } from './word-scores.js';

export type { KnownChains };

export interface TokenSearchRequest {
  /** The query as a person types it; a blank query finds all tokens. */
  readonly query: string;
  readonly filter: TokenSearchFilter;
  readonly order: TokenOrder;
  /** Maximum size of the page. */
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
  return query.trim() !== '' || filter.chainTypes !== undefined || filter.isNative !== undefined;
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
  const { isBridgeable, staticRanks, nativeTwins } = indexes;
  const tokens = Array.from(indexes.rowAt, (row) => rows[row] as Token);
  const listedPrices = Float64Array.from(tokens, ({ price }) => price?.usd ?? Number.NaN);
  const all = tokens.map((_token, place) => place);
  const noPrices = new Float64Array(tokens.length).fill(Number.NaN);

  return (request, chains) => {
    const prices = request.pricesUsable ? listedPrices : noPrices;
    const matches = matcherOf(request.filter, { tokens, indexes, prices, chains });

    function matchesOf(interpretation: Interpretation): Matches {
      const scored = scoresOf(interpretation, indexes, chains);
      const matching = matchedByAll(scored, all);
      const found = matches ? matching.filter(matches) : matching;
      const namesSymbol = matching.some((place) => symbolMatchAt(scored, place) < NO_SYMBOL_MATCH);
      return { scored, found, namesSymbol };
    }

    const [asTyped = BLANK, ...looser] = interpretationsOf(request.query);
    const strict = matchesOf(asTyped);
    const loosely = looser.find(({ byCurrency }) => !byCurrency);
    const isSure = strict.namesSymbol && strict.found.length > 0;
    const loose = loosely && !isSure ? matchesOf(loosely) : strict;
    // "eth coin" does not mean a coin on Ethereum: if the words name a symbol only after filler words are dropped, the
    // loose interpretation comes first. The filter has no influence on this, so that it can only narrow the result.
    const inOrder = loose.namesSymbol && !strict.namesSymbol ? [loose, strict] : [strict, loose];
    const byCurrency = looser.at(-1);
    const best =
      inOrder.find(({ found }) => found.length > 0) ?? (byCurrency ? matchesOf(byCurrency) : strict);
    const { scored, found } = best;

    function stateAt(place: number): number {
      const isPriced = !Number.isNaN(prices[place]);
      return (isBridgeable[place] === 1 ? 0 : STATE.notBridgeable) + (isPriced ? 0 : STATE.notPriced);
    }

    function rankAt(place: number): number {
      // A native asset gets the best state of the tokens with its symbol on its chain, so that it comes before them.
      const twins = nativeTwins.get(place);
      const state = twins
        ? twins.reduce((least, twin) => Math.min(least, stateAt(twin)), STATES)
        : stateAt(place);
      const staticRank = staticRanks[place] ?? 0;
      if (scored.length === 0) return blankRankOf(state, staticRank);
      const sum = scored.reduce((total, { scores }) => total + (scores[place] ?? 0), 0);
      return rankOf(symbolMatchAt(scored, place), sum, state, staticRank);
    }

    const order = orderOf(request.order, { tokens, indexes, prices, rankAt });
    const { first, after } = request;
    const { picked, before } = pageOf(found, order.keyAt, first, after && order.positionAfter(after));
    return {
      tokens: picked.map(({ place }) => tokens[place] as Token),
      sortKeyOf: (index) => order.sortKeyOf(picked[index] as Position),
      totalCount: found.length,
      hasPrevious: before > 0,
      hasNext: before + picked.length < found.length,
    };
  };
}

/** The tokens that one interpretation finds. */
interface Matches {
  readonly scored: readonly WordScores[];
  /** The tokens that match it and the filter. */
  readonly found: Places;
  /** Whether a token that matches all words has a symbol match, even if the filter excludes it. */
  readonly namesSymbol: boolean;
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
