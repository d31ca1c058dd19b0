import { foldAddress, isNativePlaceholder } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { runInSteps, type Steps } from '../scheduling/chunks.js';
import { raritiesOf } from './order/ranks.js';
import { sortSteps } from './order/sort-steps.js';
import { compare, compareTieBreakers, type TieBreaker, textKey, tieBreakerOf } from './order/token-order.js';
import { WordList } from './suggestions/word-list.js';
import { foldSymbol, keyStarts, nameStarts, symbolStarts } from './text.js';
import { MARK, type WordStarts, wordStartsSteps } from './word-starts.js';

/** Tokens, each meant by its **place**: its number in the order by symbol, chain and address. */
export type Places = readonly number[];

/** The tokens that have a text. */
export type TextPlaces = readonly [text: string, places: Places];

/** The tokens of one chain. */
export interface ChainPlaces {
  readonly all: Places;
  /** Those whose address is the placeholder of native assets. */
  readonly natives: Places;
}

/** What a search needs besides prices. It holds no rows, so that old ones can be freed. */
export interface TokenIndexes {
  /** The number of the row in the listing, by place. */
  readonly rowAt: Uint32Array;
  /** By the symbol as symbols are compared. */
  readonly symbols: ReadonlyMap<string, Places>;
  readonly symbolStarts: WordStarts<TextPlaces>;
  readonly nameStarts: WordStarts<TextPlaces>;
  readonly chains: ReadonlyMap<string, ChainPlaces>;
  readonly chainKeyStarts: WordStarts<readonly [chainKey: string, ChainPlaces]>;
  /** By folded address. */
  readonly addresses: ReadonlyMap<string, Places>;
  /** By the folded address in lower case. */
  readonly addressStarts: WordStarts<TextPlaces>;
  /** What names are ordered by, in order; and by place, the index of its own. */
  readonly nameKeys: readonly string[];
  readonly nameAt: Uint32Array;
  /** By place: 1 for bridgeable tokens. */
  readonly isBridgeable: Uint8Array;
  /** How rare each token is, by place. */
  readonly rarities: Uint16Array;
  /** The words of chain keys and names, to mend slips. */
  readonly words: WordList;
}

const STEP_ROWS = 128;

/** Makes the indexes of these rows in steps, so that requests are answered in between. */
export function createTokenIndexes(rows: readonly Token[]): Promise<TokenIndexes> {
  return runInSteps(indexSteps(rows));
}

function* indexSteps(rows: readonly Token[]): Steps<TokenIndexes> {
  const rowAt = yield* placeSteps(rows);
  const tokens = Array.from(rowAt, (row) => rows[row] as Token);
  const bySymbol = new Map<string, number[]>();
  const symbols = new Map<string, number[]>();
  const byName = new Map<string, number[]>();
  const byChain = new Map<string, { readonly all: number[]; readonly natives: number[] }>();
  const addresses = new Map<string, number[]>();
  for (const [place, { symbol, name, chainKey, address }] of tokens.entries()) {
    append(bySymbol, symbol, place);
    append(symbols, foldSymbol(symbol), place);
    append(byName, name, place);
    append(addresses, foldAddress(address), place);
    const chain = byChain.get(chainKey) ?? { all: [], natives: [] };
    byChain.set(chainKey, chain);
    chain.all.push(place);
    if (isNativePlaceholder(address)) chain.natives.push(place);
    if (place % STEP_ROWS === 0) yield;
  }
  return {
    rowAt,
    symbols,
    symbolStarts: yield* wordStartsSteps([...bySymbol], ([symbol]) => symbolStarts(symbol)),
    nameStarts: yield* wordStartsSteps([...byName], ([name]) => nameStarts(name)),
    chains: byChain,
    chainKeyStarts: yield* wordStartsSteps([...byChain], ([chainKey]) => keyStarts(chainKey)),
    addresses,
    addressStarts: yield* wordStartsSteps([...addresses], ([address]) =>
      address.startsWith('0x') ? [MARK.rest + address.toLowerCase()] : [],
    ),
    ...(yield* nameOrderSteps([...byName], rows.length)),
    isBridgeable: Uint8Array.from(tokens, ({ isBridgeable }) => Number(isBridgeable)),
    rarities: yield* raritySteps(tokens, symbols, byChain),
    words: yield* wordListSteps(rows),
  };
}

/** The rows in the order of their tie-breakers. */
function* placeSteps(rows: readonly Token[]): Steps<Uint32Array> {
  const tieBreakers: TieBreaker[] = [];
  for (const row of rows) {
    tieBreakers.push(tieBreakerOf(row));
    if (tieBreakers.length % STEP_ROWS === 0) yield;
  }
  const at = (row: number) => tieBreakers[row] as TieBreaker;
  return yield* sortSteps(rows.length, (a, b) => compareTieBreakers(at(a), at(b)));
}

/** Orders names; those that are equal in this order have one key. */
function* nameOrderSteps(names: readonly TextPlaces[], count: number) {
  const keys = names.map(([name]) => textKey(name));
  const nameKeys: string[] = [];
  const nameAt = new Uint32Array(count);
  for (const name of yield* sortSteps(keys.length, (a, b) => compare(keys[a] ?? '', keys[b] ?? ''))) {
    const key = keys[name] ?? '';
    if (key !== nameKeys.at(-1)) nameKeys.push(key);
    for (const place of names[name]?.[1] ?? []) nameAt[place] = nameKeys.length - 1;
  }
  return { nameKeys, nameAt };
}

/** Counts how many bridgeable tokens each chain has, and on how many chains each symbol is listed. */
function* raritySteps(
  tokens: readonly Token[],
  symbols: ReadonlyMap<string, Places>,
  chains: ReadonlyMap<string, ChainPlaces>,
): Steps<Uint16Array> {
  const bridgeableOn = new Map<string, number>();
  for (const [chainKey, { all }] of chains) {
    bridgeableOn.set(chainKey, all.filter((place) => tokens[place]?.isBridgeable).length);
    yield;
  }
  const rarities = new Uint16Array(tokens.length);
  for (const places of symbols.values()) {
    const chainKeys = places.map((place) => tokens[place]?.chainKey ?? '');
    const chainCount = new Set(chainKeys).size;
    for (const [nth, place] of places.entries()) {
      rarities[place] = raritiesOf(bridgeableOn.get(chainKeys[nth] ?? '') ?? 0, chainCount);
    }
    yield;
  }
  return rarities;
}

/** In the order of the rows: near words that are equally likely are suggested in it. */
function* wordListSteps(rows: readonly Token[]): Steps<WordList> {
  const words = new WordList();
  const texts = new Set(rows.map(({ chainKey }) => chainKey));
  for (const { name } of rows) texts.add(name);
  for (const text of texts) {
    words.add(text);
    yield;
  }
  return words;
}

/** Adds an item to the list at this key. */
export function append<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
