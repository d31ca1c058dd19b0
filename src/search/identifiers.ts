/** Recognises addresses and CAIP identifiers in a query. */
/** What a typed word identifies, if it is not a word of a name or symbol. */
export interface Identifier {
  /** The addresses that the word may stand for, in the letter case as typed. */
  readonly addresses: readonly string[];
  /** The start of the address in lower case, or the whole address. */
  readonly addressStart?: string;
  /** The end of the address in lower case, if the middle of the address was left out. */
  readonly addressEnd?: string;
  /** The chain that the word identifies, as a CAIP-2 identifier in lower case. */
  readonly caip2?: string;
  /** The only chain on which the address counts, as a CAIP-2 identifier in lower case. */
  readonly addressOn?: string;
}

/** An asset type of CAIP-19 with its chain and its address, such as `eip155:1/erc20:0xA0b8…`. */
const ASSET_TYPE = /^([-a-z0-9]{3,8}:[-_a-z0-9]{1,32})\/(?:erc20|token):([-.%a-z0-9]{1,128})$/i;
/** The CAIP-2 identifier of an EVM chain. */
const EVM_CHAIN = /^eip155:\d{1,32}$/i;
const HEX = /^0x[0-9a-f]+$/i;
/** Finds an address or a type of Move within a longer text, such as a link. */
const HEX_WITHIN = /0x[0-9a-f]{40,64}(?![0-9a-z])(?:::\w+::\w+)?/i;
/** The start and the end of an address in lower case, as in `0x8335…2913`. The sign `…` has become three dots. */
const SHORTENED = /^(0x[\w:]{4,})\.{2,}(\w{4,})$/;
/** A type of Move, such as `0x1::aptos_coin::AptosCoin`, or its beginning. */
const MOVE_TYPE = /^0x[0-9a-f]+::/i;
/** 20 bytes in hex without `0x`. */
const BARE_HEX = /^[0-9a-f]{40}$/i;
/** 32 bytes in base58, as on Solana. */
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
/** 36 bytes in base64, as on TON. */
const BASE64 = /^[\w-]{48}$/;
const BETWEEN_PUNCTUATION = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su;

/** Minimum hex digits of the start of an address in a query. Fewer digits would match addresses by chance. */
const MIN_START_DIGITS = 6;
/** Minimum hex digits of a whole address. Most have 40 or 64; at most about 8 zeros at the start can be missing. */
const MIN_WHOLE_DIGITS = 32;
const PREFIX_LENGTH = '0x'.length;
/** Minimum length of every identifier. */
const MIN_LENGTH = PREFIX_LENGTH + MIN_START_DIGITS;

/**
 * Recognises addresses, parts of addresses, and CAIP identifiers. Such a word must not match names or symbols: a token
 * could have the address of another token in its name.
 *
 * @returns undefined for an ordinary word
 */
export function identifierOf(typed: string): Identifier | undefined {
  if (typed.length < MIN_LENGTH) return undefined;
  const bare = withoutPunctuationAround(typed);
  const [, assetChain, assetAddress] = ASSET_TYPE.exec(bare) ?? [];
  if (assetChain !== undefined && assetAddress !== undefined)
    return { addressOn: assetChain.toLowerCase(), addresses: [assetAddress] };
  if (EVM_CHAIN.test(bare)) return { caip2: bare.toLowerCase(), addresses: [] };
  if (HEX.test(bare)) {
    if (bare.length < MIN_LENGTH) return undefined;
    const isWhole = bare.length >= PREFIX_LENGTH + MIN_WHOLE_DIGITS;
    return { addresses: isWhole ? [bare] : [], addressStart: bare.toLowerCase() };
  }
  const [, addressStart, addressEnd] = SHORTENED.exec(bare.toLowerCase()) ?? [];
  if (addressStart !== undefined && addressEnd !== undefined)
    return { addresses: [], addressStart, addressEnd };
  const within = MOVE_TYPE.test(bare) ? undefined : HEX_WITHIN.exec(typed)?.[0];
  if (within) return { addresses: [within] };
  const whole = [typed, bare].filter((text) => isAddress(text));
  return whole.length > 0 ? { addresses: [...new Set(whole)] } : undefined;
}

/** Joins the words of one Move type that has white space in its parameters, such as `0x1::a::A<0x2::b::B, u8>`. */
export function withWholeTypes(words: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let open = 0;
  for (const word of words) {
    if (open > 0) whole.push(`${whole.pop()}${word}`);
    else whole.push(word);
    if (open > 0 || MOVE_TYPE.test(word))
      open = Math.max(0, open + word.split('<').length - word.split('>').length);
  }
  return whole;
}

/** A word without the punctuation around it, such as quotes. */
export function withoutPunctuationAround(typed: string): string {
  return BETWEEN_PUNCTUATION.exec(typed)?.[0] ?? '';
}

function isAddress(text: string): boolean {
  return MOVE_TYPE.test(text) || BARE_HEX.test(text) || BASE58.test(text) || BASE64.test(text);
}
