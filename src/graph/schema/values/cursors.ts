import { GatewayError } from '../../../domain/errors.js';
import type { SortKey, TokenOrder } from '../../../search/token-order.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

/** No cursor that was given is longer. */
const MAX_CURSOR_LENGTH = 4096;

/** Writes a place in an order as a cursor. */
export function encodeCursor({ order, value, tieBreaker }: SortKey): string {
  return encodeOpaque([order, value, ...tieBreaker]);
}

/**
 * Reads a cursor that {@link encodeCursor} wrote.
 *
 * @throws GatewayError BAD_USER_INPUT for anything else, and for a place in another order
 */
export function decodeCursor(cursor: string, order: TokenOrder): SortKey {
  const parts = cursor.length <= MAX_CURSOR_LENGTH ? decodeOpaque(cursor) : undefined;
  const [itsOrder, value, ...tieBreaker] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof itsOrder !== 'string' || !isValueOf(itsOrder, value) || !isTieBreaker(tieBreaker)) {
    throw badCursor('one that an earlier page of this search gave', 'something else');
  }
  if (itsOrder !== order) throw badCursor(`a place in the order ${order}`, `one in the order ${itsOrder}`);
  return { order, value, tieBreaker };
}

function isValueOf(order: string, value: unknown): value is SortKey['value'] {
  switch (order as TokenOrder) {
    case 'RELEVANCE':
      return typeof value === 'number';
    case 'SYMBOL':
      return value === null;
    case 'NAME':
      return typeof value === 'string';
    case 'PRICE_ASC':
    case 'PRICE_DESC':
      return value === null || typeof value === 'number';
    default:
      return false;
  }
}

function isTieBreaker(tieBreaker: readonly unknown[]): tieBreaker is SortKey['tieBreaker'] {
  return tieBreaker.length === 3 && tieBreaker.every((part) => typeof part === 'string');
}

function badCursor(expected: string, came: string): GatewayError {
  return new GatewayError(
    'BAD_USER_INPUT',
    `Expected as "after" a cursor: ${expected}, got ${came}. Leave "after" out to begin with the first page.`,
  );
}
