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

/** Makes the test of a token, given by its place, against the filter. Undefined if the filter has no condition. */
export function matcherOf(
  filter: TokenSearchFilter,
  { tokens, indexes, prices, chains }: Filtered,
): ((place: number) => boolean) | undefined {
  if (Object.values(filter).every((condition) => condition === undefined)) return undefined;
  const { symbols, chainKeys, chainTypes, isBridgeable, isNative, hasPrice, reachable } = filter;
  const { minPriceUsd = Number.NEGATIVE_INFINITY, maxPriceUsd = Number.POSITIVE_INFINITY } = filter;
  const needsPrice = filter.minPriceUsd !== undefined || filter.maxPriceUsd !== undefined;
  // Each condition marks its tokens in an array. Testing the texts of each found token, often thousands, is slower.
  const marked = (lists: readonly (Places | undefined)[]) => {
    const marks = new Uint8Array(prices.length);
    for (const places of lists) for (const place of places ?? []) marks[place] = 1;
    return marks;
  };
  const placesOn = (chainKey: string) => indexes.chains.get(chainKey)?.all;
  const onChain = chainKeys && marked(chainKeys.map((key) => placesOn(foldChainKey(key))));
  const allKeys = () => [...indexes.chains.keys()];
  const types = chainTypes && new Set<string | undefined>(chainTypes.map((type) => type.toLowerCase()));
  const ofType =
    types &&
    marked(
      allKeys()
        .filter((key) => types.has(chains?.byKey(key)?.chainType))
        .map(placesOn),
    );
  const ofSymbol = symbols && marked(symbols.map((symbol) => indexes.symbols.get(foldSymbol(symbol))));
  const natives =
    isNative === undefined ? undefined : marked(allKeys().map((key) => nativesOn(key, indexes, chains)));
  return (place) => {
    const price = prices[place] ?? Number.NaN;
    return (
      (!onChain || onChain[place] === 1) &&
      (!ofType || ofType[place] === 1) &&
      (!ofSymbol || ofSymbol[place] === 1) &&
      (!natives || natives[place] === Number(isNative)) &&
      (isBridgeable === undefined || indexes.isBridgeable[place] === Number(isBridgeable)) &&
      (hasPrice === undefined || Number.isNaN(price) !== hasPrice) &&
      (!reachable || reachable.has(tokens[place] as Token)) &&
      (!needsPrice || (price >= minPriceUsd && price <= maxPriceUsd))
    );
  };
}
