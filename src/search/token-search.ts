import type { Token } from '../domain/listing.js';
import { runInSteps, type Steps } from '../scheduling/chunks.js';
import type { ChainNames } from './chain-names.js';
import { createOrders } from './orders.js';
import { pageOf } from './page.js';
import { NO_SYMBOL_MATCH, STATE } from './ranks.js';
import { interpretationsOf } from './text.js';
import {
  type ChainsByKey,
  createTokenFilters,
  type PriceColumns,
  type ReadyFilter,
  type TokenSearchFilter,
} from './token-filter.js';
import { at, type TokenIndexes } from './token-indexes.js';
import type { SortKey, TokenOrder } from './token-order.js';
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

const STEP_ROWS = 256;

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
    count: 0,
    places: new Uint32Array(count),
    symbolMatches: new Uint8Array(count),
    sums: new Uint16Array(count),
  };
  const keys = new Float64Array(count);

  function find({ query, filter, pricesUsable }: TokenSearchRequest, chains: KnownChains | undefined): void {
    const ready = filters(filter, pricesUsable, chains);
    const interpretations = interpretationsOf(query);
    if (interpretations.length === 0) {
      findCandidates(ready, []);
      found.symbolMatches.fill(0, 0, found.count);
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
    let shortest: ScoredWord | readonly number[] | undefined;
    for (const word of words) {
      if (word.isListed && word.tokenCount < least) [least, shortest] = [word.tokenCount, word];
    }
    for (const texts of filter.textLists) {
      const tokenCount = texts.reduce((sum, text) => sum + placesOf(text).length, 0);
      if (tokenCount < least) [least, shortest] = [tokenCount, texts];
    }
    if (!shortest) found.count = writeAll(places);
    else if ('writePlaces' in shortest) found.count = shortest.writePlaces(places);
    else found.count = writePlacesOf(shortest, places);
    found.count = filter.keep(places, found.count);
    found.symbolMatches.fill(NO_SYMBOL_MATCH, 0, found.count);
    found.sums.fill(0, 0, found.count);
  }

  function placesOf(text: number): Uint32Array {
    return indexes.places.subarray(placesFrom[text], placesFrom[text + 1]);
  }

  function writePlacesOf(texts: readonly number[], places: Uint32Array): number {
    let written = 0;
    for (const text of texts) {
      places.set(placesOf(text), written);
      written += placesOf(text).length;
    }
    return written;
  }

  function writeAll(places: Uint32Array): number {
    for (let place = 0; place < count; place++) places[place] = place;
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

function* priceColumnsSteps(count: number, tokenAt: (place: number) => Token): Steps<PriceColumns> {
  const prices = new Float64Array(count);
  const states = new Uint8Array(count);
  for (let place = 0; place < count; place++) {
    const { price, isBridgeable } = tokenAt(place);
    prices[place] = price?.usd ?? Number.NaN;
    states[place] = (isBridgeable ? 0 : STATE.notBridgeable) + (price ? 0 : STATE.notPriced);
    if (place % STEP_ROWS === 0) yield;
  }
  return { prices, states };
}
