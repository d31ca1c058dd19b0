import { foldAddress, foldChainKey, isNativePlaceholder } from '../domain/addresses.js';
import type { Chain, Token } from '../domain/listing.js';
import { foldSymbol } from './text.js';
import type { Places, TokenIndexes } from './token-indexes.js';

/** Tokens must match every condition given; an omitted condition matches everything. */
export interface TokenSearchFilter {
  /** In any letter case. */
  readonly chainKeys?: readonly string[] | undefined;
  /** In any letter case. */
  readonly chainTypes?: readonly string[] | undefined;
  /** Written as in a query. */
  readonly symbols?: readonly string[] | undefined;
  readonly isBridgeable?: boolean | undefined;
  readonly isNative?: boolean | undefined;
  readonly hasPrice?: boolean | undefined;
  readonly minPriceUsd?: number | undefined;
  readonly maxPriceUsd?: number | undefined;
}

/** Looks up chains by key, in any letter case. */
export interface ChainsByKey {
  byKey(chainKey: string): Chain | undefined;
}

/** What a filter looks at. */
interface Filtered {
  /** By place. */
  readonly tokens: readonly Token[];
  readonly indexes: TokenIndexes;
  /** By place; NaN for none. */
  readonly prices: Float64Array;
  readonly chains: ChainsByKey | undefined;
}

/** By place, 1 for each token that matches the filter; undefined for a filter that matches all. */
export function allowedTokens(filter: TokenSearchFilter, filtered: Filtered): Uint8Array | undefined {
  if (Object.values(filter).every((condition) => condition === undefined)) return undefined;
  const { tokens, indexes, prices, chains } = filtered;
  const { symbols, chainKeys, chainTypes, isBridgeable, isNative, hasPrice } = filter;
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
  const native = isNative === undefined ? undefined : marked(nativesOf(filtered));
  const allowed = new Uint8Array(tokens.length);
  for (let place = 0; place < allowed.length; place++) {
    const price = prices[place] ?? Number.NaN;
    const isAllowed =
      (!ofSymbol || ofSymbol[place] === 1) &&
      (!onChain || onChain[place] === 1) &&
      (!ofType || ofType[place] === 1) &&
      (!native || native[place] === Number(isNative)) &&
      (isBridgeable === undefined || indexes.isBridgeable[place] === Number(isBridgeable)) &&
      (hasPrice === undefined || Number.isNaN(price) !== hasPrice) &&
      (!needsPrice || (price >= minPriceUsd && price <= maxPriceUsd));
    allowed[place] = Number(isAllowed);
  }
  return allowed;
}

/** The tokens that are native: by the placeholder, or by the chain's own address for its currency. */
function* nativesOf({ tokens, indexes, chains }: Filtered): Iterable<Places> {
  for (const [chainKey, { natives }] of indexes.chains) {
    yield natives;
    const address = chains?.byKey(chainKey)?.nativeCurrency.address;
    if (address === undefined || isNativePlaceholder(address)) continue;
    const places = indexes.addresses.get(foldAddress(address)) ?? [];
    yield places.filter((place) => tokens[place]?.chainKey === chainKey);
  }
}
