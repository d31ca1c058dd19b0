import { createHash } from 'node:crypto';
import { foldChainKey, tokenKey } from '../domain/addresses.js';
import type { ListingHistory, TokenListState } from '../domain/history.js';
import { groupBy, keyedRows } from '../domain/keyed-rows.js';
import type { Chain, Fetched, Origin, Token } from '../domain/listing.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { createChainNames } from '../search/chain-names.js';
import { type AskingSearch, withDidYouMean } from '../search/suggestions/did-you-mean.js';
import { interpretationsOf } from '../search/text.js';
import { createTokenIndexes, type TokenIndexes } from '../search/token-indexes.js';
import { createTokenSearch, type KnownChains } from '../search/token-search.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';
import { unlistedRows } from './changes/unguarded.js';
import { changesSince, type ListingChanges, nextChangeLog } from './history/change-log.js';
import { evmChainsOf, FIRST_VERSION, nextTokenListState } from './history/token-list.js';
import { digestOf, shortDigest } from './short-digest.js';

/** One whole listing as it was when fetched. It is immutable. */
export interface Snapshot<Row> extends Fetched<Row> {
  /** A digest of the rows in their order. Equal rows have an equal version, whenever they were fetched. */
  readonly version: string;
  readonly history: ListingHistory;
  /** How it differs from the state that this cursor stands for; from none without a cursor. */
  changesSince(cursor: string | undefined): ListingChanges<Row>;
  /**
   * Its age, in milliseconds. A clock that is set back does not make it younger.
   *
   * @param now milliseconds since 1970
   */
  ageAt(now: number): number;
}

/** The chain listing with its indexes. */
export interface ChainSnapshot extends Snapshot<Chain>, KnownChains {
  /** The chain with exactly this CAIP-2 identifier. */
  byCaip2(caip2: string): Chain | undefined;
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
  /** The tokens of one chain, whose key is in any letter case; empty for an unknown chain. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address, in any spelling of both. */
  byAddress(chainKey: string, address: string): Token | undefined;
  readonly search: AskingSearch;
  /** The indexes of the search. */
  readonly indexes: TokenIndexes;
  /** What the guard knows of tokens that are not listed: the last accepted row, or null for one that waits. */
  readonly unlisted: ReadonlyMap<string, Token | null>;
}

/**
 * Indexes a fetched chain listing. Without a history, it begins one.
 *
 * @param before the older snapshot
 */
