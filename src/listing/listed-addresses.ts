import { foldAddress } from './address.js';
import type { TokenFilter } from './listing.js';
import type { TokenSnapshot } from './snapshot.js';

/** By the indexes, which snapshots that differ in nothing but prices have in common. */
const known = new WeakMap<TokenSnapshot['indexes'], ReadonlySet<string>>();

/** Whether the listing has the token that routes are asked from; without a chain, whether it has it on any. */
export function isListed(listing: TokenSnapshot, { srcChainKey, srcToken }: TokenFilter): boolean {
  if (srcToken === undefined) return false;
  if (srcChainKey !== undefined) return listing.byAddress(srcChainKey, srcToken) !== undefined;
  return addressesOf(listing).has(foldAddress(srcToken));
}

/** Made once, and only where somebody asks without a chain. */
function addressesOf({ rows, indexes }: TokenSnapshot): ReadonlySet<string> {
  const made = known.get(indexes) ?? new Set(rows.map(({ address }) => foldAddress(address)));
  known.set(indexes, made);
  return made;
}
