/** Applies the filter of a search. */
import { foldChainKey } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { foldSymbol } from './text.js';
import { type ChainsByKey, nativesOn, type Places, type TokenIndexes } from './token-indexes.js';

/** Tokens must match every condition given; an omitted condition matches everything. */
export interface TokenSearchFilter {
  /** Keys of chains, in any letter case. */
  readonly chainKeys?: readonly string[] | undefined;
  /** Types of chains, in any letter case. */
  readonly chainTypes?: readonly string[] | undefined;
  /** Symbols as a person types them. */
  readonly symbols?: readonly string[] | undefined;
  readonly isBridgeable?: boolean | undefined;
  readonly isNative?: boolean | undefined;
  readonly hasPrice?: boolean | undefined;
  readonly minPriceUsd?: number | undefined;
  readonly maxPriceUsd?: number | undefined;
  /** Only these tokens match. The tokens must be the row objects of the listing that is searched. */
  readonly reachable?: ReadonlySet<Token> | undefined;
}

/** The listing that a filter reads. */
interface Filtered {
  /** The tokens by place (see {@link Places}). */
  readonly tokens: readonly Token[];
  readonly indexes: TokenIndexes;
  /** The prices by place; NaN for a token without a price. */
  readonly prices: Float64Array;
  readonly chains: ChainsByKey | undefined;
}

/** Returns by place: 1 for a token that matches the filter, else 0. Undefined if the filter has no condition. */
export function allowedTokens(filter: TokenSearchFilter, filtered: Filtered): Uint8Array | undefined {
  if (Object.values(filter).every((condition) => condition === undefined)) return undefined;
  const { tokens, indexes, prices, chains } = filtered;
  const { symbols, chainKeys, chainTypes, isBridgeable, isNative, hasPrice, reachable } = filter;
  const { minPriceUsd = Number.NEGATIVE_INFINITY, maxPriceUsd = Number.POSITIVE_INFINITY } = filter;
  const needsPrice = filter.minPriceUsd !== undefined || filter.maxPriceUsd !== undefined;
  const marked = (lists: Iterable<Places | undefined>) => {
    const marks = new Uint8Array(tokens.length);
    for (const places of lists) for (const place of places ?? []) marks[place] = 1;
    return marks;
  };
  const types = chainTypes && new Set<string | undefined>(chainTypes.map((type) => type.toLowerCase()));
  const keysOfTypes =
    types && [...indexes.chains.keys()].filter((key) => types.has(chains?.byKey(key)?.chainType));
  const placesOn = (chainKey: string) => indexes.chains.get(chainKey)?.all;
  const ofSymbol = symbols && marked(symbols.map((symbol) => indexes.symbols.get(foldSymbol(symbol))));
  const onChain = chainKeys && marked(chainKeys.map((key) => placesOn(foldChainKey(key))));
  const ofType = keysOfTypes && marked(keysOfTypes.map(placesOn));
  const native =
    isNative === undefined
      ? undefined
      : marked([...indexes.chains.keys()].map((key) => nativesOn(key, indexes, chains)));
  const allowed = new Uint8Array(tokens.length);
  for (let place = 0; place < allowed.length; place++) {
    const price = prices[place] ?? Number.NaN;
    const isAllowed =
      (!ofSymbol || ofSymbol[place] === 1) &&
      (!onChain || onChain[place] === 1) &&
      (!ofType || ofType[place] === 1) &&
      (!native || native[place] === Number(isNative)) &&
      (!reachable || reachable.has(tokens[place] as Token)) &&
      (isBridgeable === undefined || indexes.isBridgeable[place] === Number(isBridgeable)) &&
      (hasPrice === undefined || Number.isNaN(price) !== hasPrice) &&
      (!needsPrice || (price >= minPriceUsd && price <= maxPriceUsd));
    allowed[place] = Number(isAllowed);
  }
  return allowed;
}
