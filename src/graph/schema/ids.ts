/** Opaque texts: the ids of chains and tokens, and the cursors of a search. Both are JSON in base64url. */
import * as v from 'valibot';
import { partsOfTokenKey, tokenKey } from '../../domain/addresses.js';
import type { GatewayError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import { memoized } from '../../domain/memoized.js';
import { TEXT_LIMITS } from '../../domain/text-limits.js';
import type { SortKey, TokenOrder } from '../../search/token-order.js';
import { badInput } from './arguments.js';

/** The chain or token that an id refers to. */
export type Identity =
  | { readonly type: 'Chain'; readonly chainKey: string }
  | { readonly type: 'Token'; readonly chainKey: string; readonly address: string };

// Memoized, because encoding is too slow to repeat for every operation.
export const idOfChain = memoized(({ chainKey }: Chain): string => idOfChainKey(chainKey));
/** The id of a token, which is the same for all forms of its address. */
export const idOfToken = memoized(({ chainKey, address }: Token): string =>
  idOfTokenKey(tokenKey(chainKey, address)),
);

/** The id of a chain that may no longer be listed. */
export function idOfChainKey(chainKey: string): string {
  return encodeOpaque(['Chain', chainKey]);
}

/** The id of a token that may no longer be listed, by its `tokenKey`. */
export function idOfTokenKey(key: string): string {
  const { chainKey, address } = partsOfTokenKey(key);
  return encodeOpaque(['Token', chainKey, address]);
}

/** Matches the JSON of an identity. Tested first: a JSON.parse that fails takes ten times as long as the rest. */
const IDENTITY =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in a text.
  /^\["(?:Chain|Token)"(?:,"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"){1,2}\]$/;

/** Decodes an id, whether or not the object is listed now; undefined for any other text. */
export function identityOf(id: string): Identity | undefined {
  if (id.length > TEXT_LIMITS.id) return undefined;
  const json = jsonOfOpaque(id);
  const parts = IDENTITY.test(json) ? (JSON.parse(json) as readonly string[]) : [];
  const [type, chainKey = '', address = ''] = parts;
  if (type === 'Chain' && parts.length === 2) return { type, chainKey };
  return type === 'Token' && parts.length === 3 ? { type, chainKey, address } : undefined;
}

export function encodeCursor({ order, value, tieBreaker }: SortKey): string {
  return encodeOpaque([order, value, ...tieBreaker]);
}

const cursorOf = <Value extends SortKey['value']>(order: TokenOrder, value: v.GenericSchema<Value>) =>
  v.strictTuple([v.literal(order), value, v.string(), v.string(), v.string()]);
const Cursor = v.union([
  cursorOf('RELEVANCE', v.number()),
  cursorOf('SYMBOL', v.null()),
  cursorOf('NAME', v.string()),
  cursorOf('PRICE_ASC', v.nullable(v.number())),
  cursorOf('PRICE_DESC', v.nullable(v.number())),
]);

/** @throws GatewayError BAD_USER_INPUT for any other text, and for a cursor of another order */
export function decodeCursor(cursor: string, order: TokenOrder): SortKey {
  const parsed = v.safeParse(Cursor, cursor.length <= TEXT_LIMITS.cursor ? valueIn(cursor) : undefined);
  if (!parsed.success) throw badCursor('one from an earlier page of this search', 'something else');
  const [cursorOrder, value, ...tieBreaker] = parsed.output;
  if (cursorOrder !== order) throw badCursor(`one of the order ${order}`, `one of the order ${cursorOrder}`);
  return { order, value, tieBreaker };
}

function badCursor(expected: string, actual: string): GatewayError {
  return badInput(
    `Expected a cursor as "after", ${expected}, got ${actual}. Leave "after" out to start with the first page.`,
  );
}

/** Encodes a value as base64url, so that clients do not depend on its form. */
function encodeOpaque(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Decodes base64url, or plain base64 with padding. Empty for a text that is neither. */
function jsonOfOpaque(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips characters that are not base64, so only a text that Node would write in the same way is accepted.
  const isWhole = text === bytes.toString('base64url') || text === bytes.toString('base64');
  return isWhole ? bytes.toString() : '';
}

/** The value in the output of {@link encodeOpaque}; undefined for anything else. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(jsonOfOpaque(text));
  } catch {
    return undefined;
  }
}
