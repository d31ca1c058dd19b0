/** Snapshots: immutable copies of the upstream's listings, with their indexes. */
import { isDeepStrictEqual } from 'node:util';
import { foldChainKey, tokenKey } from '../domain/addresses.js';
import { digestOf, textDigest } from '../domain/digests.js';
import { append, keyedRows } from '../domain/keyed-rows.js';
import type { Chain, Fetched, ListingRows, SourceAndAge, Token } from '../domain/listing.js';
import type { EvmChain, ListingHistory } from '../domain/listing-memory.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { forEachInSteps, yieldThen } from '../scheduling/steps.js';
import { createChainNames } from '../search/chain-names.js';
import { type SuggestingSearch, withDidYouMean } from '../search/did-you-mean.js';
import { interpretationsOf } from '../search/text.js';
import { createTokenIndexes, type TokenIndexes } from '../search/token-indexes.js';
import { createTokenSearch } from '../search/token-search.js';
import type { KnownChains } from '../search/word-scores.js';
import { CHAINS, type ListingKind, TOKENS } from '../upstream/listing-kinds.js';
import { changesSince, type ListingChanges, nextChangeLog } from './change-log.js';
import { unlistedRows } from './known-rows.js';
import { evmChainsOf, nextTokenListState } from './token-list-state.js';

/** One whole listing as it is served: fetched, guarded, and without the rows that the operator hides. */
export interface Snapshot<Row> extends Fetched<Row> {
  /** A digest of the rows with their prices, in order. */
  readonly digest: string;
  /** A digest of the rows without their prices; for chains, which have no prices, it equals `digest`. */
  readonly rowsDigest: string;
  /** Two snapshots have the same `state` if their rows, prices and times of prices are equal. */
  readonly state: string;
  readonly history: ListingHistory;
  changesSince(cursor: string | undefined): ListingChanges<Row>;
  /** The age of the snapshot at a time (milliseconds since 1970). It does not decrease when the clock is set back. */
  ageAt(now: number): number;
}

export interface ChainSnapshot extends Snapshot<Chain>, KnownChains {
  /** The chain with exactly this CAIP-2 identifier. */
  byCaip2(caip2: string): Chain | undefined;
  /** The chains of these types (or of all types) whose names match `search`. @throws GatewayError BAD_USER_INPUT */
  matching(search: string, chainTypes?: readonly string[]): readonly Chain[];
}

export interface TokenSnapshot extends Snapshot<Token> {
  /** The tokens of one chain. The key can have any letter case. */
  byChain(chainKey: string): readonly Token[];
  /** The token at this address. Chain key and address can have any spelling that {@link tokenKey} understands. */
  byAddress(chainKey: string, address: string): Token | undefined;
  /** The operator's rules with which the tokens were guarded and selected. */
  readonly rules: ResolvedRules;
  readonly search: SuggestingSearch;
  readonly indexes: TokenIndexes;
  /** The cursor of the changes of the chains with which the tokens were indexed. */
  readonly chainsCursor: string | undefined;
  /**
   * Known tokens that are not listed, by key: a removed token as last accepted; null for others ({@link unlistedRows}).
   */
  readonly unlisted: ReadonlyMap<string, Token | null>;
}

export interface IndexedListings extends Record<keyof ListingRows, Snapshot<unknown>> {
  readonly chains: ChainSnapshot;
  readonly tokens: TokenSnapshot;
}

export type ListingName = keyof IndexedListings;

export const LISTING_NAMES = ['chains', 'tokens'] as const satisfies readonly ListingName[];

/** The snapshots that are served now; undefined for a listing that has no snapshot yet. */
export type ServedSnapshots = { [Name in ListingName]: IndexedListings[Name] | undefined };

/** Creates the common part of both kinds of snapshots. Continues the history of `before`. Yields to requests. */
async function createSnapshot<Row>(
  kind: ListingKind<Row>,
  fetched: Fetched<Row>,
  before: Snapshot<Row> | undefined,
): Promise<Snapshot<Row>> {
  const { rows, takenAt } = fetched;
  const { priceOf } = kind;
  const contents: string[] = [];
  await forEachInSteps(rows, (row) => contents.push(kind.contentOf(row)));
  const rowsDigest = await yieldThen(() => textDigest(contents.join('\n')));
  const changes = await nextChangeLog(kind, rows, contents, fetched.history?.changes, before);
  const history = { changes };
  const digest = await yieldThen(() => (priceOf ? digestOf([rowsDigest, rows.map(priceOf)]) : rowsDigest));
  return {
    ...fetched,
    rowsDigest,
    digest,
    state: priceOf ? `${digest} ${takenAt}` : digest,
    history,
    changesSince: (cursor) => changesSince(kind, { rows, history }, cursor),
    ageAt: agingFrom(takenAt, before),
  };
}

