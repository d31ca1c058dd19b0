import { foldAddress, tokenKey } from '../domain/addresses.js';
import { foldText } from '../domain/fold-text.js';
import type { Chain, Fetched, Origin, Token } from '../domain/listing.js';
import { parseChains, parseTokens } from './rows.js';

/** The facts of a row that decide how money is moved: a wrong one can cost money. */
export type ComparedFact = 'decimals' | 'symbol' | 'chain_id' | 'native_currency';

export interface Compared<Row> {
  readonly fact: ComparedFact;
  /** Its name in messages. */
  readonly name: string;
  /** The log field that lists its changes at a failover. */
  readonly logName: string;
  /** Equal for two rows in which the fact means the same. */
  readonly factOf: (row: Row) => string;
}

/** How to read and compare the rows of one listing, whichever service they are from. */
export interface ListingKind<Row> {
  readonly name: string;
  /**
   * Reads rows in the form in which the gateway stores them, with all the checks of an answer of the upstream.
   *
   * @throws UpstreamError UPSTREAM_MALFORMED by rejection
   */
  readonly parse: (rows: readonly unknown[], origin: Origin) => Promise<Fetched<Row>>;
  /** The identity of a row. */
  readonly keyOf: (row: Row) => string;
  /** Equal for rows that differ in nothing but their prices. */
  readonly contentOf: (row: Row) => string;
  /** The facts that should never change for a key. Prices and names may change. */
  readonly compared: readonly Compared<Row>[];
  /**
   * Equal for rows that a person could mistake for each other, such as two tokens of one symbol on one chain;
   * undefined if there is no such risk.
   */
  readonly standsFor: (row: Row) => string | undefined;
}

export const CHAINS: ListingKind<Chain> = {
  name: 'chains',
  parse: parseChains,
  keyOf: ({ chainKey }) => chainKey,
  contentOf: (chain) => JSON.stringify(chain),
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

export const TOKENS: ListingKind<Token> = {
  name: 'tokens',
  parse: (rows, origin) => parseTokens(rows, origin, false),
  keyOf: ({ chainKey, address }) => tokenKey(chainKey, address),
  contentOf: ({ price, ...rest }) => JSON.stringify(rest),
  compared: [
    {
      fact: 'decimals',
      name: 'decimals',
      logName: 'changedDecimals',
      factOf: ({ decimals }) => String(decimals),
    },
    { fact: 'symbol', name: 'symbol', logName: 'changedSymbols', factOf: ({ symbol }) => symbol },
  ],
  // "USDC" and "usdc" look the same to a person in a hurry.
  standsFor: ({ chainKey, symbol }) => {
    const folded = foldText(symbol).trim();
    return folded === '' ? undefined : JSON.stringify([chainKey, folded]);
  },
};

/** The routes from one token; unlike a listing, they may be empty. */
export const ROUTES: ListingKind<Token> = {
  ...TOKENS,
  name: 'routes',
  parse: (rows, origin) => parseTokens(rows, origin, true),
};
