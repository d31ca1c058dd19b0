import { tokenKey } from './address.js';
import type { Chain, Origin, Taken, Token } from './listing.js';
import { parseChains, parseTokens } from './parse.js';

/** What holds for the rows of one listing, whichever service they are from. */
export interface Kind<Row> {
  readonly name: string;
  /**
   * Reads rows in the form in which the gateway itself writes them, with all the checks that an answer of
   * the upstream meets.
   *
   * @throws UpstreamError UPSTREAM_MALFORMED by rejection
   */
  readonly parse: (rows: unknown, origin: Origin) => Promise<Taken<Row>>;
  /** Equal for two rows that mean the same. */
  readonly keyOf: (row: Row) => string;
  readonly decimalsOf: (row: Row) => number;
}

/** The chain listing. */
export const CHAINS: Kind<Chain> = {
  name: 'chains',
  parse: (rows, origin) => parseChains({ chains: rows }, origin),
  keyOf: ({ chainKey }) => chainKey,
  decimalsOf: ({ nativeCurrency }) => nativeCurrency.decimals,
};

/** The token listing. */
export const TOKENS: Kind<Token> = {
  name: 'tokens',
  parse: (rows, origin) => parseTokens({ tokens: rows }, origin, false),
  keyOf: ({ chainKey, address }) => tokenKey(chainKey, address),
  decimalsOf: ({ decimals }) => decimals,
};

/** The routes from one token, of which there may be none. */
export const ROUTES: Kind<Token> = {
  ...TOKENS,
  name: 'routes',
  parse: (rows, origin) => parseTokens({ tokens: rows }, origin, true),
};
