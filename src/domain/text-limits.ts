/**
 * The maximum lengths of texts from outside, in UTF-16 code units, and the maximum size of a response. The length of a
 * text is checked before any other step: to split, fold, decode or repeat a megabyte takes longer than the rest of a
 * request.
 */

/** Texts of an upstream's rows. A row with a longer text is rejected. */
export const MAX_LENGTHS = { chainKey: 256, chainType: 64, address: 512, symbol: 256, name: 1024 } as const;

/**
 * Texts of clients. A longer key or id counts as unknown, a longer header is cut or ignored, and any other longer text
 * is refused. The message of a refusal does not contain the text.
 */
export const TEXT_LIMITS = {
  /** Rows do not have longer keys, types, addresses or symbols. */
  ...MAX_LENGTHS,
  /** The text that a person types to search. */
  search: 200,
  /** The `id` of the longest row: base64 of JSON, which takes at most six characters for each character. */
  id: Math.ceil(((MAX_LENGTHS.chainKey + MAX_LENGTHS.address) * 6 + 20) * (4 / 3)),
  /** A cursor. The gateway writes only shorter ones. */
  cursor: 4_096,
  /** The longest identifiers that the grammars of CAIP-2 and CAIP-19 allow. */
  caip2: 8 + 1 + 32,
  caip19: 8 + 1 + 32 + 1 + 8 + 1 + 128,
  /** Each name in a document, and the name of the operation in a request: a response repeats them for each row. */
  name: 200,
  requestId: 128,
  /** Lists in headers: If-None-Match, Accept-Encoding, X-Forwarded-For. */
  header: 1_000,
} as const;

/**
 * The most texts in a list that is a condition, such as `filter.symbols`. Keys to look up are not limited here: each
 * key is a row of the response, and the limit on rows is checked before a key is read.
 */
export const MAX_CONDITIONS = 500;

/**
 * The smallest limit on the bytes of one response. MAX_COST bounds rows and fields, but not the length of aliases and
 * values. The memory for clients that read slowly grows with this limit.
 */
export const MIN_RESPONSE_LIMIT = 8_388_608;
/** The bytes that are allowed for one token. A token with every field and its chain has about 700. */
const BYTES_OF_WHOLE_TOKEN = 1_000;

/** The limit on the bytes of one response. The limit grows with the token listing, so that the listing always fits. */
export function maxResponseBytes(listedTokens: number): number {
  return Math.max(MIN_RESPONSE_LIMIT, listedTokens * BYTES_OF_WHOLE_TOKEN);
}
