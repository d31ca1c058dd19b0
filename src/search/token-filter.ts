/** Applies the filter of a search. */
import { foldChainKey } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { foldSymbol } from './text.js';
import { type ChainsByKey, nativesOn, type Places, type TokenIndexes } from './token-indexes.js';

/** Tokens must match every condition given; a condition that is null or omitted matches everything. */
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

/** Makes the test of a token by its place; undefined without a condition. `prices` has NaN for no price. */
export function matcherOf(
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
