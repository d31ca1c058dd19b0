/** The indexes of a token listing. */
import { foldAddress, isNativeOf, isNativePlaceholder } from '../domain/addresses.js';
import { append, groupBy } from '../domain/keyed-rows.js';
import type { Chain, Token } from '../domain/listing.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { staticRankOf } from './ranks.js';
import { foldSymbol, keyStarts, nameStarts, searchedPart, symbolStarts, wholeLetters } from './text.js';
import { compareTieBreakers, sortInSteps, tieBreakerOf } from './token-order.js';
import { createWordList } from './word-list.js';
import { createWordStarts, MARK } from './word-starts.js';

/** Tokens, each given as its **place**: its number in the order by symbol, chain and address. */
export type Places = readonly number[];

/** Looks up chains by key, in any letter case. */
export interface ChainsByKey {
  byKey(chainKey: string): Chain | undefined;
}

export type TokenIndexes = Awaited<ReturnType<typeof createTokenIndexes>>;

/** Everything that a search needs besides rows and prices. It holds no rows. @param known the chains, if they are loaded */
export async function createTokenIndexes(rows: readonly Token[], known?: ChainsByKey) {
  const sorted = [...rows.entries()].map(([row, token]) => ({ row, token, tieBreaker: tieBreakerOf(token) }));
  await sortInSteps(sorted, (a, b) => compareTieBreakers(a.tieBreaker, b.tieBreaker));
  const tokens = sorted.map(({ token }) => token);
  const symbols = new Map<string, number[]>();
  const byName = new Map<string, number[]>();
  const names = new Map<string, number[]>();
  /** The tokens of each chain; `natives` are those whose address is the placeholder of native assets. */
  const chains = new Map<
    string,
    { readonly all: number[]; readonly natives: number[]; bridgeable: number }
  >();
  const addresses = new Map<string, number[]>();
  await forEachInSteps(tokens, ({ symbol, name, chainKey, address, isBridgeable }, place) => {
    append(symbols, foldSymbol(symbol), place);
    append(byName, searchedPart(name), place);
    append(names, wholeLetters(searchedPart(name)), place);
    append(addresses, foldAddress(address), place);
    const chain = chains.get(chainKey) ?? { all: [], natives: [], bridgeable: 0 };
    chains.set(chainKey, chain);
    chain.all.push(place);
    if (isNativePlaceholder(address)) chain.natives.push(place);
    if (isBridgeable) chain.bridgeable++;
  });
  return {
    /** The number of the row in the listing, by place. */
    rowAt: Uint32Array.from(sorted, ({ row }) => row),
    /** By {@link foldSymbol}. */
    symbols,
    symbolStarts: await createWordStarts(symbols, symbolStarts),
    nameStarts: await createWordStarts(byName, nameStarts),
    /** By {@link wholeLetters}. */
    names,
    chains,
    chainKeyStarts: await createWordStarts(itself(chains.keys()), keyStarts),
    /** By {@link foldAddress}. */
    addresses,
    /** Finds folded addresses by their first characters in lower case. */
    addressStarts: await createWordStarts(itself(addresses.keys()), (address) => [
      MARK.rest + address.toLowerCase(),
    ]),
    ...(await rankTokens(tokens, symbols, chains, known)),
    /** The words of chain keys and names, to correct typos. The order of the rows decides between equal suggestions. */
    words: await createWordList(
      new Set([...rows.map(({ chainKey }) => chainKey), ...rows.map(({ name }) => searchedPart(name))]),
    ),
  };
}

/** Makes a pair of each text and a list of that text alone. */
function itself(texts: Iterable<string>): (readonly [text: string, items: readonly string[]])[] {
  return Array.from(texts, (text) => [text, [text]]);
}

/** The static rank of each place; and for each native asset, by its place, all tokens with its symbol on its chain. */
async function rankTokens(
  tokens: readonly Token[],
  symbols: ReadonlyMap<string, Places>,
  chains: ReadonlyMap<string, { readonly bridgeable: number }>,
  known: ChainsByKey | undefined,
) {
  const keyAt = (place: number) => tokens[place]?.chainKey ?? '';
  const staticRanks = new Uint32Array(tokens.length);
  const nativeTwins = new Map<number, Places>();
  await forEachInSteps(symbols.values(), (places) => {
    const byChain = groupBy(places, keyAt);
    for (const [chainKey, onChain] of byChain) {
      const chain = known?.byKey(chainKey);
      const isNative = (place: number) => isNativeOf(chain, tokens[place] as Token);
      const native = onChain.length > 1 ? onChain.find(isNative) : undefined;
      if (native !== undefined) nativeTwins.set(native, onChain);
      for (const place of onChain) {
        const isTwin = native !== undefined && place !== native;
        staticRanks[place] = staticRankOf(chains.get(chainKey)?.bridgeable ?? 0, byChain.size, isTwin);
      }
    }
  });
  return { staticRanks, nativeTwins };
}

/** The native assets of a chain: their address is the placeholder, or that of the chain's native currency. */
export function nativesOn(chainKey: string, { chains, addresses }: TokenIndexes, known?: ChainsByKey) {
  const { all = [], natives = [] } = chains.get(chainKey) ?? {};
  const address = known?.byKey(chainKey)?.nativeCurrency.address;
  if (address === undefined || isNativePlaceholder(address)) return natives;
  return [...natives, ...(addresses.get(foldAddress(address)) ?? []).filter((place) => all.includes(place))];
}
