import { GatewayError } from '../../../domain/errors.js';
import type { OrderPlace, TokenOrder } from '../../../search/token-order.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

/** No cursor that was given is longer. */
const MAX_CURSOR_LENGTH = 4096;

/** Writes a place in an order as a cursor. */
export function cursorOf({ order, value, tie }: OrderPlace): string {
  return encodeOpaque([order, value, ...tie]);
}

/**
 * Reads a cursor that {@link cursorOf} wrote.
 *
 * @throws GatewayError BAD_USER_INPUT for anything else, and for a place in another order
 */
export function placeOfCursor(cursor: string, order: TokenOrder): OrderPlace {
  const parts = cursor.length <= MAX_CURSOR_LENGTH ? decodeOpaque(cursor) : undefined;
  const [itsOrder, value, ...tie] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof itsOrder !== 'string' || !isValueOf(itsOrder, value) || !isTie(tie)) {
    throw badCursor('one that an earlier page of this search gave', 'something else');
  }
  if (itsOrder !== order) throw badCursor(`a place in the order ${order}`, `one in the order ${itsOrder}`);
  return { order, value, tie };
}

function isValueOf(order: string, value: unknown): value is OrderPlace['value'] {
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

function isTie(tie: readonly unknown[]): tie is OrderPlace['tie'] {
  return tie.length === 3 && tie.every((part) => typeof part === 'string');
}

function badCursor(expected: string, came: string): GatewayError {
  return new GatewayError(
    'BAD_USER_INPUT',
    `Expected as "after" a cursor: ${expected}, got ${came}. Leave "after" out to begin with the first page.`,
  );
}
