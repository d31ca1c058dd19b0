/** The indexes of a token listing. */
import { foldAddress, isNativePlaceholder } from '../domain/addresses.js';
import { append, groupBy } from '../domain/keyed-rows.js';
import type { Chain, Token } from '../domain/listing.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { staticRankOf } from './ranks.js';
import { sortInSteps } from './sort-in-steps.js';
import { foldSymbol, keyStarts, nameStarts, symbolStarts, wholeLetters } from './text.js';
import {
  compare,
  compareTieBreakers,
  firstIndex,
  type TieBreaker,
  textKey,
  tieBreakerOf,
} from './token-order.js';
import { WordList } from './word-list.js';
import { createWordStarts, MARK, type WordStarts } from './word-starts.js';

/** Tokens, each given as its **place**: its number in the order by symbol, chain and address. */
export type Places = readonly number[];

/** A text, such as a symbol, and the tokens that have it. */
export type TextPlaces = readonly [text: string, places: Places];

/** The tokens of one chain. */
export interface ChainPlaces {
  readonly all: Places;
  /** The tokens whose address is the placeholder of native assets. */
  readonly natives: Places;
}

/** Looks up chains by key, in any letter case. */
export interface ChainsByKey {
  byKey(chainKey: string): Chain | undefined;
}

/** Everything that a search needs besides rows and prices. Indexes keep no rows alive: old rows can be freed. */
export interface TokenIndexes {
  /** The number of the row in the listing, by place. */
  readonly rowAt: Uint32Array;
  /** The tokens by symbol, in the form of {@link foldSymbol}. */
  readonly symbols: ReadonlyMap<string, Places>;
  readonly symbolStarts: WordStarts<TextPlaces>;
  readonly nameStarts: WordStarts<TextPlaces>;
  /** The tokens by the letters and digits of the whole name. */
  readonly names: ReadonlyMap<string, Places>;
  readonly chains: ReadonlyMap<string, ChainPlaces>;
  readonly chainKeyStarts: WordStarts<readonly [chainKey: string, ChainPlaces]>;
  /** The tokens by folded address. */
  readonly addresses: ReadonlyMap<string, Places>;
  /** Finds tokens by the start of the folded address, in lower case. */
  readonly addressStarts: WordStarts<TextPlaces>;
  /** The distinct keys of names, in order. */
  readonly nameKeys: readonly string[];
  /** For each place: the index in `nameKeys` of the key of the token's name. */
  readonly nameAt: Uint32Array;
  /** For each place: 1 if the token is bridgeable. */
  readonly isBridgeable: Uint8Array;
  /** For each place: the result of {@link staticRankOf}. */
  readonly staticRanks: Uint32Array;
  /** The native asset and all other tokens with its symbol on its chain, by the place of the native asset. */
  readonly nativeTwins: ReadonlyMap<number, Places>;
  /** The words of chain keys and names, to correct typos. */
  readonly words: WordList;
}

const placesOf = ([, places]: TextPlaces) => places;

/** Indexes these rows. It yields to requests. */
export async function createTokenIndexes(rows: readonly Token[]): Promise<TokenIndexes> {
  const rowAt = await sortRows(rows);
  const tokens = Array.from(rowAt, (row) => rows[row] as Token);
  const bySymbol = new Map<string, number[]>();
  const symbols = new Map<string, number[]>();
  const byName = new Map<string, number[]>();
  const names = new Map<string, number[]>();
  const byChain = new Map<string, { readonly all: number[]; readonly natives: number[] }>();
  const addresses = new Map<string, number[]>();
  await forEachChunk([...tokens.entries()], (chunk) => {
    for (const [place, { symbol, name, chainKey, address }] of chunk) {
      append(bySymbol, symbol, place);
      append(symbols, foldSymbol(symbol), place);
      append(byName, name, place);
      append(names, wholeLetters(name), place);
      append(addresses, foldAddress(address), place);
      const chain = byChain.get(chainKey) ?? { all: [], natives: [] };
      byChain.set(chainKey, chain);
      chain.all.push(place);
      if (isNativePlaceholder(address)) chain.natives.push(place);
    }
  });
  return {
    rowAt,
    symbols,
    symbolStarts: await createWordStarts([...bySymbol], ([symbol]) => symbolStarts(symbol), placesOf),
    nameStarts: await createWordStarts([...byName], ([name]) => nameStarts(name), placesOf),
    names,
    chains: byChain,
    chainKeyStarts: await createWordStarts([...byChain], ([chainKey]) => keyStarts(chainKey)),
    addresses,
    addressStarts: await createWordStarts([...addresses], ([address]) =>
      address.startsWith('0x') ? [MARK.rest + address.toLowerCase()] : [],
    ),
    ...(await orderNames([...byName], rows.length)),
    isBridgeable: Uint8Array.from(tokens, ({ isBridgeable }) => Number(isBridgeable)),
    ...(await rankTokens(tokens, symbols, byChain)),
    words: await listWords(rows),
  };
}

