import { foldAddress, isNativePlaceholder } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { runInSteps, type Steps } from '../scheduling/chunks.js';
import { foldedSymbolSteps, rarityColumnSteps } from './columns/rarities.js';
import { STATE } from './order/ranks.js';
import { sortSteps } from './order/sort-steps.js';
import { compare, compareByChainAndAddress, textKey } from './order/token-order.js';
import { indexedStart } from './query/identifiers.js';
import { type StringTable, stringTableSteps } from './string-table.js';
import { nameLines, symbolLines } from './text.js';
import { type TextIndex, textIndexSteps } from './text-index.js';

/**
 * What a search needs besides prices, in columns. A token is meant by its **place** in the order by symbol. Symbols,
 * names and chain keys are meant by one numbering of their distinct texts: first symbols, then names, then chain keys.
 *
 * It holds no rows and hardly any strings, so that old rows can be freed: what is found is compared with the current
 * rows.
 */
export interface TokenIndexes {
  /** The number of the row in the listing, by place. */
  readonly rowAt: Uint32Array;
  /** Texts below it are symbols. */
  readonly symbolCount: number;
  /** The first text that is a chain key; the texts before it, from `symbolCount` on, are names. */
  readonly firstChain: number;
  readonly textCount: number;
  /** The texts of each token, by place. */
  readonly symbolAt: Uint32Array;
  readonly nameAt: Uint32Array;
  readonly chainAt: Uint32Array;
  /** The places of all texts, one text after the other, each ascending: those of `text` end where those of the next start. */
  readonly places: Uint32Array;
  readonly placesFrom: Uint32Array;
  readonly textIndex: TextIndex;
  readonly chainTexts: ReadonlyMap<string, number>;
  /** Places by folded address. */
  readonly addresses: StringTable;
  /** Places by the {@link indexedStart} of the address. */
  readonly addressStarts: StringTable;
  /** Symbols by how they are compared. */
  readonly symbols: StringTable;
  /** The rank of each name in the order by name, from `symbolCount` on; equal if the names are equal in it. */
  readonly nameRanks: Uint32Array;
  /** A place of each rank. */
  readonly placeOfNameRank: Uint32Array;
  /** By place: 1 if the address is the placeholder of native assets. */
  readonly isPlaceholder: Uint8Array;
  /** How rare each token is, by place. */
  readonly rarities: Uint16Array;
}

/** The columns that depend on prices, by place. */
export interface PriceColumns {
  /** The price in US dollars; NaN for none. */
  readonly prices: Float64Array;
  /** Each token's {@link STATE}. */
  readonly states: Uint8Array;
}

const STEP_ROWS = 256;

/** Makes the indexes of these rows in steps, so that requests are answered in between. */
export function createTokenIndexes(rows: readonly Token[]): Promise<TokenIndexes> {
  return runInSteps(indexSteps(rows));
}

function* indexSteps(rows: readonly Token[]): Steps<TokenIndexes> {
  const count = rows.length;
  const rowAt = yield* symbolOrderSteps(rows);
  const tokenAt = (place: number): Token => at(rows, at(rowAt, place));

  const texts: string[] = [];
  const symbolAt = yield* textColumnSteps(count, (place) => tokenAt(place).symbol, texts);
  const symbolCount = texts.length;
  const nameAt = yield* textColumnSteps(count, (place) => tokenAt(place).name, texts);
  const firstChain = texts.length;
  const chainAt = yield* textColumnSteps(count, (place) => tokenAt(place).chainKey, texts);

  const isPlaceholder = new Uint8Array(count);
  for (let place = 0; place < count; place++) {
    isPlaceholder[place] = Number(isNativePlaceholder(tokenAt(place).address));
    if (place % STEP_ROWS === 0) yield;
  }

  const linesOfNames = (text: number) => (text < firstChain ? nameLines : symbolLines)(at(texts, text));
  const foldedSymbols = yield* foldedSymbolSteps(texts.slice(0, symbolCount));
  const counted = {
    firstChain,
    textCount: texts.length,
    symbolAt,
    chainAt,
    ...(yield* placesOfTextsSteps(texts.length, [symbolAt, nameAt, chainAt])),
    symbols: yield* stringTableSteps(symbolCount, (text) => at(foldedSymbols, text)),
  };
  return {
    ...counted,
    rowAt,
    symbolCount,
    nameAt,
    textIndex: yield* textIndexSteps([
      {
        count: symbolCount,
        linesOf: (symbol) => symbolLines(at(texts, symbol)),
        isFoundInside: true,
      },
      {
        count: texts.length - symbolCount,
        linesOf: (number) => linesOfNames(symbolCount + number),
        isFoundInside: false,
      },
    ]),
    chainTexts: new Map(texts.slice(firstChain).map((chainKey, index) => [chainKey, firstChain + index])),
    addresses: yield* stringTableSteps(count, (place) => foldAddress(tokenAt(place).address)),
    addressStarts: yield* stringTableSteps(
      count,
      (place) => indexedStart(foldAddress(tokenAt(place).address)) ?? '',
    ),
    ...(yield* nameOrderSteps(texts.slice(symbolCount, firstChain), symbolCount, nameAt)),
    isPlaceholder,
    rarities: yield* rarityColumnSteps(counted, foldedSymbols, (place) => tokenAt(place).isBridgeable),
  };
}

