import { foldAddress, foldChainKey, isNativePlaceholder } from '../domain/addresses.js';
import type { Chain, Token } from '../domain/listing.js';
import { STATE } from './order/ranks.js';
import { foldSymbol } from './text.js';
import type { PriceColumns, TokenIndexes } from './token-indexes.js';

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

/** A filter made ready for one search. */
export interface ReadyFilter {
  /** Lists of texts, so that each token that matches has one text of each list. */
  readonly textLists: readonly (readonly number[])[];
  /** Keeps only the tokens that match among the first `count` of these places. Returns how many there are. */
  keep(places: Uint32Array, count: number): number;
}

/** Looks up chains by key, in any letter case. */
export interface ChainsByKey {
  byKey(chainKey: string): Chain | undefined;
}

/** Makes filters ready for searches. @param tokenAt the token at a place */
export function createTokenFilters(
  indexes: TokenIndexes,
  { prices, states }: PriceColumns,
  tokenAt: (place: number) => Token,
) {
  const { symbolAt, chainAt, chainTexts, isPlaceholder, places, placesFrom, addresses } = indexes;
  /** Which tokens are native by a snapshot of the chains, by place. */
  const nativeBy = new WeakMap<ChainsByKey, Uint8Array>();

  function nativeColumn(chains: ChainsByKey | undefined): Uint8Array {
    if (!chains) return isPlaceholder;
    const known = nativeBy.get(chains);
    if (known) return known;
    const isNative = isPlaceholder.slice();
    for (const [chainKey, text] of chainTexts) {
      const native = chains.byKey(chainKey)?.nativeCurrency.address;
      if (native === undefined || isNativePlaceholder(native)) continue;
      const address = foldAddress(native);
      for (const place of addresses.candidates(address)) {
        if (chainAt[place] === text && foldAddress(tokenAt(place).address) === address) isNative[place] = 1;
      }
    }
    nativeBy.set(chains, isNative);
    return isNative;
  }

  function symbolTexts(symbols: readonly string[]): readonly number[] {
    const found = new Set<number>();
    for (const symbol of new Set(symbols.map(foldSymbol))) {
      for (const text of indexes.symbols.candidates(symbol)) {
        const place = places[placesFrom[text] ?? 0] ?? 0;
        if (foldSymbol(tokenAt(place).symbol) === symbol) found.add(text);
      }
    }
    return [...found];
  }

  function chainTextsOf(
    { chainKeys, chainTypes }: TokenSearchFilter,
    chains: ChainsByKey | undefined,
  ): readonly number[] {
    const types = chainTypes && new Set(chainTypes.map((type) => type.toLowerCase()));
    const found: number[] = [];
    for (const chainKey of chainKeys ? new Set(chainKeys.map(foldChainKey)) : chainTexts.keys()) {
      const text = chainTexts.get(chainKey);
      const type = chains?.byKey(chainKey)?.chainType;
      const isOfType = !types || (type !== undefined && types.has(type));
      if (text !== undefined && isOfType) found.push(text);
    }
    return found;
  }

  function tableOf(texts: readonly number[], first: number, count: number): Uint8Array {
    const table = new Uint8Array(count);
    for (const text of texts) table[text - first] = 1;
    return table;
  }

  return (filter: TokenSearchFilter, pricesUsable: boolean, chains: ChainsByKey | undefined): ReadyFilter => {
    const { isBridgeable, isNative, hasPrice, minPriceUsd, maxPriceUsd } = filter;
    const { symbolCount, firstChain, textCount } = indexes;
    const symbols = filter.symbols && symbolTexts(filter.symbols);
    const onChains = filter.chainKeys || filter.chainTypes ? chainTextsOf(filter, chains) : undefined;
    const ofSymbol = symbols && tableOf(symbols, 0, symbolCount);
    const onChain = onChains && tableOf(onChains, firstChain, textCount - firstChain);
    const isNativeAt = isNative === undefined ? undefined : nativeColumn(chains);
    const native = Number(isNative);
    const needsPrice = minPriceUsd !== undefined || maxPriceUsd !== undefined;
    const least = minPriceUsd ?? Number.NEGATIVE_INFINITY;
    const most = maxPriceUsd ?? Number.POSITIVE_INFINITY;
    const isAllowed = Uint8Array.from([0, 1, 2, 3], (state) => {
      const bridgeable = (state & STATE.notBridgeable) === 0;
      const priced = (state & STATE.notPriced) === 0;
      if (isBridgeable !== undefined && bridgeable !== isBridgeable) return 0;
      if (hasPrice !== undefined && priced !== hasPrice) return 0;
      return Number(!needsPrice || priced);
    });
    const isPriced = (price: number) => price >= least && price <= most;
    const matchesAll = !symbols && !onChains && !isNativeAt && isAllowed.every((allowed) => allowed === 1);
    const hidden = pricesUsable ? 0 : STATE.notPriced;

    return {
      textLists: [symbols, onChains].filter((texts) => texts !== undefined),
      keep(all, count) {
        if (matchesAll) return count;
        let kept = 0;
        for (let index = 0; index < count; index++) {
          const place = all[index] ?? 0;
          if (isAllowed[(states[place] ?? 0) | hidden] === 0) continue;
          if (onChain && onChain[(chainAt[place] ?? 0) - firstChain] === 0) continue;
          if (ofSymbol && ofSymbol[symbolAt[place] ?? 0] === 0) continue;
          if (isNativeAt && isNativeAt[place] !== native) continue;
          if (needsPrice && !isPriced(prices[place] ?? 0)) continue;
          all[kept++] = place;
        }
        return kept;
      },
    };
  };
}
