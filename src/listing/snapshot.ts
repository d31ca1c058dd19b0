import { createHash } from 'node:crypto';
import { tokenKey } from './address.js';
import type { Chain, Taken, Token } from './listing.js';

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
export interface ChainSnapshot extends Snapshot<Chain> {
  byKey(chainKey: string): Chain | undefined;
  /** The chains of any of these types, whatever their letter case, whose names hold each word of `search`. */
  matching(search: string, chainTypes?: readonly string[]): readonly Chain[];
}

/** The token listing with its indexes. */
export interface TokenSnapshot extends Snapshot<Token> {
  /** The tokens of one chain; none where the listing has none. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address, in any writing of it. */
  byAddress(chainKey: string, address: string): Token | undefined;
}

/** Indexes an answer to a question for the chain listing. */
export function createChainSnapshot(taken: Taken<Chain>): ChainSnapshot {
  const { rows } = taken;
  const byKey = new Map(rows.map((chain) => [chain.chainKey, chain]));
  const searchTexts = rows.map((chain) => foldText(`${chain.chainKey} ${chain.shortName} ${chain.name}`));
  return {
    ...taken,
    version: digestOf(rows),
    ageAt: agingFrom(taken.takenAt),
    byKey: (chainKey) => byKey.get(chainKey),
    matching(search, chainTypes) {
      const words = [...new Set(foldText(search).split(/\s+/).filter(Boolean))];
      const types = chainTypes && new Set(chainTypes.map((type) => type.toLowerCase()));
      if (words.length === 0 && !types) return rows;
      return rows.filter(
        (chain, index) =>
          (!types || types.has(chain.chainType)) && words.every((word) => searchTexts[index]?.includes(word)),
      );
    },
  };
}

/** Indexes an answer to a question for the token listing. */
export function createTokenSnapshot(taken: Taken<Token>): TokenSnapshot {
  const { rows } = taken;
  const byChain = groupByChain(rows);
  const byAddress = new Map(rows.map((token) => [tokenKey(token.chainKey, token.address), token]));
  return {
    ...taken,
    version: digestOf(rows.map(({ price, ...row }) => [row, price?.usd])),
    ageAt: agingFrom(taken.takenAt),
    byChain: (chainKey) => byChain.get(chainKey) ?? NONE,
    byAddress: (chainKey, address) => byAddress.get(tokenKey(chainKey, address)),
  };
}

function agingFrom(takenAt: number): (now: number) => number {
  const ageThen = Math.max(0, Date.now() - takenAt);
  const then = performance.now();
  return (now) => Math.max(now - takenAt, ageThen + performance.now() - then);
}

function groupByChain(tokens: readonly Token[]): ReadonlyMap<string, readonly Token[]> {
  const groups = new Map<string, Token[]>();
  for (const token of tokens) {
    const group = groups.get(token.chainKey);
    if (group) group.push(token);
    else groups.set(token.chainKey, [token]);
  }
  return groups;
}

const NONE: readonly Token[] = Object.freeze([]);

/** Makes full-width letters narrow and capitals small, so that what a person types is found. */
function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
}
