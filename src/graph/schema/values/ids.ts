import { foldAddress } from '../../../domain/addresses.js';
import type { Chain, Token } from '../../../domain/listing.js';
import { decodeOpaque, encodeOpaque } from './opaque.js';

/** What an id stands for. */
export type Identity =
  | { readonly type: 'Chain'; readonly chainKey: string }
  | { readonly type: 'Token'; readonly chainKey: string; readonly address: string };

// Made once for each row of a snapshot, however many operations show it.
const ids = new WeakMap<Chain | Token, string>();

/** The chain's id: unique in the whole graph, the same as long as its `chainKey` is. */
export function idOfChain(chain: Chain): string {
  return remembered(chain, () => encodeOpaque(['Chain', chain.chainKey]));
}

/** The token's id: unique in the whole graph, and the same in whatever letter case its address is written. */
export function idOfToken(token: Token): string {
  return remembered(token, () => encodeOpaque(['Token', token.chainKey, foldAddress(token.address)]));
}

/** What an id stands for, whether or not there is such a thing now; undefined for what was never an id. */
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
