import type { Chain, Token, TokenFilter } from './listing.js';

/** The address that stands for a chain's native asset in listings, as it is most often written. */
export const NATIVE_PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

const HEX = /^0x[0-9a-f]+$/i;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const FOLDED_PLACEHOLDER = NATIVE_PLACEHOLDER.toLowerCase();
/** Every writing of the placeholder. One pattern, since this is tested for each row and mostly fails at the first digit. */
const PLACEHOLDERS = /^0x(?:e{40}|0{40})$/i;

/**
 * Normalises an address for comparison and for keys. Never show the result.
 *
 * Only addresses that are `0x` and hex digits are lower-cased: base58 and Move types are case-sensitive. The zero
 * address, which some services use for native assets, becomes the placeholder.
 */
export function foldAddress(address: string): string {
  if (!HEX.test(address)) return address;
  const folded = address.toLowerCase();
  return folded === ZERO_ADDRESS ? FOLDED_PLACEHOLDER : folded;
}

/** True if the address stands for the native asset of a chain, in any letter case. */
export function isNativePlaceholder(address: string): boolean {
  return PLACEHOLDERS.test(address);
}

/** True if the token is the native asset of its chain. Without the chain only the placeholder is recognised. */
export function isNativeOf(chain: Chain | null | undefined, { address }: Pick<Token, 'address'>): boolean {
  if (isNativePlaceholder(address)) return true;
  const native = chain?.nativeCurrency.address;
  return native !== undefined && !isNativePlaceholder(native) && foldAddress(native) === foldAddress(address);
}

/** The identity of a token as one string: its chain and its folded address. */
export function tokenKey(chainKey: string, address: string): string {
  // The length keeps apart what would be equal texts when joined.
  return `${chainKey.length} ${chainKey} ${foldAddress(address)}`;
}

/** The chain and the folded address of a {@link tokenKey}. */
export function partsOfTokenKey(key: string): { readonly chainKey: string; readonly address: string } {
  const start = key.indexOf(' ') + 1;
  const end = start + Number(key.slice(0, start));
  return { chainKey: key.slice(start, end), address: key.slice(end + 1) };
}

/** The filter as one string; two writings of one address give the same key. */
export function tokenFilterKey({ srcChainKey, srcToken }: TokenFilter): string {
  return JSON.stringify([srcChainKey ?? null, srcToken === undefined ? null : foldAddress(srcToken)]);
}
