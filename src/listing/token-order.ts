import { createHash } from 'node:crypto';
import type { Token } from './listing.js';

/** What the tokens of a search can be ordered by. */
export type TokenOrder = 'RELEVANCE' | 'SYMBOL' | 'NAME' | 'PRICE_DESC' | 'PRICE_ASC';

/**
 * A place in an order: by what the token there was ordered, and what tells it from all others. It stays
 * meaningful when the token has moved or left.
 */
export interface OrderPlace {
  readonly order: TokenOrder;
  /** The rank by relevance, the name or the price; null by symbol, and where there is no price. */
  readonly value: number | string | null;
  /** What decides between equal values. */
  readonly tie: Tie;
}

/** Symbol, chain and address as they are ordered: different for any two tokens, and of bounded length. */
export type Tie = readonly [symbol: string, chainKey: string, address: string];

/** The orders of one token listing that do not depend on what is searched for; rows by their number. */
export interface TokenOrders {
  /** All rows by their ties, which is the order by symbol. */
  bySymbol(): Uint32Array;
  byName(): Uint32Array;
  /** Those without a price last, whichever the direction. */
  byPrice(direction: 'PRICE_DESC' | 'PRICE_ASC'): Uint32Array;
  nameOf(row: number): string;
  tieOf(row: number): Tie;
}

/** Of longer symbols and names, only so much counts. */
const MAX_TEXT_LENGTH = 64;
/** Longer keys and addresses count by their digest. */
const MAX_KEY_LENGTH = 128;

/**
 * Makes the orders of a listing; each is sorted when it is first asked for.
 *
 * @param addresses the rows' addresses as compared
 */
export function createTokenOrders(rows: readonly Token[], addresses: readonly string[]): TokenOrders {
  const ties = rows.map<Tie>(({ symbol, chainKey }, row) => [
    textKey(symbol),
    boundedKey(chainKey),
    boundedKey(addresses[row] ?? ''),
  ]);
  const names = rows.map(({ name }) => textKey(name));
  const orders = new Map<TokenOrder, Uint32Array>();

  function order(name: TokenOrder, make: () => Uint32Array): Uint32Array {
    const made = orders.get(name) ?? make();
    orders.set(name, made);
    return made;
  }
  // Sorting is stable: what these sort further is ordered by ties within equal values.
  const bySymbol = () =>
    order('SYMBOL', () => Uint32Array.from(rows.keys()).sort((a, b) => compareTies(tieOf(a), tieOf(b))));
  function tieOf(row: number): Tie {
    return ties[row] ?? ['', '', ''];
  }
  const nameOf = (row: number) => names[row] ?? '';
  return {
    bySymbol,
    byName: () =>
      order('NAME', () =>
        bySymbol()
          .slice()
          .sort((a, b) => compare(nameOf(a), nameOf(b))),
      ),
    byPrice: (direction) =>
      order(direction, () => {
        const prices = rows.map(({ price }) => price?.usd ?? null);
        return bySymbol()
          .slice()
          .sort((a, b) => comparePrices(direction, prices[a] ?? null, prices[b] ?? null));
      }),
    nameOf,
    tieOf,
  };
}

/** Less than 0 where `a` comes before `b`; both of one order. */
export function comparePlaces(a: OrderPlace, b: OrderPlace): number {
  return compareValues(a.order, a.value, b.value) || compareTies(a.tie, b.tie);
}

function compareValues(order: TokenOrder, a: OrderPlace['value'], b: OrderPlace['value']): number {
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

function compareTies(a: Tie, b: Tie): number {
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
