/** Normalises addresses and keys before they are compared, because each can have several spellings. */
import type { NativeCurrency, RouteRequest, Token } from './listing.js';
import { MAX_LENGTHS } from './text-limits.js';

/** The usual spelling of the address that listings use for the native asset of a chain. */
export const NATIVE_PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

/** Most addresses: 20 bytes in hex whose first digit is not zero. */
const USUAL = /^0x[1-9a-f][0-9a-f]{39}$/i;
const HEX = /^0x([0-9a-f]+)$/i;
const BARE_HEX = /^[0-9a-f]{40}$/i;
/** A type of the language Move, such as `0x1::aptos_coin::AptosCoin`. */
const MOVE_TYPE = /^0x[0-9a-f]+::/i;
/** The addresses in a Move type: the first one, and those of its parameters. */
const MOVE_ADDRESSES = /(?<!\w)0x([0-9a-f]+)(?=::)/gi;
/** Hex digits of an address of 20 bytes, as on EVM chains. */
const SHORT_DIGITS = 40;
/** Hex digits of an address of 32 bytes, as on Sui. */
const LONG_DIGITS = 64;
const FOLDED_PLACEHOLDER = NATIVE_PLACEHOLDER.toLowerCase();
/** Every spelling of the placeholder and of the zero address. The pattern fails early for most other texts. */
const PLACEHOLDERS = /^(?:0x0*(?:0|e{40})|0{40}|e{40})$/i;

/**
 * Normalises an address for comparison and for keys: all spellings of one address give the same text. Never show it.
 *
 * - Hex is a number: letter case, a missing `0x` before 40 digits, and zeros at its start make no difference.
 * - In the addresses of a Move type, letter case and zeros at the start make no difference. Names are case-sensitive.
 * - The zero address, which some services use for native assets, becomes the placeholder.
 * - Any other text, such as base58, is returned unchanged, and so is a text that is too long for an address.
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

/** Writes hex without zeros at its start. Fills it up to `fewest` digits if at most 40 are left, otherwise to 64. */
function foldDigits(digits: string, fewest: number): string {
  const significant = digits.replace(/^0+/, '').toLowerCase();
  return `0x${significant.padStart(significant.length > SHORT_DIGITS ? LONG_DIGITS : fewest, '0')}`;
}

/** True for any spelling of the placeholder of native assets, and of the zero address. */
export function isNativePlaceholder(address: string): boolean {
  return PLACEHOLDERS.test(address);
}

type WithNative = { readonly nativeCurrency: Pick<NativeCurrency, 'address'> };

/** True for the native asset of the chain. If the chain is unknown: only for the placeholder and the zero address. */
export function isNativeOf(chain: WithNative | null | undefined, { address }: Pick<Token, 'address'>) {
  if (isNativePlaceholder(address)) return true;
  const native = chain?.nativeCurrency.address;
  return native !== undefined && !isNativePlaceholder(native) && foldAddress(native) === foldAddress(address);
}

/** A chain key in lower case, as in rows: compare keys in this form. A text that is too long stays unchanged. */
export function foldChainKey(chainKey: string): string {
  return chainKey.length > MAX_LENGTHS.chainKey ? chainKey : chainKey.toLowerCase();
}

/** The identity of a token as one string: its folded chain key and its folded address. */
export function tokenKey(chainKey: string, address: string): string {
  const folded = foldChainKey(chainKey);
  // The length tells where the key ends: without it, different pairs could give the same text.
  return `${folded.length} ${folded} ${foldAddress(address)}`;
}

/** The folded chain key and address of a {@link tokenKey}. */
export function partsOfTokenKey(key: string): { readonly chainKey: string; readonly address: string } {
  const start = key.indexOf(' ') + 1;
  const end = start + Number(key.slice(0, start));
  return { chainKey: key.slice(start, end), address: key.slice(end + 1) };
}

/** The name of a row for the log, as rules write it: `base:0x8335…` for a {@link tokenKey}, and any other text as it is. */
export function rowName(key: string): string {
  const { chainKey, address } = partsOfTokenKey(key);
  return tokenKey(chainKey, address) === key ? `${chainKey}:${address}` : key;
}

/** The request as one string. Different spellings of one key or address give the same string. */
export function routeRequestKey({ srcChainKey, srcToken }: RouteRequest): string {
  const chainKey = srcChainKey === undefined ? null : foldChainKey(srcChainKey);
  return JSON.stringify([chainKey, foldAddress(srcToken)]);
}
