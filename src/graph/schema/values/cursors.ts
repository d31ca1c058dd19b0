import { GatewayError } from '../../../domain/errors.js';
import { TEXT_LIMITS } from '../../../domain/text-limits.js';
import type { SortKey, TokenOrder } from '../../../search/order/token-order.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

export function encodeCursor({ order, value, tieBreaker }: SortKey): string {
  return encodeOpaque([order, value, ...tieBreaker]);
}

/**
 * Decodes the output of {@link encodeCursor}.
 *
 * @throws GatewayError BAD_USER_INPUT for anything else, and for a cursor of another order
 */
export function decodeCursor(cursor: string, order: TokenOrder): SortKey {
  const parts = cursor.length <= TEXT_LIMITS.cursor ? decodeOpaque(cursor) : undefined;
  const [itsOrder, value, ...tieBreaker] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof itsOrder !== 'string' || !isValueOf(itsOrder, value) || !isTieBreaker(tieBreaker)) {
    throw badCursor('one from an earlier page of this search', 'something else');
  }
  if (itsOrder !== order) throw badCursor(`one of the order ${order}`, `one of the order ${itsOrder}`);
  return { order, value, tieBreaker };
}

/** Whether a value is one that tokens are sorted by in each order. */
const IS_VALUE: Readonly<Record<TokenOrder, (value: unknown) => boolean>> = {
  RELEVANCE: (value) => typeof value === 'number',
  SYMBOL: (value) => value === null,
  NAME: (value) => typeof value === 'string',
  PRICE_ASC: (value) => value === null || typeof value === 'number',
  PRICE_DESC: (value) => value === null || typeof value === 'number',
};

function isValueOf(order: string, value: unknown): value is SortKey['value'] {
  return Object.hasOwn(IS_VALUE, order) && IS_VALUE[order as TokenOrder](value);
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