/** Reads prices. @param tokenAt the token at a place */
export function* priceColumnsSteps(count: number, tokenAt: (place: number) => Token): Steps<PriceColumns> {
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

/** How many tokens have this text. */
export function placeCountOf({ placesFrom }: TokenIndexes, text: number): number {
  return (placesFrom[text + 1] ?? 0) - (placesFrom[text] ?? 0);
}

/** The rows in the order of their tie-breakers, which begin with the symbol. */
function* symbolOrderSteps(rows: readonly Token[]): Steps<Uint32Array> {
  const keys: string[] = [];
  for (const { symbol } of rows) {
    keys.push(textKey(symbol));
    if (keys.length % STEP_ROWS === 0) yield;
  }
  return yield* sortSteps(
    keys.length,
    (a, b) => compare(at(keys, a), at(keys, b)) || compareByChainAndAddress(at(rows, a), at(rows, b)),
  );
}

/** Numbers the distinct texts of a column, appends them to `texts`, and returns the number of each place's text. */
function* textColumnSteps(
  count: number,
  textOf: (place: number) => string,
  texts: string[],
): Steps<Uint32Array> {
  const column = new Uint32Array(count);
  const numbers = new Map<string, number>();
  for (let place = 0; place < count; place++) {
    const text = textOf(place);
    const known = numbers.get(text);
    column[place] = known ?? texts.length;
    if (known === undefined) {
      numbers.set(text, texts.length);
      texts.push(text);
    }
    if (place % STEP_ROWS === 0) yield;
  }
  return column;
}

/** A counting sort of places by text. */
function* placesOfTextsSteps(textCount: number, columns: readonly Uint32Array[]) {
  const placesFrom = new Uint32Array(textCount + 1);
  for (const column of columns) {
    for (const text of column) placesFrom[text + 1] = (placesFrom[text + 1] ?? 0) + 1;
    yield;
  }
  for (let text = 0; text < textCount; text++) {
    placesFrom[text + 1] = (placesFrom[text + 1] ?? 0) + (placesFrom[text] ?? 0);
  }
  const free = placesFrom.slice();
  const places = new Uint32Array(placesFrom[textCount] ?? 0);
  for (const column of columns) {
    yield;
    for (let place = 0; place < column.length; place++) {
      const text = column[place] ?? 0;
      const index = free[text] ?? 0;
      places[index] = place;
      free[text] = index + 1;
    }
  }
  return { places, placesFrom };
}

/** Ranks names; names that are equal in the order by name have equal ranks. */
function* nameOrderSteps(names: readonly string[], firstName: number, nameAt: Uint32Array) {
  const keys: string[] = [];
  for (const name of names) {
    keys.push(textKey(name));
    if (keys.length % STEP_ROWS === 0) yield;
  }
  const order = yield* sortSteps(keys.length, (a, b) => compare(at(keys, a), at(keys, b)));
  const nameRanks = new Uint32Array(keys.length);
  let rank = -1;
  let before: string | undefined;
  for (let index = 0; index < order.length; index++) {
    const name = at(order, index);
    const key = at(keys, name);
    if (key !== before) rank++;
    before = key;
    nameRanks[name] = rank;
    if (index % STEP_ROWS === 0) yield;
  }
  const placeOfNameRank = new Uint32Array(rank + 1);
  for (let place = 0; place < nameAt.length; place++) {
    placeOfNameRank[at(nameRanks, at(nameAt, place) - firstName)] = place;
  }
  return { nameRanks, placeOfNameRank };
}

/** The item at this index. @throws Error if there is none */
export function at<Item>(
  items: { readonly [index: number]: Item; readonly length: number },
  index: number,
): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`Expected an index below ${items.length}, got ${index}`);
  return item;
}
