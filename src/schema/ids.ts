import { foldAddress } from '../listing/address.js';
import type { Chain, Token } from '../listing/listing.js';

// Made once for each row of a snapshot, however many operations show it.
const ids = new WeakMap<Chain | Token, string>();

/** The chain's id: unique in the whole graph, the same as long as its `chainKey` is. */
export function idOfChain(chain: Chain): string {
  return remembered(chain, () => encode('Chain', chain.chainKey));
}

/** The token's id: unique in the whole graph, and the same in whatever letter case its address is written. */
export function idOfToken(token: Token): string {
  return remembered(token, () => encode('Token', token.chainKey, foldAddress(token.address)));
}

function remembered(row: Chain | Token, make: () => string): string {
  const known = ids.get(row);
  if (known !== undefined) return known;
  const id = make();
  ids.set(row, id);
  return id;
}

/** Base64url, which says: not for reading. */
function encode(...parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}
