import { createHash } from 'node:crypto';
import { forEachSlice, sortInSlices, step } from '../scheduling/chunks.js';

/** What the tokens of a search can be ordered by. */
export type TokenOrder = 'RELEVANCE' | 'SYMBOL' | 'NAME' | 'PRICE_DESC' | 'PRICE_ASC';

/**
 * A place in an order: by what the token there was ordered, and what tells it from all others. It stays
 * meaningful when the token has moved or left.
 */
export interface SortKey {
  readonly order: TokenOrder;
  /** The rank by relevance, the name or the price; null by symbol, and where there is no price. */
  readonly value: number | string | null;
  /** What decides between equal values. */
  readonly tieBreaker: TieBreaker;
}

/** Symbol, chain and address as they are ordered: different for any two tokens, and of bounded length. */
export type TieBreaker = readonly [symbol: string, chainKey: string, address: string];

/** The orders of one token listing by its texts; rows by their number. */
export interface TokenOrders {
  /** All rows by their tieBreakers, which is the order by symbol. */
  readonly bySymbol: Uint32Array;
  readonly byName: Uint32Array;
  nameOf(row: number): string;
  tieBreakerOf(row: number): TieBreaker;
}

/** Of longer symbols and names, only so much counts. */
const MAX_TEXT_LENGTH = 64;
/** Longer keys and addresses count by their digest. */
const MAX_KEY_LENGTH = 128;

/** The texts of a listing's rows, by the row's number. The rows themselves are not held by what is made of them. */
export interface TokenTexts {
  readonly chainKeys: readonly string[];
  /** As compared. */
  readonly addresses: readonly string[];
  readonly symbols: readonly string[];
  readonly names: readonly string[];
}

/** Makes the orders of a listing, step by step. */
export async function createTokenOrders(texts: TokenTexts): Promise<TokenOrders> {
  const tieBreakers: TieBreaker[] = [];
  await forEachSlice(texts.symbols, (slice, offset) => {
    for (const [index, symbol] of slice.entries()) {
      const row = offset + index;
      tieBreakers.push([
        textKey(symbol),
        boundedKey(texts.chainKeys[row] ?? ''),
        boundedKey(texts.addresses[row] ?? ''),
      ]);
    }
  });
  const names = await step(() => texts.names.map(textKey));
  const tieBreakerOf = (row: number): TieBreaker => tieBreakers[row] ?? ['', '', ''];
  const nameOf = (row: number) => names[row] ?? '';
  const bySymbol = await sortInSlices(tieBreakers.length, (a, b) =>
    compareTieBreakers(tieBreakerOf(a), tieBreakerOf(b)),
  );
  // What is equal by name stays in the order of tieBreakers.
  const places = new Uint32Array(bySymbol.length);
  for (const [place, row] of bySymbol.entries()) places[row] = place;
  const byName = await sortInSlices(
    names.length,
    (a, b) => compare(nameOf(a), nameOf(b)) || (places[a] ?? 0) - (places[b] ?? 0),
  );
  return { bySymbol, byName, tieBreakerOf, nameOf };
}

/**
 * The rows of these prices in their order, those without one last, whichever the direction.
 *
 * @param bySymbol all rows in the order that holds within equal prices
 */
export function sortByPrice(
  prices: readonly (number | null)[],
  bySymbol: Uint32Array,
  direction: 'PRICE_DESC' | 'PRICE_ASC',
): Uint32Array {
  return bySymbol.slice().sort((a, b) => comparePrices(direction, prices[a] ?? null, prices[b] ?? null));
}

/** Less than 0 where `a` comes before `b`; both of one order. */
export function compareSortKeys(a: SortKey, b: SortKey): number {
  return compareValues(a.order, a.value, b.value) || compareTieBreakers(a.tieBreaker, b.tieBreaker);
}

function compareValues(order: TokenOrder, a: SortKey['value'], b: SortKey['value']): number {
  if (order === 'SYMBOL') return 0;
  if (order === 'PRICE_ASC' || order === 'PRICE_DESC') {
    return comparePrices(order, a === null ? null : Number(a), b === null ? null : Number(b));
  }
  return compare(a ?? 0, b ?? 0);
}

function comparePrices(direction: 'PRICE_DESC' | 'PRICE_ASC', a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return direction === 'PRICE_ASC' ? a - b : b - a;
}

function compareTieBreakers(a: TieBreaker, b: TieBreaker): number {
  return compare(a[0], b[0]) || compare(a[1], b[1]) || compare(a[2], b[2]);
}

/** By code units: the same everywhere and for ever, which the sorting of a language is not. */
function compare(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function textKey(text: string): string {
  return text.toLowerCase().slice(0, MAX_TEXT_LENGTH);
}

function boundedKey(key: string): string {
  // As JSON, since lone surrogates are all alike in UTF-8.
  return key.length <= MAX_KEY_LENGTH
    ? key
    : createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}