export function createChainSnapshot(fetched: Fetched<Chain>, before?: ChainSnapshot): ChainSnapshot {
  const { rows } = fetched;
  const version = digestOf(rows);
  const history = fetched.history ?? { changes: { cursor: version, steps: [] } };
  const byKey = keyedRows(rows, CHAINS.keyOf);
  const names = createChainNames(rows);
  const byCaip2 = new Map(rows.map((chain) => [chain.caip2, chain]));
  return {
    ...fetched,
    version,
    history,
    changesSince: (cursor) => changesSince(CHAINS, { rows, history }, cursor),
    ageAt: agingFrom(fetched.takenAt, before),
    byCaip2: (caip2) => (caip2.length > TEXT_LIMITS.caip2 ? undefined : byCaip2.get(caip2)),
    byKey: (chainKey) => byKey.get(foldChainKey(chainKey)),
    ...names,
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
 * Adds to a fetched chain listing how it differs from earlier ones.
 *
 * @param before the older snapshot
 */
export async function withChainHistory(
  fetched: Fetched<Chain>,
  before: ChainSnapshot | undefined,
): Promise<Fetched<Chain>> {
  const changes = await nextChangeLog(CHAINS, fetched.rows, fetched.history?.changes, before, false);
  return { ...fetched, history: { changes } };
}

/**
 * Indexes a fetched token listing, in chunks that yield to requests.
 *
 * @param before the older snapshot; its search indexes are reused if only prices differ
 * @param chains the chains that are served, for the token list
 */
export async function createTokenSnapshot(
  fetched: Fetched<Token>,
  before?: TokenSnapshot,
  chains?: ChainSnapshot,
): Promise<TokenSnapshot> {
  const { rows } = fetched;
  const rowsDigest = createHash('sha256');
  const pricesDigest = createHash('sha256');
  await forEachChunk(rows, (chunk) => {
    rowsDigest.update(JSON.stringify(chunk.map(({ price, ...row }) => row)));
    pricesDigest.update(JSON.stringify(chunk.map(({ price }) => price?.usd)));
  });
  const byChain = groupBy(rows, ({ chainKey }) => chainKey);
  for (const ofChain of byChain.values()) Object.freeze(ofChain);
  const rowsVersion = shortDigest(rowsDigest);
  const isKnown = before?.rowsVersion === rowsVersion;
  const changes = await nextChangeLog(TOKENS, rows, fetched.history?.changes, before, isKnown);
  const state = before && tokenListStateOf(before, chains);
  const shared = fetched.history?.tokenList;
  const evmChains = shared?.chains ?? (chains ? evmChainsOf(chains.rows, byChain) : state?.chains);
  const tokenList =
    evmChains &&
    (await nextTokenListState(
      fetched,
      evmChains,
      shared,
      before && state && { rows: before.rows, state },
      isKnown,
    ));
  const indexes = isKnown ? before.indexes : await createTokenIndexes(rows);
  const byKey = keyedRows(rows, TOKENS.keyOf);
  return {
    ...fetched,
    history: { changes, tokenList },
    changesSince: (cursor) => changesSince(TOKENS, { rows, history: { changes } }, cursor),
    rowsVersion,
    version: digestOf([rowsVersion, shortDigest(pricesDigest)]),
    ageAt: agingFrom(fetched.takenAt, before),
    byChain: (chainKey) => byChain.get(foldChainKey(chainKey)) ?? NONE,
    byAddress(chainKey, address) {
      if (chainKey.length > TEXT_LIMITS.chainKey || address.length > TEXT_LIMITS.address) return undefined;
      return byKey.get(tokenKey(chainKey, address));
    },
    unlisted: unlistedRows(TOKENS, fetched),
    indexes,
    search: withDidYouMean(createTokenSearch(rows, indexes), indexes),
  };
}

/** The states that were made after their snapshots. */
const lateStates = new WeakMap<TokenSnapshot, TokenListState>();

/**
 * The state of the token list of a token listing. The first token listing of a process can come before the chains: its
 * list begins when they are there.
 *
 * @param chains the chains that are served
 */
export function tokenListStateOf(
  tokens: TokenSnapshot,
  chains: ChainSnapshot | undefined,
): TokenListState | undefined {
  const state = tokens.history.tokenList ?? lateStates.get(tokens);
  if (state || !chains) return state;
  const late = {
    version: FIRST_VERSION,
    at: tokens.takenAt,
    chains: evmChainsOf(chains.rows, { has: (chainKey) => tokens.byChain(chainKey).length > 0 }),
  };
  lateStates.set(tokens, late);
  return late;
}

/** `Age` has whole seconds: the same answer from one cache can seem to be older by this, in milliseconds. */
const AGE_STEP_MS = 1_000;

/**
 * Whether an answer from a cache is older than the snapshot that is served, and must not replace it: such a cache can
 * fall behind, and its nodes can hold answers of different ages. It compares ages: that of the snapshot is monotonic,
 * so a clock that was set back does not make all later answers older.
 */
export function isOlder({ takenAt, upstreamAgeMs = 0 }: Origin, served: Snapshot<unknown>): boolean {
  const now = Date.now();
  return upstreamAgeMs > 0 && now - takenAt > served.ageAt(now) + AGE_STEP_MS;
}

/** The same listing again, such as under other rules, goes on to age. */
function agingFrom(takenAt: number, before: Snapshot<unknown> | undefined): (now: number) => number {
  if (before?.takenAt === takenAt) return before.ageAt;
  const ageThen = Math.max(0, Date.now() - takenAt);
  const then = performance.now();
  return (now) => Math.max(now - takenAt, ageThen + performance.now() - then);
}

const NONE: readonly Token[] = Object.freeze([]);
