import { createHash } from 'node:crypto';
import { forEachChunk, yieldThen } from '../scheduling/chunks.js';

export type TokenOrder = 'RELEVANCE' | 'SYMBOL' | 'NAME' | 'PRICE_DESC' | 'PRICE_ASC';

/**
 * The position of a token in an order. It consists of values, not of an index, and so remains usable after
 * the token has moved or left the listing.
 */
export interface SortKey {
  readonly order: TokenOrder;
  /** The rank, name or price that is ordered by; null for order by symbol, and for a token without a price. */
  readonly value: number | string | null;
  /** Decides between equal values. */
  readonly tieBreaker: TieBreaker;
}

/** Normalised and of bounded length; different for any two tokens. */
export type TieBreaker = readonly [symbol: string, chainKey: string, address: string];

/** The orders of one token listing that do not depend on prices. Rows are meant by their numbers. */
export interface TokenOrders {
  /** All rows in the order of their tie-breakers, which begin with the symbol. */
  readonly bySymbol: Uint32Array;
  readonly byName: Uint32Array;
  nameOf(row: number): string;
  tieBreakerOf(row: number): TieBreaker;
}

/** Longer symbols and names are compared by their first characters only. */
const MAX_TEXT_LENGTH = 64;
/** Longer keys and addresses are replaced by a digest. */
const MAX_KEY_LENGTH = 128;

/** The texts of a listing's rows, by row number. Indexes hold these and not the rows, so that old rows can be freed. */
export interface TokenTexts {
  readonly chainKeys: readonly string[];
  /** Folded for comparison. */
  readonly addresses: readonly string[];
  readonly symbols: readonly string[];
  readonly names: readonly string[];
}

/** Makes the orders of a listing in steps, so that requests are answered in between. */
export async function createTokenOrders(texts: TokenTexts): Promise<TokenOrders> {
  const tieBreakers: TieBreaker[] = [];
  await forEachChunk(texts.symbols, (slice, offset) => {
    for (const [index, symbol] of slice.entries()) {
      const row = offset + index;
      tieBreakers.push([
        textKey(symbol),
        boundedKey(texts.chainKeys[row] ?? ''),
        boundedKey(texts.addresses[row] ?? ''),
      ]);
    }
  });
  const names = await yieldThen(() => texts.names.map(textKey));
  const tieBreakerOf = (row: number): TieBreaker => tieBreakers[row] ?? ['', '', ''];
  const nameOf = (row: number) => names[row] ?? '';
  const bySymbol = await yieldThen(() =>
    Uint32Array.from(names.keys()).sort((a, b) => compareTieBreakers(tieBreakerOf(a), tieBreakerOf(b))),
  );
  // The sort is stable: rows with equal names stay in the order of their tie-breakers.
  const byName = await yieldThen(() => bySymbol.slice().sort((a, b) => compare(nameOf(a), nameOf(b))));
  return { bySymbol, byName, tieBreakerOf, nameOf };
}

/**
 * Sorts rows by price. Rows without a price come last in both directions.
 *
 * @param bySymbol all rows in the order that decides between equal prices
 */
export function sortByPrice(
  prices: readonly (number | null)[],
  bySymbol: Uint32Array,
  direction: 'PRICE_DESC' | 'PRICE_ASC',
): Uint32Array {
  return bySymbol.slice().sort((a, b) => comparePrices(direction, prices[a] ?? null, prices[b] ?? null));
}

/** Negative if `a` comes before `b`. Both must be of the same order. */
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

/** By code units: unlike the collation of a language, it is the same on every machine and version. */
function compare(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function textKey(text: string): string {
  return text.toLowerCase().slice(0, MAX_TEXT_LENGTH);
}

function boundedKey(key: string): string {
  // As JSON, which keeps lone surrogates apart; in UTF-8 they are all alike.
  return key.length <= MAX_KEY_LENGTH
    ? key
    : createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}
