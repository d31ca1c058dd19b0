/**
 * The maximum lengths of texts from outside, in UTF-16 code units, and the maximum size of a response. The length is
 * checked first: to split, fold, decode or repeat a megabyte takes longer than the rest of a request.
 */

/** Texts of an upstream's rows. A row with a longer text is rejected, unless the check of the field has a fallback. */
export const MAX_LENGTHS = { chainKey: 256, chainType: 64, address: 512, symbol: 256, name: 1024 } as const;

/**
 * Texts of clients. A longer key or id counts as unknown in a look-up. A longer header is cut or ignored. Any
 * other longer text is refused, and the message of the refusal does not contain the text.
 */
export const TEXT_LIMITS = {
  ...MAX_LENGTHS,
  /** A document. The limit on lexical tokens does not bound it: a comment is no token, and a long string is one token. */
  document: 100_000,
  search: 200,
  /** The `id` of the longest row: base64 of JSON, which takes at most six characters for each character. */
  id: Math.ceil(((MAX_LENGTHS.chainKey + MAX_LENGTHS.address) * 6 + 20) * (4 / 3)),
  /** The cursors of usual rows are far shorter. */
  cursor: 8_192,
  /** The longest chain identifier of CAIP-2, and the longest asset type of CAIP-19. */
  caip2: 8 + 1 + 32,
  caip19: 8 + 1 + 32 + 1 + 8 + 1 + 128,
  /** Each name in a document, because a response can repeat it for each row. Also the `operationName`. */
  documentName: 200,
  requestId: 128,
  /** Lists in headers: Accept, Accept-Encoding, If-None-Match, X-Forwarded-For. */
  header: 1_000,
} as const;

/** The most texts in a condition such as `filter.symbols`. Keys to look up count as rows of the response instead. */
export const MAX_CONDITIONS = 500;

/** The limit on the bytes of a response if few tokens are listed: MAX_COST ignores the length of aliases and values. */
export const MIN_RESPONSE_LIMIT = 8_388_608;
/** The bytes that are allowed for one token. A token with every field and its chain has about 700. */
const BYTES_OF_WHOLE_TOKEN = 1_000;

/** The limit on the bytes of one response. The whole token listing with usual texts and aliases fits. */
export function maxResponseBytes(listedTokens: number): number {
  return Math.max(MIN_RESPONSE_LIMIT, listedTokens * BYTES_OF_WHOLE_TOKEN);
}

/** The most characters of a text from outside in an error message, and of an operation's name in the log. */
export const MAX_SHOWN = 100;

/** A text from outside for an error message: quoted, escaped, and cut if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
