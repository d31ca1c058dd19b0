import { partsOfTokenKey, tokenKey } from '../../../domain/addresses.js';
import type { Chain, Token } from '../../../domain/listing.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

/** What an id refers to. */
export type Identity =
  | { readonly type: 'Chain'; readonly chainKey: string }
  | { readonly type: 'Token'; readonly chainKey: string; readonly address: string };

// Encoding is too slow to repeat for every operation.
const ids = new WeakMap<Chain | Token, string>();

export function idOfChain(chain: Chain): string {
  return remembered(chain, () => idOfChainKey(chain.chainKey));
}

/** Equal for all letter cases of a hex address. */
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

/** Decodes an id, whether or not the object is listed now; undefined if it is no id. */
export function identityOf(id: string): Identity | undefined {
  const parts = decodeOpaque(id);
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string')) return undefined;
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
