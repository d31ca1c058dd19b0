import type { Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { blankRankOf, NO_SYMBOL_MATCH, rankOf, STATE, symbolMatchOf } from './order/ranks.js';
import type { SortKey, TokenOrder } from './order/token-order.js';
import { orderOf } from './orders.js';
import { type Position, pageOf } from './page.js';
import { type Interpretation, interpretationsOf } from './text.js';
import { allowedTokens, type ChainsByKey, type TokenSearchFilter } from './token-filter.js';
import type { Places, TokenIndexes } from './token-indexes.js';
import { NO_MATCH, scoresOf, type WordScores } from './word-scores.js';

export interface TokenSearchRequest {
  /** As typed by a person; blank finds all. */
  readonly query: string;
  readonly filter: TokenSearchFilter;
  readonly order: TokenOrder;
  /** Maximum size of the page. */
  readonly first: number;
  /** Start after this position, which must be of the same order. */
  readonly after?: SortKey | undefined;
  /** False if the listing's prices are too old: the search then treats every token as having none. */
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

/** The chain listing as far as a search needs it. */
export interface KnownChains extends ChainNames, ChainsByKey {}

/** Whether the result of this request depends on the chain listing. */
export function needsChains({ query, filter }: Pick<TokenSearchRequest, 'query' | 'filter'>): boolean {
  return query.trim() !== '' || filter.chainTypes !== undefined || filter.isNative !== undefined;
}

/**
 * Searches one token listing. Pass the chains if {@link needsChains} and they are known. Without them, no token
 * has a chain type, and a token is native only if its address is the placeholder.
 *
 * @throws GatewayError BAD_USER_INPUT for a query of too many words
 */
export type TokenSearch = (request: TokenSearchRequest, chains: KnownChains | undefined) => TokenPage;

/** A query without words finds all. */
const BLANK: Interpretation = { words: [], byCurrency: false };

/** Makes the search of a listing. The rows may differ in prices from those that the indexes were made of. */
export function createTokenSearch(rows: readonly Token[], indexes: TokenIndexes): TokenSearch {
  const { isBridgeable, rarities } = indexes;
  const tokens = Array.from(indexes.rowAt, (row) => rows[row] as Token);
  const listedPrices = Float64Array.from(tokens, ({ price }) => price?.usd ?? Number.NaN);
  const all = tokens.map((_token, place) => place);
  const noPrices = new Float64Array(tokens.length).fill(Number.NaN);

  return (request, chains) => {
    const prices = request.pricesUsable ? listedPrices : noPrices;
    const allowed = allowedTokens(request.filter, { tokens, indexes, prices, chains });
    const interpretations = interpretationsOf(request.query);
    let scored: readonly WordScores[] = [];
    let found: Places = [];
    for (const { words, byCurrency } of interpretations.length > 0 ? interpretations : [BLANK]) {
      scored = words.map((word) => scoresOf(word, indexes, chains, byCurrency));
      found = matchedByAll(scored, all);
      if (allowed) found = found.filter((place) => allowed[place] === 1);
      if (found.length > 0) break;
    }

    function rankAt(place: number): number {
      const isPriced = !Number.isNaN(prices[place]);
      const state = (isBridgeable[place] === 1 ? 0 : STATE.notBridgeable) + (isPriced ? 0 : STATE.notPriced);
      const rarity = rarities[place] ?? 0;
      if (scored.length === 0) return blankRankOf(state, rarity);
      let symbolMatch: number = NO_SYMBOL_MATCH;
      let sum = 0;
      for (let nth = 0; nth < scored.length; nth++) {
        const score = scored[nth]?.scores[place] ?? 0;
        symbolMatch = Math.min(symbolMatch, symbolMatchOf(score, nth));
        sum += score;
      }
      return rankOf(symbolMatch, state, sum, rarity);
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

/** The places that all words match. @param all what no words match */
function matchedByAll(words: readonly WordScores[], all: Places): Places {
  const [fewest = all] = words.map(({ places }) => places).sort((a, b) => a.length - b.length);
  return words.reduce((found, { scores }) => found.filter((place) => scores[place] !== NO_MATCH), fewest);
}
