/** What a typed word identifies, in place of being part of a text. */
export interface Identifier {
  /** Addresses that the word may be, in the letter case as typed. */
  readonly addresses: readonly string[];
  /** The start of addresses, in lower case. */
  readonly addressStart?: string;
  /** The chain that the word means, as a CAIP-2 identifier in lower case. */
  readonly caip2?: string;
  /** The only chain on which the address is meant, in the same form. */
  readonly addressOn?: string;
}

/** An asset type of CAIP-19 with its chain and its address, such as `eip155:1/erc20:0xA0b8…`. */
const ASSET_TYPE = /^([-a-z0-9]{3,8}:[-_a-z0-9]{1,32})\/(?:erc20|token):([-.%a-z0-9]{1,128})$/i;
/** A text of this form can be nothing but the CAIP-2 identifier of a chain. */
const EVM_CHAIN = /^eip155:\d{1,32}$/i;
const HEX = /^0x[0-9a-f]+$/i;
/** Finds an address within a longer text, such as a link. */
const HEX_WITHIN = /0x[0-9a-f]{40,64}(?![0-9a-z])/i;
/** An address of a Move module, such as `0x1::aptos_coin::AptosCoin`. */
const MOVE_TYPE = /^0x[0-9a-f]+::/i;
/** 32 bytes in base58, as on Solana. */
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
/** 36 bytes in base64, as on TON. */
const BASE64 = /^[\w-]{48}$/;
const PUNCTUATION_AROUND = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/** How many hex digits an address must begin with to be found by them. Fewer would find addresses by chance. */
const MIN_START_DIGITS = 6;
const PREFIX_LENGTH = '0x'.length;
/** Of every identifier. */
const MIN_LENGTH = PREFIX_LENGTH + MIN_START_DIGITS;
/** The lengths of whole addresses in hex: 20 bytes, as on EVM chains, and 32, as on Sui. */
const WHOLE_DIGITS = [40, 64];

/**
 * Recognises addresses, starts of addresses, and CAIP identifiers. Such a word must not match texts: a token could
 * have the address of another token in its name.
 *
 * @returns undefined for a word of a text
 */
export function identifierOf(typed: string): Identifier | undefined {
  if (typed.length < MIN_LENGTH) return undefined;
  const bare = withoutPunctuationAround(typed);
  const [, assetChain, assetAddress] = ASSET_TYPE.exec(bare) ?? [];
  if (assetChain !== undefined && assetAddress !== undefined)
    return { addressOn: assetChain.toLowerCase(), addresses: [assetAddress] };
  if (EVM_CHAIN.test(bare)) return { caip2: bare.toLowerCase(), addresses: [] };
  if (HEX.test(bare)) {
    const digits = bare.length - PREFIX_LENGTH;
    if (digits < MIN_START_DIGITS) return undefined;
    return WHOLE_DIGITS.includes(digits)
      ? { addresses: [bare] }
      : { addresses: [], addressStart: bare.toLowerCase() };
  }
  const within = HEX_WITHIN.exec(typed)?.[0];
  if (within) return { addresses: [within] };
  const whole = [typed, bare].filter((text) => isAddress(text));
  return whole.length > 0 ? { addresses: [...new Set(whole)] } : undefined;
}

/** The part by which an address is indexed to be found by its start; undefined for one that is not. */
export function indexedStart(foldedAddress: string): string | undefined {
  const length = PREFIX_LENGTH + MIN_START_DIGITS;
  return foldedAddress.length >= length && HEX.test(foldedAddress)
    ? foldedAddress.slice(0, length)
    : undefined;
}

/** A word as typed, and without the marks around it, such as quotes. */
export function withoutPunctuationAround(typed: string): string {
  return typed.replace(PUNCTUATION_AROUND, '');
}

function isAddress(text: string): boolean {
  return MOVE_TYPE.test(text) || BASE58.test(text) || BASE64.test(text);
}
