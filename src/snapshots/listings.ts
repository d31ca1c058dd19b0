/** The table of the listings: how the rows of each are guarded, selected by the operator's rules, and indexed. */
import type { EmbeddedFacts } from '../domain/guarded-facts.js';
import type { Chain, Fetched, ListingRows, Token } from '../domain/listing.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { CHAINS, type ListingKind, TOKENS } from '../upstream/listing-kinds.js';
import { compareNatives, guardPrices, numberChains } from './cross-checks.js';
import { guardListing } from './guard.js';
import type { Refresher, RefresherOptions } from './refresher.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';

export interface IndexedListings extends Record<keyof ListingRows, Snapshot<unknown>> {
  readonly chains: ChainSnapshot;
  readonly tokens: TokenSnapshot;
}

export type ListingName = keyof IndexedListings;

/** The snapshots that are served now; undefined for a listing that has no snapshot yet. */
export type ServedSnapshots = { readonly [Name in ListingName]: IndexedListings[Name] | undefined };

export type Refreshers = {
  readonly [Name in ListingName]: IndexedListings[Name] extends Snapshot<infer Row>
    ? Refresher<IndexedListings[Name], Row>
    : never;
};

/** The data that is needed to guard, select and index the rows of a listing, besides these rows. */
interface ListingContext {
  /** The hold-back period in milliseconds; infinite: time alone never accepts a changed guarded value. */
  readonly holdBackMs: number;
  readonly embedded: () => EmbeddedFacts;
  /** The operator's rules, resolved by the served chains. */
  readonly operator: () => ResolvedRules;
  /** The operator's rules, resolved by the given chains and the embedded ones. */
  readonly rulesFor: (listing?: Partial<Fetched<Chain>>, sent?: readonly Chain[]) => ResolvedRules;
  readonly served: () => ServedSnapshots;
  /** The chains with which tokens are compared, including hidden ones; undefined before the first chain listing. */
  readonly chainsToCompare: () => readonly Chain[] | undefined;
}

/** One listing: its kind, and how its rows are guarded, selected and indexed. */
export interface ListingDefinition<Row, Indexed extends Snapshot<Row>> {
  readonly kind: ListingKind<Row>;
  readonly within: (
    context: ListingContext,
  ) => Pick<RefresherOptions<Row, Indexed>, 'guard' | 'select' | 'index'>;
}

const chains: ListingDefinition<Chain, ChainSnapshot> = {
  kind: CHAINS,
  within: ({ holdBackMs, embedded, rulesFor }) => ({
    async guard(sent, before, peer) {
      const rules = rulesFor(before, sent.rows);
      const result = await guardListing({ kind: CHAINS, holdBackMs, rules }, sent, before, peer);
      return { ...result, listing: numberChains(result.listing, before, embedded().chainKeys, holdBackMs) };
    },
    select: (rows, guard) => rulesFor({ rows, guard }).selectChains(rows),
    index: createChainSnapshot,
  }),
};

const tokens: ListingDefinition<Token, TokenSnapshot> = {
  kind: TOKENS,
  within: ({ holdBackMs, embedded, operator, chainsToCompare, served }) => ({
    async guard(sent, before, peer) {
      const baseline = (key: string) => embedded().tokens.get(key);
      const options = { kind: TOKENS, holdBackMs, rules: operator(), baseline };
      const result = await guardListing(options, sent, before, peer);
      const compared = compareNatives(result.listing, before, chainsToCompare() ?? [], operator());
      return { ...result, listing: await guardPrices(compared, before) };
    },
    select: (rows) => operator().selectTokens(rows),
    index: (fetched, before) => createTokenSnapshot(fetched, before, served().chains),
  }),
};

export const LISTINGS = { chains, tokens } satisfies Readonly<Record<ListingName, unknown>>;

export const LISTING_NAMES = Object.keys(LISTINGS) as readonly ListingName[];

/** Makes a value for each listing. */
export function byListing<Made extends Readonly<Record<ListingName, unknown>>>(
  make: (name: ListingName) => Made[ListingName],
): Made {
  return Object.fromEntries(LISTING_NAMES.map((name) => [name, make(name)])) as Made;
}
