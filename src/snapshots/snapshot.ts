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

/** One whole listing as it was when fetched: immutable, and never changed once it is served. */
export interface Snapshot<Row> extends Fetched<Row> {
  /** A digest of the rows in their order; equal ones have an equal version, whenever they were taken. */
  readonly version: string;
  /** How many of the rows are of each chain. */
  readonly rowsByChain: ReadonlyMap<string, number>;
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
   * The chains of any of these types, whatever their letter case, that are meant by `search`, as tokens are
   * by what is typed.
   *
   * @throws GatewayError BAD_USER_INPUT where too many words were typed
   */
  matching(search: string, chainTypes?: readonly string[]): readonly Chain[];
}

/** The token listing with its indexes. */
export interface TokenSnapshot extends Snapshot<Token> {
  /** The same digest without the prices. */
  readonly rowsVersion: string;
  /** The tokens of one chain; none where the listing has none. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address, in any writing of it. */
  byAddress(chainKey: string, address: string): Token | undefined;
  readonly search: TokenSearch;
  /** What the search finds rows by. */
  readonly indexes: TokenIndexes;
}

/** Indexes an answer to a question for the chain listing. */
export function createChainSnapshot(taken: Fetched<Chain>): ChainSnapshot {
  const { rows } = taken;
  const byKey = keyedRows(rows, CHAINS.keyOf);
  const names = createChainNames(rows);
  return {
    ...taken,
    version: digestOf(rows),
    rowsByChain: new Map(rows.map(({ chainKey }) => [chainKey, 1])),
    ageAt: agingFrom(taken.takenAt),
    byKey: (chainKey) => byKey.get(chainKey),
    named: names.named,
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
 * Indexes an answer to a question for the token listing, a little at a time, so that requests are answered
 * meanwhile.
 *
 * @param before an older snapshot: where its rows differ in nothing but prices, its indexes hold for these, too
 */
export async function createTokenSnapshot(
  taken: Fetched<Token>,
  before?: TokenSnapshot,
): Promise<TokenSnapshot> {
  const { rows } = taken;
  const byAddress = keyedRows(rows, TOKENS.keyOf);
  const rowsDigest = createHash('sha256');
  const pricesDigest = createHash('sha256');
  const byChain = new Map<string, Token[]>();
  await forEachChunk(rows, (slice) => {
    rowsDigest.update(JSON.stringify(slice.map(({ price, ...row }) => row)));
    pricesDigest.update(JSON.stringify(slice.map(({ price }) => price?.usd)));
    for (const token of slice) {
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
    ...taken,
    rowsVersion,
    version: digestOf([rowsVersion, shortened(pricesDigest)]),
    ageAt: agingFrom(taken.takenAt),
    rowsByChain: new Map([...byChain].map(([chainKey, ofChain]) => [chainKey, ofChain.length])),
    byChain: (chainKey) => byChain.get(chainKey) ?? NONE,
    byAddress: (chainKey, address) => byAddress.get(tokenKey(chainKey, address)),
    indexes,
    search: createTokenSearch(rows, indexes),
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
