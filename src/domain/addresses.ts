import type { NativeCurrency, Token, TokenFilter } from './listing.js';
import { MAX_LENGTHS } from './text-limits.js';

/** The address that stands for a chain's native asset in listings, as it is most often written. */
export const NATIVE_PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

/** 20 bytes that do not begin with a zero, as most addresses are. */
const USUAL = /^0x[1-9a-f][0-9a-f]{39}$/i;
const HEX = /^0x([0-9a-f]+)$/i;
/** 20 bytes without `0x`. */
const BARE_HEX = /^[0-9a-f]{40}$/i;
/** A type of Move, such as `0x1::aptos_coin::AptosCoin`. */
const MOVE_TYPE = /^0x[0-9a-f]+::/i;
/** The addresses within a type of Move: the first one, and those of its parameters. */
const MOVE_ADDRESSES = /(?<!\w)0x([0-9a-f]+)(?=::)/gi;
/** Digits of an address of 20 bytes, as on EVM chains, and of one of 32, as on Sui. */
const SHORT_DIGITS = 40;
const LONG_DIGITS = 64;
const FOLDED_PLACEHOLDER = NATIVE_PLACEHOLDER.toLowerCase();
/** Every writing of the placeholder and of zero. One pattern, since this is tested for each row and mostly fails soon. */
const PLACEHOLDERS = /^(?:0x0*(?:0|e{40})|0{40}|e{40})$/i;

/**
 * Normalises an address for comparison and for keys: all writings of one address give the same text. Never show it.
 *
 * - Hex is a number: letter case, a missing `0x` before 40 digits, and zeros at its start make no difference.
 * - In a type of Move this is true of its addresses; names of modules and types are case-sensitive.
 * - The zero address, which some services use for native assets, becomes the placeholder.
 * - Everything else, such as base58, stays as it is; so does a text that is longer than any address.
 */
export function foldAddress(address: string): string {
  if (address.length > MAX_LENGTHS.address) return address;
  if (USUAL.test(address)) return address.toLowerCase();
  const digits = BARE_HEX.test(address) ? address : HEX.exec(address)?.[1];
  if (digits !== undefined)
    return isNativePlaceholder(address) ? FOLDED_PLACEHOLDER : foldDigits(digits, SHORT_DIGITS);
  if (!MOVE_TYPE.test(address)) return address;
  return address.replace(MOVE_ADDRESSES, (_address, within: string) => foldDigits(within, 1));
}

/** With as many digits as addresses are mostly written with, so that most keys and ids are simply in lower case. */
function foldDigits(digits: string, fewest: number): string {
  const significant = digits.replace(/^0+/, '').toLowerCase();
  return `0x${significant.padStart(significant.length > SHORT_DIGITS ? LONG_DIGITS : fewest, '0')}`;
}

/** True if the address stands for the native asset of a chain, in any writing. */
export function isNativePlaceholder(address: string): boolean {
  return PLACEHOLDERS.test(address);
}

/** True if the token is the native asset of its chain. Without the chain only the placeholder is recognised. */
export function isNativeOf(
  chain: { readonly nativeCurrency: Pick<NativeCurrency, 'address'> } | null | undefined,
  { address }: Pick<Token, 'address'>,
): boolean {
  if (isNativePlaceholder(address)) return true;
  const native = chain?.nativeCurrency.address;
  return native !== undefined && !isNativePlaceholder(native) && foldAddress(native) === foldAddress(address);
}

/**
 * The key of a chain as it is compared and looked up: keys that differ only in letter case are one key. Rows have it in
 * this form; a client may write it otherwise. A text that is longer than any key stays as it is.
 */
export function foldChainKey(chainKey: string): string {
  return chainKey.length > MAX_LENGTHS.chainKey ? chainKey : chainKey.toLowerCase();
}

/** The identity of a token as one string: its folded chain key and its folded address. */
export function tokenKey(chainKey: string, address: string): string {
  const folded = foldChainKey(chainKey);
  // The length keeps apart what would be equal texts when joined.
  return `${folded.length} ${folded} ${foldAddress(address)}`;
}

/** The folded chain key and address of a {@link tokenKey}. */
export function partsOfTokenKey(key: string): { readonly chainKey: string; readonly address: string } {
  const start = key.indexOf(' ') + 1;
  const end = start + Number(key.slice(0, start));
  return { chainKey: key.slice(start, end), address: key.slice(end + 1) };
}

/** The filter as one string; two writings of one key or address give the same string. */
export function tokenFilterKey({ srcChainKey, srcToken }: TokenFilter): string {
  return JSON.stringify([
    srcChainKey === undefined ? null : foldChainKey(srcChainKey),
    srcToken === undefined ? null : foldAddress(srcToken),
  ]);
}
