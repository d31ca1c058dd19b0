import type { Token } from '../domain/listing.js';
import { runInSteps, type Steps } from '../scheduling/chunks.js';
import type { ChainNames } from './chain-names.js';
import { createKeys } from './order-keys.js';
import { type Found, pageOf } from './page.js';
import { NO_SYMBOL_MATCH, NOT_NATIVE, SCORES, STATE, symbolMatchOf } from './ranks.js';
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
import { createWordScorer, type WordScores } from './word-scores.js';

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
  const count = rows.length;
  const { rowAt, symbolAt, nameAt, chainAt, places: placesOfTexts, placesFrom, isPlaceholder } = indexes;
  const tokenAt = (place: number): Token => at(rows, at(rowAt, place));
  const columns = yield* priceColumnsSteps(count, tokenAt);
  const readyFilter = createTokenFilters(indexes, columns, tokenAt);
  const scoreWords = createWordScorer(indexes, tokenAt);
  const orderKeys = createKeys(indexes, columns, tokenAt);
  /** Reused by every search, as a search never awaits. */
  const found: Found & { symbolMatches: Uint8Array; sums: Uint16Array } = {
    count: 0,
    places: new Uint32Array(count),
    symbolMatches: new Uint8Array(count),
    sums: new Uint16Array(count),
    keys: new Float64Array(count),
  };
  const isAddressed = new Uint8Array(count);

  function find({ query, filter, pricesUsable }: TokenSearchRequest, chains: KnownChains | undefined): void {
    const ready = readyFilter(filter, pricesUsable, chains);
    const interpretations = interpretationsOf(query);
    if (interpretations.length === 0) {
      selectCandidates(ready, undefined);
      found.symbolMatches.fill(0, 0, found.count);
    }
    const scores = scoreWords(chains);
    for (const interpretation of interpretations) {
      found.count = 0;
      const words = scores.of(interpretation);
      if (!words) continue;
      selectCandidates(
        ready,
        words.reduce((a, b) => (b.tokenCount < a.tokenCount ? b : a)),
      );
      found.symbolMatches.fill(NO_SYMBOL_MATCH, 0, found.count);
      for (const [nth, word] of words.entries()) scoreCandidates(word, nth);
      if (found.count > 0) return;
    }
  }

  /** Selects the tokens that match the filter, from the shortest list that has all that can be found. */
  function selectCandidates(filter: ReadyFilter, rarest: WordScores | undefined): void {
    found.count = 0;
    let least = rarest?.tokenCount ?? count;
    let texts: readonly number[] | undefined;
    for (const list of filter.textLists) {
      const size = list.reduce((sum, text) => sum + at(placesFrom, text + 1) - at(placesFrom, text), 0);
      if (size < least) [least, texts] = [size, list];
    }
    if (texts) for (const text of texts) addPlacesOf(text);
    else if (rarest && least < count) addMatched(rarest);
    else for (let place = 0; place < count; place++) found.places[found.count++] = place;
    found.sums.fill(0, 0, found.count);
    if (filter.matchesAll) return;
    let kept = 0;
    for (let index = 0; index < found.count; index++) {
      const place = found.places[index] ?? 0;
      if (filter.matches(place)) found.places[kept++] = place;
    }
    found.count = kept;
  }

  function addPlacesOf(text: number): void {
    const end = placesFrom[text + 1] ?? 0;
    for (let index = placesFrom[text] ?? 0; index < end; index++) {
      found.places[found.count++] = placesOfTexts[index] ?? 0;
    }
  }

  /** Adds each token that matches the word once: by its symbol, else by its name, else by its chain, else by its address. */
  function addMatched({ scores, texts, addressed }: WordScores): void {
    for (const text of texts) {
      const isSymbol = text < indexes.symbolCount;
      const isName = text < indexes.firstChain;
      const end = placesFrom[text + 1] ?? 0;
      for (let index = placesFrom[text] ?? 0; index < end; index++) {
        const place = placesOfTexts[index] ?? 0;
        if (!isSymbol && scores[symbolAt[place] ?? 0] !== SCORES.none) continue;
        if (!isName && scores[nameAt[place] ?? 0] !== SCORES.none) continue;
        found.places[found.count++] = place;
      }
    }
    for (const place of addressed) {
      const ownTexts = [symbolAt, nameAt, chainAt].map((column) => at(column, place));
      if (ownTexts.every((text) => scores[text] === SCORES.none)) found.places[found.count++] = place;
    }
  }

  /** Adds the word's scores, and drops the candidates that it does not match. */
  function scoreCandidates({ scores, addressed }: WordScores, nth: number): void {
    const { places, symbolMatches, sums } = found;
    for (const place of addressed) isAddressed[place] = 1;
    let kept = 0;
    for (let index = 0; index < found.count; index++) {
      const place = places[index] ?? 0;
      let score = Math.min(scores[symbolAt[place] ?? 0] ?? 0, scores[nameAt[place] ?? 0] ?? 0);
      if (isAddressed[place] === 1) score = Math.min(score, SCORES.address);
      const chain = scores[chainAt[place] ?? 0] ?? 0;
      if (chain < score) score = isPlaceholder[place] === 1 ? chain : Math.min(score, chain + NOT_NATIVE);
      if (score === SCORES.none) continue;
      places[kept] = place;
      symbolMatches[kept] = Math.min(symbolMatches[index] ?? 0, symbolMatchOf(score, nth));
      sums[kept++] = (sums[index] ?? 0) + score;
    }
    for (const place of addressed) isAddressed[place] = 0;
    found.count = kept;
  }

  return (request, chains) => {
    const { first, after } = request;
    find(request, chains);
    orderKeys.write(request, found);
    const totalCount = found.count;
    const { before, places, keys } = pageOf(found, first, after && orderKeys.positionOf(request, after));
    return {
      tokens: places.map(tokenAt),
      sortKeyOf: (index) => orderKeys.sortKeyOf(request, at(places, index), at(keys, index)),
      totalCount,
      hasPrevious: before > 0,
      hasNext: before + places.length < totalCount,
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
