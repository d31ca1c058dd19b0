import { partsOfTokenKey, tokenKey } from '../../../domain/addresses.js';
import type { Chain, Token } from '../../../domain/listing.js';
import { TEXT_LIMITS } from '../../../domain/text-limits.js';
import { encodeOpaque, jsonOfOpaque } from './opaque.js';

/** What an id refers to. */
export type Identity =
  | { readonly type: 'Chain'; readonly chainKey: string }
  | { readonly type: 'Token'; readonly chainKey: string; readonly address: string };

// Encoding is too slow to repeat for every operation.
const ids = new WeakMap<Chain | Token, string>();

export function idOfChain(chain: Chain): string {
  return remembered(chain, () => idOfChainKey(chain.chainKey));
}

/** Equal for all writings of an address. */
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

/** The ids of each type begin alike: nine bytes are twelve characters of base64. */
const STARTS = ['["Chain",', '["Token",'].map((start) => Buffer.from(start).toString('base64url'));
/** JSON of an identity. A failure of JSON.parse would take ten times as long as all else. */
const IDENTITY =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in a text.
  /^\["(?:Chain|Token)"(?:,"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"){1,2}\]$/;

/** Decodes an id, whether or not the object is listed now; undefined if it is no id. */
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
