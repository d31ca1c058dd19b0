/** Makes the rows of chains and tokens from checked rows, with the members that the gateway adds. */
import { caip2Of } from './caip.js';
import { type Chain, type HeldBackFact, NOTHING_HELD_BACK, type Price, type Token } from './listing.js';

export function chainFrom(row: Omit<Chain, 'caip2' | 'heldBack'>): Chain {
  Object.freeze(row.nativeCurrency);
  return Object.freeze({ ...row, caip2: caip2Of(row), heldBack: NOTHING_HELD_BACK });
}

/** A token from a checked row or from another token, with the price to serve. */
export function tokenFrom(
  row: Omit<Token, 'price' | 'heldBack'>,
  price: Price | null,
  heldBack: readonly HeldBackFact[] = NOTHING_HELD_BACK,
): Token {
  // A literal with every member, because with a spread V8 would give each token its own hidden class.
  const { isBridgeable, chainKey, address, decimals, symbol, name, logoUrl } = row;
  if (price) Object.freeze(price);
  return Object.freeze({
    isBridgeable,
    chainKey,
    address,
    decimals,
    symbol,
    name,
    logoUrl,
    price,
    heldBack: Object.freeze(heldBack),
  });
}
