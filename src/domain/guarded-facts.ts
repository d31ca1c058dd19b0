/** The guarded facts of chains and tokens: how each is shown, when two values are equal, and which texts are valid. */
import { foldAddress } from './addresses.js';
import type { Chain, GuardedFact, ListingRows, Token } from './listing.js';

export interface FactOf<Row> {
  readonly fact: GuardedFact;
  /** The value in a form that people can read, such as `6` or `ETH 18 0xEeee…`. */
  readonly of: (row: Row) => string;
}

export const CHAIN_FACTS: readonly FactOf<Chain>[] = [
  { fact: 'chainId', of: ({ chainId }) => String(chainId) },
  { fact: 'chainType', of: ({ chainType }) => chainType },
  {
    fact: 'nativeCurrency',
    of: ({ nativeCurrency: { symbol, decimals, address } }) => `${symbol} ${decimals} ${address}`,
  },
];

export const TOKEN_FACTS: readonly FactOf<Token>[] = [
  { fact: 'decimals', of: ({ decimals }) => String(decimals) },
  { fact: 'symbol', of: ({ symbol }) => symbol },
];

/** A key that is equal for rows with the same value of the fact. It ignores the letter case of hex addresses. */
function factKey<Row>({ fact, of }: FactOf<Row>, row: Row): string {
  return foldValue(fact, of(row));
}

/** The same text for all rows, or lists of rows, with the same values of these facts. */
export function factsKey<Row>(facts: readonly FactOf<Row>[], ...rows: readonly Row[]): string {
  return JSON.stringify(rows.map((row) => facts.map((fact) => factKey(fact, row))));
}

/** The facts on which two rows with one key disagree. */
export function contradictedFacts<Row>(facts: readonly FactOf<Row>[], one: Row, other: Row) {
  return facts.filter((fact) => factKey(fact, one) !== factKey(fact, other));
}

/** The facts of the demo data that are publicly known. New rows are compared with them. */
export interface DemoFacts {
  readonly chains: readonly Chain[];
  /** The keys of EVM chains, by CAIP-2 identifier. */
  readonly chainKeys: ReadonlyMap<string, string>;
  /** The decimals of tokens on EVM chains, by `tokenKey`. */
  readonly decimals: ReadonlyMap<string, number>;
}

interface FactForm {
  /** Completes "expected …". */
  readonly expected: string;
  readonly isValue: (text: string) => boolean;
  /** Gives equal texts for values with the same meaning. If absent, only equal values have the same meaning. */
  readonly fold?: (value: string) => string;
}

const isDecimals = (text: string) => /^(?:0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255;

/** Matches symbol, decimals and address. Only the symbol can contain spaces. */
export const NATIVE_CURRENCY = /^(.*) (\d+) (\S+)$/s;

/** The forms in which operators write the values of facts. */
export const FACT_FORMS: Readonly<Record<GuardedFact, FactForm>> = {
  decimals: { expected: 'a whole number from 0 to 255', isValue: isDecimals },
  symbol: { expected: 'a symbol', isValue: () => true },
  address: { expected: 'an address', isValue: (text) => text !== '', fold: foldAddress },
  chainId: {
    expected: 'a whole number of at most 2^53 - 1',
    isValue: (text) => /^(?:0|-?[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)),
  },
  chainType: {
    expected: 'a type of chain such as evm',
    isValue: (text) => text !== '',
    fold: (value) => value.toLowerCase(),
  },
  nativeCurrency: {
    expected: 'symbol, decimals and address in one pair of quotes, such as "ETH 18 0xEeee…"',
    isValue: (text) => isDecimals(NATIVE_CURRENCY.exec(text)?.[2] ?? ''),
    fold: (value) =>
      value.replace(
        NATIVE_CURRENCY,
        (_, symbol: string, decimals: string, address: string) =>
          `${symbol} ${decimals} ${foldAddress(address)}`,
      ),
  },
};

/** The guarded facts of each listing. `address`: at which address a symbol is listed on a chain. */
export const GUARDED_FACTS: Readonly<Record<keyof ListingRows, readonly GuardedFact[]>> = {
  chains: ['chainId', 'chainType', 'nativeCurrency'],
  tokens: ['decimals', 'symbol', 'address'],
};

/** The same text for all values of a fact with the same meaning. */
export function foldValue(fact: GuardedFact, value: string): string {
  return FACT_FORMS[fact].fold?.(value) ?? value;
}
