import type { Chain, Token, TokenFilter } from './listing.js';

/** The address that stands for a chain's native asset in listings, as it is most often written. */
export const NATIVE_PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

const HEX = /^0x[0-9a-f]+$/i;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const FOLDED_PLACEHOLDER = NATIVE_PLACEHOLDER.toLowerCase();
/** All that is folded to the placeholder; asked for each row of an answer, and most fail at the first digit. */
const PLACEHOLDERS = /^0x(?:e{40}|0{40})$/i;

/**
 * The form in which two writings of one address are equal; for comparing and as a key, never for showing.
 *
 * Case is folded only where the whole address is `0x` and hex digits: base58 and Move types are
 * case-sensitive. The zero address, which some services use for native assets, becomes the placeholder.
 */
export function foldAddress(address: string): string {
  if (!HEX.test(address)) return address;
  const folded = address.toLowerCase();
  return folded === ZERO_ADDRESS ? FOLDED_PLACEHOLDER : folded;
}

/** Whether this address, however written, stands for the native asset of whatever chain it is on. */
export function isNativePlaceholder(address: string): boolean {
  return PLACEHOLDERS.test(address);
}

/** Whether this token is the native asset of its chain; where that is not known, by the placeholder alone. */
export function isNativeOf(chain: Chain | null | undefined, { address }: Pick<Token, 'address'>): boolean {
  if (isNativePlaceholder(address)) return true;
  const native = chain?.nativeCurrency.address;
  return native !== undefined && !isNativePlaceholder(native) && foldAddress(native) === foldAddress(address);
}

/** One key for a token's identity: its chain and its address as compared. */
export function tokenKey(chainKey: string, address: string): string {
  return JSON.stringify([chainKey, foldAddress(address)]);
}

/** One key for a token filter; filters that are equal but for the writing of an address have equal keys. */
export function tokenFilterKey({ srcChainKey, srcToken }: TokenFilter): string {
  return JSON.stringify([srcChainKey ?? null, srcToken === undefined ? null : foldAddress(srcToken)]);
}