export async function createChainSnapshot(
  fetched: Fetched<Chain>,
  before?: ChainSnapshot,
): Promise<ChainSnapshot> {
  const { rows } = fetched;
  const byKey = keyedRows(rows, CHAINS.keyOf);
  const names = await createChainNames(rows);
  const byCaip2 = new Map(rows.map((chain) => [chain.caip2, chain]));
  return {
    ...(await createSnapshot(CHAINS, fetched, before)),
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
 * Indexes a fetched token listing. It yields to requests. If only prices differ, and the chains are the same,
 * the search indexes of `before` are used.
 */
export async function createTokenSnapshot(
  fetched: Fetched<Token>,
  rules: ResolvedRules,
  before?: TokenSnapshot,
  chains?: ChainSnapshot,
): Promise<TokenSnapshot> {
  const { rows } = fetched;
  const snapshot = await createSnapshot(TOKENS, fetched, before);
  const isSame = before?.rowsDigest === snapshot.rowsDigest;
  const byKey = await yieldThen(() => keyedRows(rows, TOKENS.keyOf));
  const byChain = new Map<string, Token[]>();
  /** By address, as the listing writes it: the token; or, if several chains have the address, tokens by chain key. */
  const byAddress = new Map<string, Token | Map<string, Token>>();
  await forEachInSteps(rows, (token) => {
    const { chainKey, address } = token;
    append(byChain, chainKey, token);
    const other = byAddress.get(address);
    if (other instanceof Map) other.set(chainKey, token);
    else if (other) byAddress.set(address, new Map([other, token].map((each) => [each.chainKey, each])));
    else byAddress.set(address, token);
  });
  for (const ofChain of byChain.values()) Object.freeze(ofChain);
  const state = before?.history.tokenList;
  const stored = fetched.history?.tokenList;
  const ownChains = chains && evmChainsOf(chains.rows, byChain);
  // The stored version is used only for exactly the stored rows and chains. Other rules or another guard memory can
  // change the rows, and other rules or another gateway the chains.
  const isStored = fetched.history?.changes.cursor === snapshot.history.changes.cursor;
  const isOfOwnChains = !ownChains || isDeepStrictEqual(textsOf(ownChains), textsOf(stored?.chains));
  const shared = isStored && isOfOwnChains ? stored : undefined;
  const evmChains = shared?.chains ?? ownChains ?? (state ?? stored)?.chains;
  const earlier = before && state && { rows: before.rows, state };
  const tokenList = evmChains && (await nextTokenListState(fetched, evmChains, shared, earlier, isSame));
  const chainsCursor = chains?.history.changes.cursor;
  const indexes =
    isSame && before.chainsCursor === chainsCursor ? before.indexes : await createTokenIndexes(rows, chains);
  return {
    ...snapshot,
    rules,
    history: { ...snapshot.history, tokenList },
    byChain: (chainKey) => byChain.get(foldChainKey(chainKey)) ?? NONE,
    byAddress(chainKey, address) {
      if (chainKey.length > TEXT_LIMITS.chainKey || address.length > TEXT_LIMITS.address) return undefined;
      // Most clients send a key as the listing writes it. Such a key need not be folded.
      const found = byAddress.get(address);
      const token = found instanceof Map ? found.get(chainKey) : found;
      return token?.chainKey === chainKey ? token : byKey.get(tokenKey(chainKey, address));
    },
    unlisted: unlistedRows(TOKENS, fetched),
    indexes,
    chainsCursor,
    search: withDidYouMean(await yieldThen(() => createTokenSearch(rows, indexes)), indexes),
  };
}

/** The chains as a set of texts: equal for the same chains in any order. */
const textsOf = (chains: readonly EvmChain[] = []) => new Set(chains.map(String));

/** Ages that differ by less than this (ms) can be of the same answer, because the header `Age` has whole seconds. */
const AGE_STEP_MS = 1_000;

/**
 * True if an answer is older than the served one and must not replace it: the servers of an HTTP cache can have
 * stored answers of different ages. Ages are compared: after the clock was set back, earlier times are wrong.
 */
export function isOlder(
  { takenAt, upstreamAgeMs = 0 }: SourceAndAge,
  servedAgeAt: Snapshot<unknown>['ageAt'],
): boolean {
  const now = Date.now();
  return upstreamAgeMs > 0 && now - takenAt > servedAgeAt(now) + AGE_STEP_MS;
}

/** Makes {@link Snapshot.ageAt}. Two snapshots of the same answer share one function. */
export function agingFrom(takenAt: number, before?: Snapshot<unknown>): (now: number) => number {
  if (before && before.takenAt === takenAt) return before.ageAt;
  const ageThen = Math.max(0, Date.now() - takenAt);
  const then = performance.now();
  return (now) => Math.max(now - takenAt, ageThen + performance.now() - then);
}

const NONE: readonly Token[] = Object.freeze([]);
