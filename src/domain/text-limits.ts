/*
 * How long texts from outside may be, in UTF-16 code units. A text is compared with its limit before anything else is
 * done with it: to split, fold, decode or repeat a megabyte takes longer than all else that a request costs.
 */

/** Texts of an upstream's rows. A row with a longer one is rejected. */
export const MAX_LENGTHS = { chainKey: 256, chainType: 64, address: 512, symbol: 256, name: 1024 } as const;

/** Texts of clients. A longer key is unknown; any other longer text is refused, by a message that does not contain it. */
export const TEXT_LIMITS = {
  /** No row has a longer key, type, address or symbol. */
  ...MAX_LENGTHS,
  /** What a person types to search. */
  search: 200,
  /** The `id` of the longest row: base64 of JSON, which takes at most six characters for one. */
  id: Math.ceil(((MAX_LENGTHS.chainKey + MAX_LENGTHS.address) * 6 + 20) * (4 / 3)),
  /** Longer than any cursor that the gateway writes. */
  cursor: 4_096,
  /** The grammars of CAIP-2 and CAIP-19. */
  caip2: 8 + 1 + 32,
  caip19: 8 + 1 + 32 + 1 + 8 + 1 + 128,
  /** Each name in a document, and the name of the operation in a request: a response repeats them for each row. */
  name: 200,
  requestId: 128,
  /** Lists in headers: If-None-Match, Accept-Encoding, X-Forwarded-For. */
  header: 1_000,
} as const;

/**
 * How many texts a list of a client may have that is a condition, such as `filter.symbols`. Keys to be looked up are not
 * counted here: each is a row of the response, and MAX_ROWS bounds these before a key is read.
 */
export const MAX_CONDITIONS = 500;

/**
 * The least limit on the bytes of one response. MAX_COST bounds rows and fields, but a field counts the same however
 * long its alias and its value are. What clients that read slowly hold in memory grows with it.
 */
export const MIN_RESPONSE_LIMIT = 8_388_608;
/** One token with every field and its chain takes about 700. */
const BYTES_OF_WHOLE_TOKEN = 1_000;

/** The limit on the bytes of one response. It grows with the token listing, which always fits whole. */
export function maxResponseBytes(listedTokens: number): number {
  return Math.max(MIN_RESPONSE_LIMIT, listedTokens * BYTES_OF_WHOLE_TOKEN);
}
