import { tokenKey } from '../domain/addresses.js';
import { CHAIN_FACTS, type FactOf, NATIVE_CURRENCY, TOKEN_FACTS } from '../domain/guarded-facts.js';
import type { Chain, Fetched, GuardedFact, HeldBackFact, Origin, Price, Token } from '../domain/listing.js';
import { lookalikeKey } from '../domain/lookalikes.js';
import { parseChains, parseTokens } from './rows.js';

/** A chain, or a token by its address on a chain. */
export interface RowPlace {
  readonly chainKey: string;
  readonly address?: string;
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
  /** The facts that do not change by themselves for a key. Prices and names may change. */
  readonly guarded: readonly FactOf<Row>[];
  /** The row with another value of a guarded fact, in the form in which it is shown. */
  readonly withFact: (row: Row, fact: GuardedFact, value: string) => Row;
  /** The row without its price, marked with what is held back of it. */
  readonly heldBack: (row: Row, facts: readonly HeldBackFact[]) => Row;
  readonly heldBackOf: (row: Row) => readonly HeldBackFact[];
  /** The row with another price, in US dollars; null: none. */
  readonly withPrice: (row: Row, usd: number | null, asOf: number) => Row;
  /** The row as an operator names it in a rule. */
  readonly placeOf: (row: Row) => RowPlace;
  /** Rows of which a listing does not lose all at once; undefined: there are no such groups. */
  readonly groupOf: (row: Row) => string | undefined;
  /**
   * Equal for rows that a person could mistake for each other, such as two tokens of one symbol on one chain; undefined
   * if there is no such risk. Absent where rows have no address of their own.
   */
  readonly lookalikeOf?: (row: Row) => string | undefined;
  readonly addressOf?: (row: Row) => string;
}

export const CHAINS: ListingKind<Chain> = {
  name: 'chains',
  parse: parseChains,
  keyOf: ({ chainKey }) => chainKey,
  contentOf: (chain) => JSON.stringify(chain),
  guarded: CHAIN_FACTS,
  withFact(chain, fact, value) {
    if (fact === 'chainId') return { ...chain, chainId: Number(value) };
    if (fact === 'chainType') return { ...chain, chainType: value };
    const [, symbol, decimals, address] = NATIVE_CURRENCY.exec(value) ?? [];
    if (symbol === undefined || address === undefined) return chain;
    return {
      ...chain,
      nativeCurrency: { ...chain.nativeCurrency, symbol, decimals: Number(decimals), address },
    };
  },
  heldBack: (chain, heldBack) =>
    Object.freeze({
      ...chain,
      nativeCurrency: Object.freeze(chain.nativeCurrency),
      heldBack: Object.freeze(heldBack),
    }),
  heldBackOf: ({ heldBack }) => heldBack,
  withPrice: (chain) => chain,
  placeOf: ({ chainKey }) => ({ chainKey }),
  groupOf: () => undefined,
};

export const TOKENS: ListingKind<Token> = {
  name: 'tokens',
  parse: (rows, origin) => parseTokens(rows, origin, false),
  keyOf: ({ chainKey, address }) => tokenKey(chainKey, address),
  contentOf: ({ price, ...rest }) => JSON.stringify(rest),
  guarded: TOKEN_FACTS,
  withFact: (token, fact, value) =>
    fact === 'decimals' ? { ...token, decimals: Number(value) } : { ...token, symbol: value },
  heldBack: (token, heldBack) => tokenWith(token, null, Object.freeze(heldBack)),
  heldBackOf: ({ heldBack }) => heldBack,
  withPrice: (token, usd, asOf) =>
    tokenWith(token, usd === null ? null : Object.freeze({ usd, asOf }), token.heldBack),
  placeOf: ({ chainKey, address }) => ({ chainKey, address }),
  groupOf: ({ chainKey }) => chainKey,
  // "USDC" and "usdc" look the same to a person in a hurry.
  lookalikeOf({ chainKey, symbol }) {
    const look = lookalikeKey(symbol);
    return look === '' ? undefined : JSON.stringify([chainKey, look]);
  },
  addressOf: ({ address }) => address,
};

/** A literal with every member: by spreading, V8 would give each token a hidden class of its own. */
function tokenWith(token: Token, price: Price | null, heldBack: readonly HeldBackFact[]): Token {
  const { isBridgeable, chainKey, address, decimals, symbol, name, logoUrl } = token;
  return Object.freeze({ isBridgeable, chainKey, address, decimals, symbol, name, logoUrl, price, heldBack });
}

/** What storage has to know of the rows that it keeps. */
export type StoredKind<Row> = Pick<ListingKind<Row>, 'name' | 'parse'>;

/** The routes from one token; unlike a listing, they may be empty. */
export const ROUTES: ListingKind<Token> = {
  ...TOKENS,
  name: 'routes',
  parse: (rows, origin) => parseTokens(rows, origin, true),
};
