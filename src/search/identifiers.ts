/** Recognises the words of a query that are an address, a part of one, a Move type or a CAIP identifier. */
import { createHash } from 'node:crypto';
import { isNativePlaceholder } from '../domain/addresses.js';

/** The meaning of a typed word that is no word of a name or symbol. All but `addresses` are in lower case. */
export interface Identifier {
  /** The addresses that the word may stand for. */
  readonly addresses: readonly string[];
  /** The start of the address, or the whole address. */
  readonly addressStart?: string;
  /** The end of the address, if its middle was left out. */
  readonly addressEnd?: string;
  /** The CAIP-2 identifier of the chain that the word names. */
  readonly caip2?: string;
  /** The CAIP-2 identifier of the only chain on which the address counts. */
  readonly addressOn?: string;
}

/** An asset type of CAIP-19 with its chain and its address, such as `eip155:1/erc20:0xA0b8…`. */
const ASSET_TYPE = /^([-a-z0-9]{3,8}:[-_a-z0-9]{1,32})\/(?:erc20|token):([-.%a-z0-9]{1,128})$/i;
/** The CAIP-2 identifier of an EVM chain. */
const EVM_CHAIN = /^eip155:\d{1,32}$/i;
const HEX = /^0x[0-9a-f]+$/i;
/** Finds an address or a type of Move within a longer text, such as a link. */
const HEX_WITHIN = /0x[0-9a-f]{40,64}(?![0-9a-z])(?:::\w+::\w+)?/i;
/** The start and the end of an address, such as `EPjF…Dt1v`; the sign `…` has become dots. Not words: `usdc..base`. */
const SHORTENED = /^(?=.*(?:\d|[a-z][A-Z]))([\w:-]{4,})\.{2,}([\w-]{4,})$/;
/** A type of Move, such as `0x1::aptos_coin::AptosCoin`, or its beginning. */
const MOVE_TYPE = /^0x[0-9a-f]+::/i;
/** Whole addresses of other forms: 20 bytes in hex without `0x`, 32 bytes in base58 (Solana), 36 in base64 (TON). */
const ADDRESS = /^(?:[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|[\w-]{48})$/;
/** Separates an address of these forms from the text around it, such as in a link. */
const BETWEEN_ADDRESSES = /[^\w-]+/;
const BASE58_DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** An address of Tron in base58, in which Tron's wallets and explorers show it. It stands for 25 bytes. */
const TRON_ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
/** The first of these bytes. The other bytes are the 20 that listings write in hex, and a checksum of 4. */
const TRON_PREFIX = 0x41;
const BETWEEN_PUNCTUATION = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su;

/** Shorter words are not identifiers. `0x` with fewer than 6 hex digits would match addresses by chance. */
const MIN_LENGTH = 8;
/** A shorter hex word is only the beginning of an address: a whole one has 42 characters, and can lack 8 leading zeros. */
const MIN_WHOLE_LENGTH = 34;

/**
 * Undefined for an ordinary word. An identifier must not match names or symbols: a token could have the address of
 * another token in its name.
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
    return { addresses: bare.length >= MIN_WHOLE_LENGTH ? [bare] : [], addressStart: bare.toLowerCase() };
  }
  const [, start, end] = SHORTENED.exec(bare) ?? [];
  if (start !== undefined && end !== undefined)
    return { addresses: [], addressStart: start.toLowerCase(), addressEnd: end.toLowerCase() };
  const within = MOVE_TYPE.test(bare) ? undefined : HEX_WITHIN.exec(typed)?.[0];
  if (within) return { addresses: [within] };
  const texts = [typed, bare, ...typed.split(BETWEEN_ADDRESSES)];
  const whole = texts.filter((text) => MOVE_TYPE.test(text) || ADDRESS.test(text));
  return whole.length > 0 ? { addresses: [...new Set([...whole, ...whole.flatMap(hexOfTron)])] } : undefined;
}

/** None for a wrong checksum, and for the zero address, which would find the native assets of all chains. */
function hexOfTron(text: string): readonly string[] {
  if (!TRON_ADDRESS.test(text)) return [];
  let value = 0n;
  for (const digit of text) value = value * 58n + BigInt(BASE58_DIGITS.indexOf(digit));
  const bytes = Buffer.from(value.toString(16).padStart(50, '0'), 'hex');
  const sha256 = (input: Buffer) => createHash('sha256').update(input).digest();
  const checksum = sha256(sha256(bytes.subarray(0, 21))).subarray(0, 4);
  const hex = `0x${bytes.toString('hex', 1, 21)}`;
  const isValid = bytes[0] === TRON_PREFIX && bytes.subarray(21).equals(checksum);
  return isValid && !isNativePlaceholder(hex) ? [hex] : [];
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

export function withoutPunctuationAround(typed: string): string {
  return BETWEEN_PUNCTUATION.exec(typed)?.[0] ?? '';
}
