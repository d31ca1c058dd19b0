import { createHash } from 'node:crypto';
import { tokenKey } from './address.js';
import type { Chain, Taken, Token } from './listing.js';
import { createTextIndex, foldText, type Place, type SearchWord, wordsOf } from './text.js';
import { groupRows } from './token-ranks.js';
import { createTokenSearch, type KnownChains, type TokenSearch } from './token-search.js';

/** One whole listing as it was when fetched: immutable, and never changed once it is served. */
export interface Snapshot<Row> extends Taken<Row> {
  /** A digest of the rows in their order; equal ones have an equal version, whenever they were taken. */
  readonly version: string;
  /**
   * How old it is, in milliseconds.
   *
   * @param now milliseconds since 1970; a clock that was set back meanwhile makes nothing young
   */
  ageAt(now: number): number;
}

/** The chain listing with its indexes. */
export interface ChainSnapshot extends Snapshot<Chain>, KnownChains {
  /**
   * The chains of any of these types, whatever their letter case, whose names hold each word of `search`;
   * where there are none, those known by their native currencies.
   */
  matching(search: string, chainTypes?: readonly string[]): readonly Chain[];
}

/** The token listing with its indexes. */
export interface TokenSnapshot extends Snapshot<Token> {
  /** The tokens of one chain; none where the listing has none. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address, in any writing of it. */
  byAddress(chainKey: string, address: string): Token | undefined;
  readonly search: TokenSearch;
}

/** Indexes an answer to a question for the chain listing. */
export function createChainSnapshot(taken: Taken<Chain>): ChainSnapshot {
  const { rows } = taken;
  const byKey = new Map(rows.map((chain) => [chain.chainKey, chain]));
  const names = createTextIndex(rows.map(namesOf));
  const currencies = rows.map(({ nativeCurrency }) => foldText(nativeCurrency.symbol));

  function named(word: SearchWord, byCurrency: boolean): ReadonlyMap<string, Place> {
    const found = new Map<string, Place>();
    names.find(word.letters, (row, place) => {
      const chain = rows[row];
      if (chain) found.set(chain.chainKey, place);
    });
    for (const [row, { chainKey }] of byCurrency ? rows.entries() : []) {
      if (currencies[row] === word.folded) found.set(chainKey, 0);
    }
    return found;
  }

  function searched(search: string): readonly Chain[] {
    const words = wordsOf(search);
    if (words.length === 0) return rows;
    const namedBy = (byCurrency: boolean) => {
      const found = words.map((word) => named(word, byCurrency));
      return rows.filter(({ chainKey }) => found.every((chainKeys) => chainKeys.has(chainKey)));
    };
    const byName = namedBy(false);
    return byName.length > 0 ? byName : namedBy(true);
  }

  return {
    ...taken,
    version: digestOf(rows),
    ageAt: agingFrom(taken.takenAt),
    byKey: (chainKey) => byKey.get(chainKey),
    named,
    matching(search, chainTypes) {
      const types = chainTypes && new Set(chainTypes.map((type) => type.toLowerCase()));
      const found = searched(search);
      return types ? found.filter(({ chainType }) => types.has(chainType)) : found;
    },
  };
}

/** The names of a chain; each also in one word, as "opmainnet". */
function namesOf({ chainKey, shortName, name }: Chain): string {
  return [chainKey, shortName, name].flatMap((text) => [text, text.replace(/\s+/g, '')]).join(' ');
}

/** Indexes an answer to a question for the token listing. */
export function createTokenSnapshot(taken: Taken<Token>): TokenSnapshot {
  const { rows } = taken;
  const rowsOfChain = groupRows(rows.map(({ chainKey }) => chainKey));
  const byChain = new Map(
    [...rowsOfChain].map(([chainKey, numbers]) => [
      chainKey,
      Object.freeze(numbers.flatMap((row) => rows[row] ?? [])),
    ]),
  );
  const byAddress = new Map(rows.map((token) => [tokenKey(token.chainKey, token.address), token]));
  return {
    ...taken,
    version: digestOf(rows.map(({ price, ...row }) => [row, price?.usd])),
    ageAt: agingFrom(taken.takenAt),
    byChain: (chainKey) => byChain.get(chainKey) ?? NONE,
    byAddress: (chainKey, address) => byAddress.get(tokenKey(chainKey, address)),
    search: createTokenSearch(rows, rowsOfChain),
  };
}

function agingFrom(takenAt: number): (now: number) => number {
  const ageThen = Math.max(0, Date.now() - takenAt);
  const then = performance.now();
  return (now) => Math.max(now - takenAt, ageThen + performance.now() - then);
}

const NONE: readonly Token[] = Object.freeze([]);

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
}
