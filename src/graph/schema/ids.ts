/** Opaque texts: the ids of chains and tokens, and the cursors of a search. Both are JSON in base64url. */
import { partsOfTokenKey, tokenKey } from '../../domain/addresses.js';
import { GatewayError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import { TEXT_LIMITS } from '../../domain/text-limits.js';
import type { SortKey, TokenOrder } from '../../search/token-order.js';

/** The chain or token that an id refers to. */
export type Identity =
  | { readonly type: 'Chain'; readonly chainKey: string }
  | { readonly type: 'Token'; readonly chainKey: string; readonly address: string };

// Encoding is too slow to repeat for every operation.
const ids = new WeakMap<Chain | Token, string>();

export function idOfChain(chain: Chain): string {
  return remembered(chain, () => idOfChainKey(chain.chainKey));
}

/** The id of a token, which is the same for all forms of its address. */
export function idOfToken(token: Token): string {
  return remembered(token, () => idOfTokenKey(tokenKey(token.chainKey, token.address)));
}

/** The id of a chain that may no longer be listed. */
export function idOfChainKey(chainKey: string): string {
  return encodeOpaque(['Chain', chainKey]);
}

/** The id of a token that may no longer be listed, by its `tokenKey`. */
export function idOfTokenKey(key: string): string {
  const { chainKey, address } = partsOfTokenKey(key);
  return encodeOpaque(['Token', chainKey, address]);
}

/** The starts of all ids. Nine bytes are twelve characters of base64, so all ids of a type start alike. */
const STARTS = ['["Chain",', '["Token",'].map((start) => Buffer.from(start).toString('base64url'));
/** Matches the JSON of an identity. Tested first: if JSON.parse fails, it takes ten times as long as the rest. */
const IDENTITY =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in a text.
  /^\["(?:Chain|Token)"(?:,"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"){1,2}\]$/;

/** Decodes an id, whether or not the object is listed now; undefined for any other text. */
export function identityOf(id: string): Identity | undefined {
  if (id.length > TEXT_LIMITS.id || !STARTS.some((start) => id.startsWith(start))) return undefined;
  const json = jsonOfOpaque(id);
  if (json === undefined || !IDENTITY.test(json)) return undefined;
  const parts = JSON.parse(json) as readonly string[];
  const [type, chainKey = '', address = ''] = parts;
  if (type === 'Chain' && parts.length === 2) return { type, chainKey };
  return type === 'Token' && parts.length === 3 ? { type, chainKey, address } : undefined;
}

function remembered(row: Chain | Token, make: () => string): string {
  const known = ids.get(row);
  if (known !== undefined) return known;
  const id = make();
  ids.set(row, id);
  return id;
}

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
  const [cursorOrder, value, ...tieBreaker] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof cursorOrder !== 'string' || !isValueOf(cursorOrder, value) || !isTieBreaker(tieBreaker)) {
    throw badCursor('one from an earlier page of this search', 'something else');
  }
  if (cursorOrder !== order) throw badCursor(`one of the order ${order}`, `one of the order ${cursorOrder}`);
  return { order, value, tieBreaker };
}

/** For each order, whether tokens can be sorted by this value. */
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

function badCursor(expected: string, actual: string): GatewayError {
  return new GatewayError(
    'BAD_USER_INPUT',
    `Expected a cursor as "after", ${expected}, got ${actual}. Leave "after" out to start with the first page.`,
  );
}

/** Encodes a value as base64url, so that clients do not depend on its form. */
function encodeOpaque(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The JSON in the output of {@link encodeOpaque}, also as plain base64 with padding; undefined for other texts. */
function jsonOfOpaque(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips characters that are not base64, so accept only what it would write itself.
  const isWhole = text === bytes.toString('base64url') || text === bytes.toString('base64');
  return isWhole ? bytes.toString() : undefined;
}

/** Decodes the output of {@link encodeOpaque}; undefined for anything else. */
function decodeOpaque(text: string): unknown {
  try {
    return JSON.parse(jsonOfOpaque(text) ?? '');
  } catch {
    return undefined;
  }
}
