import { createHash, type Hash } from 'node:crypto';
import { tokenKey } from '../domain/addresses.js';
import { keyedRows } from '../domain/keyed-rows.js';
import type { Chain, Fetched, Token } from '../domain/listing.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { createChainNames } from '../search/chain-names.js';
import { interpretationsOf } from '../search/text.js';
import { createTokenIndexes, type TokenIndexes } from '../search/token-indexes.js';
import { createTokenSearch, type KnownChains, type TokenSearch } from '../search/token-search.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';

/** One whole listing as it was when fetched. It is immutable. */
export interface Snapshot<Row> extends Fetched<Row> {
  /** A digest of the rows in their order. Equal rows have an equal version, whenever they were fetched. */
  readonly version: string;
  /** The number of rows of each chain. */
  readonly rowsByChain: ReadonlyMap<string, number>;
  /**
   * Its age, in milliseconds. A clock that is set back does not make it younger.
   *
   * @param now milliseconds since 1970
   */
  ageAt(now: number): number;
}

/** The chain listing with its indexes. */
export interface ChainSnapshot extends Snapshot<Chain>, KnownChains {
  /**
   * The chains of any of these types, in any letter case, that match `search` as chain names do in the token search.
   *
   * @throws GatewayError BAD_USER_INPUT if there are too many words
   */
  matching(search: string, chainTypes?: readonly string[]): readonly Chain[];
}

/** The token listing with its indexes. */
export interface TokenSnapshot extends Snapshot<Token> {
  /** The digest without the prices. */
  readonly rowsVersion: string;
  /** The tokens of one chain; empty for an unknown chain. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address, in any spelling of it. */
  byAddress(chainKey: string, address: string): Token | undefined;
  readonly search: TokenSearch;
  /** The indexes of the search. */
  readonly indexes: TokenIndexes;
}

/** Indexes a fetched chain listing. */
export function createChainSnapshot(fetched: Fetched<Chain>): ChainSnapshot {
  const { rows } = fetched;
  const byKey = keyedRows(rows, CHAINS.keyOf);
  const names = createChainNames(rows);
  return {
    ...fetched,
    version: digestOf(rows),
    rowsByChain: new Map(rows.map(({ chainKey }) => [chainKey, 1])),
    ageAt: agingFrom(fetched.takenAt),
    byKey: (chainKey) => byKey.get(chainKey),
    named: names.named,
    identifiedBy: names.identifiedBy,
    matching(search, chainTypes) {
      const types = chainTypes && new Set(chainTypes.map((type) => type.toLowerCase()));
      const candidates = types ? rows.filter(({ chainType }) => types.has(chainType)) : rows;
      const interpretations = interpretationsOf(search);
      for (const { words, byCurrency } of interpretations) {
        const named = words.map((word) => names.named(word, byCurrency));
        const found = candidates.filter(({ chainKey }) => named.every((keys) => keys.has(chainKey)));
        if (found.length > 0) return found;
      }
      return interpretations.length === 0 ? candidates : [];
    },
  };
}

/**
 * Indexes a fetched token listing, in chunks that yield to requests.
 *
 * @param before the older snapshot; its search indexes are reused if only prices differ
 */
export async function createTokenSnapshot(
  fetched: Fetched<Token>,
  before?: TokenSnapshot,
): Promise<TokenSnapshot> {
  const { rows } = fetched;
  const byAddress = keyedRows(rows, TOKENS.keyOf);
  const rowsDigest = createHash('sha256');
  const pricesDigest = createHash('sha256');
  const byChain = new Map<string, Token[]>();
  await forEachChunk(rows, (chunk) => {
    rowsDigest.update(JSON.stringify(chunk.map(({ price, ...row }) => row)));
    pricesDigest.update(JSON.stringify(chunk.map(({ price }) => price?.usd)));
    for (const token of chunk) {
      const ofChain = byChain.get(token.chainKey);
      if (ofChain) ofChain.push(token);
      else byChain.set(token.chainKey, [token]);
    }
  });
  for (const ofChain of byChain.values()) Object.freeze(ofChain);
  const rowsVersion = shortened(rowsDigest);
  const isKnown = before?.rowsVersion === rowsVersion;
  const indexes = isKnown ? before.indexes : await createTokenIndexes(rows);
  return {
    ...fetched,
    rowsVersion,
    version: digestOf([rowsVersion, shortened(pricesDigest)]),
    ageAt: agingFrom(fetched.takenAt),
    rowsByChain: new Map([...byChain].map(([chainKey, ofChain]) => [chainKey, ofChain.length])),
    byChain: (chainKey) => byChain.get(chainKey) ?? NONE,
    byAddress: (chainKey, address) => byAddress.get(tokenKey(chainKey, address)),
    indexes,
    search: await createTokenSearch(rows, indexes),
  };
}

function agingFrom(takenAt: number): (now: number) => number {
  const ageThen = Math.max(0, Date.now() - takenAt);
  const then = performance.now();
  return (now) => Math.max(now - takenAt, ageThen + performance.now() - then);
}

const NONE: readonly Token[] = Object.freeze([]);

function digestOf(content: unknown): string {
  return shortened(createHash('sha256').update(JSON.stringify(content)));
}

function shortened(digest: Hash): string {
  return digest.digest('base64url').slice(0, 22);
}