/** Sorts the numbers of the rows by tie-breaker: their order gives each token its place. */
async function sortRows(rows: readonly Token[]): Promise<Uint32Array> {
  const tieBreakers: TieBreaker[] = [];
  await forEachChunk(rows, (chunk) => tieBreakers.push(...chunk.map(tieBreakerOf)));
  const at = (row: number) => tieBreakers[row] as TieBreaker;
  return await sortInSteps(rows.length, (a, b) => compareTieBreakers(at(a), at(b)));
}

/** Orders the names; names that are equal in this order share a key. */
async function orderNames(names: readonly TextPlaces[], count: number) {
  const keys = names.map(([name]) => textKey(name));
  const nameKeys: string[] = [];
  const nameAt = new Uint32Array(count);
  for (const name of await sortInSteps(keys.length, (a, b) => compare(keys[a] ?? '', keys[b] ?? ''))) {
    const key = keys[name] ?? '';
    if (key !== nameKeys.at(-1)) nameKeys.push(key);
    for (const place of names[name]?.[1] ?? []) nameAt[place] = nameKeys.length - 1;
  }
  return { nameKeys, nameAt };
}

/** Computes static ranks, and finds the twins of native assets. */
async function rankTokens(
  tokens: readonly Token[],
  symbols: ReadonlyMap<string, Places>,
  chains: ReadonlyMap<string, ChainPlaces>,
): Promise<Pick<TokenIndexes, 'staticRanks' | 'nativeTwins'>> {
  const bridgeableOn = new Map<string, number>();
  for (const [chainKey, { all }] of chains) {
    bridgeableOn.set(chainKey, all.filter((place) => tokens[place]?.isBridgeable).length);
  }
  const keyAt = (place: number) => tokens[place]?.chainKey ?? '';
  const isNative = (place: number) => isNativePlaceholder(tokens[place]?.address ?? '');
  const staticRanks = new Uint32Array(tokens.length);
  const nativeTwins = new Map<number, Places>();
  await forEachChunk([...symbols.values()], (chunk) => {
    for (const places of chunk) {
      const byChain = groupBy(places, keyAt);
      for (const [chainKey, onChain] of byChain) {
        const native = onChain.length > 1 ? onChain.find(isNative) : undefined;
        if (native !== undefined) nativeTwins.set(native, onChain);
        for (const place of onChain) {
          const isTwin = native !== undefined && place !== native;
          staticRanks[place] = staticRankOf(bridgeableOn.get(chainKey) ?? 0, byChain.size, isTwin);
        }
      }
    }
  });
  return { staticRanks, nativeTwins };
}

/** Lists the words of chain keys and names in the order of the rows, which decides between equal suggestions. */
async function listWords(rows: readonly Token[]): Promise<WordList> {
  const words = new WordList();
  const texts = new Set(rows.map(({ chainKey }) => chainKey));
  for (const { name } of rows) texts.add(name);
  await forEachChunk([...texts], (chunk) => {
    for (const text of chunk) words.add(text);
  });
  return words;
}

/** The native assets of a chain: their address is the placeholder, or that of the chain's native currency. */
export function nativesOn(
  chainKey: string,
  { chains, addresses }: Pick<TokenIndexes, 'chains' | 'addresses'>,
  known: ChainsByKey | undefined,
): Places {
  const { all, natives } = chains.get(chainKey) ?? NO_PLACES;
  const address = known?.byKey(chainKey)?.nativeCurrency.address;
  if (address === undefined || isNativePlaceholder(address)) return natives;
  const own = addresses.get(foldAddress(address)) ?? [];
  return [...natives, ...inBoth(all, own)];
}

/** The places in both of two ascending lists. The time grows with the length of the shorter one. */
function inBoth(one: Places, other: Places): Places {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.filter((place) => long[firstIndex(long.length, (at) => (long[at] ?? 0) >= place)] === place);
}

const NO_PLACES: ChainPlaces = { all: [], natives: [] };
