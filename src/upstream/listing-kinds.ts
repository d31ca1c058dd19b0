import { foldAddress, tokenKey } from '../domain/addresses.js';
import { foldText } from '../domain/fold-text.js';
import type { Chain, Fetched, Origin, Token } from '../domain/listing.js';
import { parseChains, parseTokens } from './rows.js';

/** The facts of a row by which money is moved: a wrong one costs money. */
export type ComparedFact = 'decimals' | 'symbol' | 'chain_id' | 'native_currency';

/** One fact of the rows of a listing. */
export interface Compared<Row> {
  readonly fact: ComparedFact;
  /** As it is called where a change of it is told. */
  readonly name: string;
  /** The field of the log that tells its changes when another service takes over. */
  readonly logName: string;
  /** Equal for two rows in which it means the same. */
  readonly factOf: (row: Row) => string;
}

/** What holds for the rows of one listing, whichever service they are from. */
export interface ListingKind<Row> {
  readonly name: string;
  /**
   * Reads rows in the form in which the gateway itself writes them, with all the checks that an answer of
   * the upstream meets.
   *
   * @throws UpstreamError UPSTREAM_MALFORMED by rejection
   */
  readonly parse: (rows: unknown, origin: Origin) => Promise<Fetched<Row>>;
  /** Equal for two rows that mean the same. */
  readonly keyOf: (row: Row) => string;
  /** The facts that stay as they are for rows of equal keys. Prices and names are none. */
  readonly compared: readonly Compared<Row>[];
  /**
   * Equal for rows of which one can take the place of another unseen; undefined for rows that stand for
   * nothing but themselves.
   */
  readonly standsFor: (row: Row) => string | undefined;
}

/** The chain listing. */
export const CHAINS: ListingKind<Chain> = {
  name: 'chains',
  parse: (rows, origin) => parseChains({ chains: rows }, origin),
  keyOf: ({ chainKey }) => chainKey,
  compared: [
    {
      fact: 'decimals',
      name: 'decimals',
      logName: 'changedDecimals',
      factOf: ({ nativeCurrency }) => String(nativeCurrency.decimals),
    },
    {
      fact: 'chain_id',
      name: 'chainId',
      logName: 'changedChainIds',
      factOf: ({ chainId }) => String(chainId),
    },
    {
      fact: 'native_currency',
      name: 'native currency',
      logName: 'changedNativeCurrencies',
      factOf: ({ nativeCurrency: { symbol, address } }) => JSON.stringify([symbol, foldAddress(address)]),
    },
  ],
  standsFor: () => undefined,
};

/** The token listing. */
export const TOKENS: ListingKind<Token> = {
  name: 'tokens',
  parse: (rows, origin) => parseTokens({ tokens: rows }, origin, false),
  keyOf: ({ chainKey, address }) => tokenKey(chainKey, address),
  compared: [
    {
      fact: 'decimals',
      name: 'decimals',
      logName: 'changedDecimals',
      factOf: ({ decimals }) => String(decimals),
    },
    { fact: 'symbol', name: 'symbol', logName: 'changedSymbols', factOf: ({ symbol }) => symbol },
  ],
  // "USDC" and "usdc" look the same to a person who is in a hurry.
  standsFor: ({ chainKey, symbol }) => {
    const folded = foldText(symbol).trim();
    return folded === '' ? undefined : JSON.stringify([chainKey, folded]);
  },
};

/** The routes from one token, of which there may be none. */
export const ROUTES: ListingKind<Token> = {
  ...TOKENS,
  name: 'routes',
  parse: (rows, origin) => parseTokens({ tokens: rows }, origin, true),
};
