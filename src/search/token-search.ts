import type { Token } from '../domain/listing.js';
import { runInSteps, type Steps } from '../scheduling/chunks.js';
import type { ChainNames } from './chain-names.js';
import { NO_SYMBOL_MATCH } from './order/ranks.js';
import type { SortKey, TokenOrder } from './order/token-order.js';
import { createOrders } from './orders.js';
import { pageOf } from './page.js';
import { interpretationsOf } from './text.js';
import {
  type ChainsByKey,
  createTokenFilters,
  type ReadyFilter,
  type TokenSearchFilter,
} from './token-filter.js';
import { at, placeCountOf, priceColumnsSteps, type TokenIndexes } from './token-indexes.js';
import { type Candidates, createWordScorer, type ScoredWord } from './word-scores.js';

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

/** Makes the search of a listing in steps. The rows may differ in prices from those that the indexes were made of. */
export function createTokenSearch(rows: readonly Token[], indexes: TokenIndexes): Promise<TokenSearch> {
  return runInSteps(searchSteps(rows, indexes));
}

function* searchSteps(rows: readonly Token[], indexes: TokenIndexes): Steps<TokenSearch> {
  const { rowAt, placesFrom } = indexes;
  const count = rows.length;
  const tokenAt = (place: number): Token => at(rows, at(rowAt, place));
  const columns = yield* priceColumnsSteps(count, tokenAt);
  const filters = createTokenFilters(indexes, columns, tokenAt);
  const scoreWords = createWordScorer(indexes, tokenAt);
  const orders = createOrders(indexes, columns, tokenAt);

  /** Reused by every search, as a search never awaits. */
  const found: Candidates = {
    isBlank: true,
    count: 0,
    places: new Uint32Array(count),
    symbolMatches: new Uint8Array(count),
    sums: new Uint16Array(count),
  };
  const keys = new Float64Array(count);

  function find({ query, filter, pricesUsable }: TokenSearchRequest, chains: KnownChains | undefined): void {
    const ready = filters(filter, pricesUsable, chains);
    const interpretations = interpretationsOf(query);
    found.isBlank = interpretations.length === 0;
    if (found.isBlank) {
      findCandidates(ready, []);
      return;
    }
    found.count = 0;
    const scores = scoreWords(chains);
    for (const interpretation of interpretations) {
      const words = scores.of(interpretation);
      if (!words) continue;
      findCandidates(ready, words);
      for (const [nth, word] of words.entries()) word.score(found, nth);
      if (found.count > 0) return;
    }
  }

  /** Finds the tokens that match the filter in the shortest list that has all tokens that the words match. */
  function findCandidates(filter: ReadyFilter, words: readonly ScoredWord[]): void {
    const { places } = found;
    let least = count;
    let write = writeAllPlaces;
    for (const word of words) {
      if (!word.isListed || word.tokenCount >= least) continue;
      least = word.tokenCount;
      write = (out) => word.writePlaces(out);
    }
    for (const texts of filter.textLists) {
      const tokenCount = texts.reduce((sum, text) => sum + placeCountOf(indexes, text), 0);
      if (tokenCount >= least) continue;
      least = tokenCount;
      write = (out) => writePlacesOf(texts, out);
    }
    found.count = filter.keep(places, write(places));
    found.symbolMatches.fill(NO_SYMBOL_MATCH, 0, found.count);
    found.sums.fill(0, 0, found.count);
  }

  function writePlacesOf(texts: readonly number[], out: Uint32Array): number {
    let written = 0;
    for (const text of texts) {
      const from = at(placesFrom, text);
      const length = placeCountOf(indexes, text);
      for (let index = 0; index < length; index++) out[written++] = indexes.places[from + index] ?? 0;
    }
    return written;
  }

  function writeAllPlaces(out: Uint32Array): number {
    for (let place = 0; place < count; place++) out[place] = place;
    return count;
  }

  return (request, chains) => {
    const { first, after } = request;
    find(request, chains);
    orders.writeKeys(request, found, keys);
    const page = pageOf(found, keys, first, after && orders.positionOf(request, after));
    const totalCount = found.count;
    return {
      tokens: page.places.map(tokenAt),
      sortKeyOf: (index) => orders.sortKeyOf(request, at(page.places, index), at(page.keys, index)),
      totalCount,
      hasPrevious: page.before > 0,
      hasNext: page.before + page.places.length < totalCount,
    };
  };
}
