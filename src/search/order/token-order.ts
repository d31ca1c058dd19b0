import { createHash } from 'node:crypto';
import { foldAddress } from '../../domain/addresses.js';
import type { Token } from '../../domain/listing.js';

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

/** Longer symbols and names are compared by their first characters only. */
const MAX_TEXT_LENGTH = 64;
/** Longer keys and addresses are replaced by a digest. */
const MAX_KEY_LENGTH = 128;

export function tieBreakerOf({ symbol, chainKey, address }: Token): TieBreaker {
  return [textKey(symbol), boundedKey(chainKey), boundedKey(foldAddress(address))];
}

/** Compares two tokens with equal symbols as their tie-breakers compare, without making these. */
export function compareByChainAndAddress(a: Token, b: Token): number {
  return (
    compare(boundedKey(a.chainKey), boundedKey(b.chainKey)) ||
    compare(boundedKey(foldAddress(a.address)), boundedKey(foldAddress(b.address)))
  );
}

export function compareTieBreakers(a: TieBreaker, b: TieBreaker): number {
  return compare(a[0], b[0]) || compare(a[1], b[1]) || compare(a[2], b[2]);
}

/** By code units: unlike the collation of a language, it is the same on every machine and version. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What symbols and names are ordered by. */
export function textKey(text: string): string {
  return text.toLowerCase().slice(0, MAX_TEXT_LENGTH);
}

function boundedKey(key: string): string {
  // As JSON, which keeps lone surrogates apart; in UTF-8 they are all alike.
  return key.length <= MAX_KEY_LENGTH
    ? key
    : createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}

/** Binary search for the first index below `count` that is behind; all after it are, too. `count` if none is. */
export function firstIndex(count: number, isBehind: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
