import { GatewayError } from '../../../domain/errors.js';
import type { SortKey, TokenOrder } from '../../../search/token-order.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

/** Longer than any cursor that the gateway writes. */
const MAX_CURSOR_LENGTH = 4096;

export function encodeCursor({ order, value, tieBreaker }: SortKey): string {
  return encodeOpaque([order, value, ...tieBreaker]);
}

/**
 * Decodes the output of {@link encodeCursor}.
 *
 * @throws GatewayError BAD_USER_INPUT for anything else, and for a cursor of another order
 */
export function decodeCursor(cursor: string, order: TokenOrder): SortKey {
  const parts = cursor.length <= MAX_CURSOR_LENGTH ? decodeOpaque(cursor) : undefined;
  const [itsOrder, value, ...tieBreaker] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof itsOrder !== 'string' || !isValueOf(itsOrder, value) || !isTieBreaker(tieBreaker)) {
    throw badCursor('one from an earlier page of this search', 'something else');
  }
  if (itsOrder !== order) throw badCursor(`one of the order ${order}`, `one of the order ${itsOrder}`);
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
    `Expected a cursor as "after", ${expected}, got ${came}. Leave "after" out to start with the first page.`,
  );
}
