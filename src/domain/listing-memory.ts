/** The history of a listing and the memory of its guard. Both are stored and shared with the rows. */
import * as v from 'valibot';

/** The type of a stored value that passes the check `Form`. */
export type Stored<Form extends v.GenericSchema> = Frozen<v.InferOutput<Form>>;

type Frozen<Value> = { readonly [Key in keyof Value]: Frozen<Value[Key]> };

/** The history of a listing. Gateways that share a Redis and serve the same rows agree on it. */
export const historyForm = v.object({
  changes: v.object({
    /** A digest of the present rows without prices. It does not depend on the order of the rows. */
    cursor: v.string(),
    /**
     * The changes, the oldest first, each from the state with the cursor `from` to the next state. The last one leads to
     * the present state. `keys` are those of the rows that were added, changed (not only their prices) or removed.
     */
    steps: v.array(v.object({ from: v.string(), keys: v.array(v.string()) })),
  }),
  /** The version of the token list, and its chains. Only in the token listing, once a chain listing was known. */
  tokenList: v.optional(
    v.object({
      version: v.object({ major: v.number(), minor: v.number(), patch: v.number() }),
      /** `takenAt` of the first listing with this version (milliseconds since 1970). */
      at: v.number(),
      /** The EVM chains that have listed tokens and a CAIP-2 identifier: chainKey, chainId and native address of each. */
      chains: v.array(v.tuple([v.string(), v.number(), v.string()])),
    }),
  ),
});

export type ListingHistory = Stored<typeof historyForm>;
export type ChangeLog = ListingHistory['changes'];
export type ChangeStep = ChangeLog['steps'][number];
export type TokenListState = NonNullable<ListingHistory['tokenList']>;
export type TokenListVersion = TokenListState['version'];
/** The part of an EVM chain that token lists show or depend on. */
export type EvmChain = TokenListState['chains'][number];

/**
 * A row that is not listed any more, or not with these values, as it was last accepted; usually without its price. `at`
 * (milliseconds since 1970):
 *
 * - usually, when the row was first missing, or when other values of it were accepted;
 * - for a row of another upstream, `takenAt` of its listing;
 * - {@link REPLACED} if another row was accepted in its place.
 */
export interface GoneRow<Row> {
  readonly row: Row;
  readonly at: number;
}

export const REPLACED = 0;

/** A listed row that is held back, or a new row that is not listed yet. */
export interface HeldRow<Row> {
  readonly key: string;
  /** The rows that the upstream sends: none if it no longer sends the row, several if they contradict each other. */
  readonly rows: readonly Row[];
  /** Since when every new listing has had these values (milliseconds since 1970). */
  readonly since: number;
  /** The accepted values of the facts that are served with the value of a `keep` rule. */
  readonly accepted?: readonly (readonly [fact: string, value: string])[] | undefined;
  /** Whether a `keep` rule refuses the values. The hold-back period begins anew when no rule refuses them any more. */
  readonly isKept?: boolean | undefined;
}

/**
 * The memory of the guard about one listing. Without a store, a restart forgets it. Times are in milliseconds since 1970.
 * The rows are checked separately, like the rows of the listing.
 */
export const guardMemoryForm = v.object({
  /** `takenAt` of the first listing that was guarded with this memory; 0 before the first. */
  beganAt: v.number(),
  gone: v.array(v.object({ row: v.unknown(), at: v.number() })),
  /** The rows whose changed symbol or CAIP-2 identifier was accepted, as they were before that change. */
  former: v.optional(v.array(v.object({ row: v.unknown(), at: v.number() })), []),
  held: v.array(
    v.object({
      key: v.string(),
      rows: v.array(v.unknown()),
      since: v.number(),
      accepted: v.optional(v.array(v.tuple([v.string(), v.string()]))),
      isKept: v.optional(v.boolean()),
    }),
  ),
  /**
   * The keys of rows that were added within the hold-back period, and when. A row stays here longer while an
   * old row with the same symbol is held back.
   */
  arrived: v.array(v.tuple([v.string(), v.number()])),
  /**
   * The next price of each token is compared with these. They are stored in two cases: `usd` is a doubted price, which
   * is not served for ten minutes; or `usd` is null, because the upstream sends no price now.
   */
  prices: v.array(
    v.object({
      key: v.string(),
      /** In US dollars; null without a price. `before`: the last served price. `usd`: the price that the upstream sends. */
      before: v.nullable(v.number()),
      usd: v.nullable(v.number()),
      /** The first price of the ten minutes, also in US dollars: a price that is far from it begins them anew. */
      first: v.optional(v.number()),
      /** Since when the upstream has sent prices near `first`, less than a factor of ten away. */
      since: v.number(),
    }),
  ),
  /**
   * Rows that were removed before this time do not count as lost. It is the later of two `takenAt`: that of the last
   * listing whose large loss was accepted, and that of the newest listing of another upstream. 0 without both.
   */
  lossAcceptedAt: v.number(),
  /** The keys of chains without the CAIP-2 identifier of their row, because another chain has it or claims it, too. */
  unnumbered: v.array(v.string()),
});

export type GuardMemory<Row> = Omit<Stored<typeof guardMemoryForm>, 'gone' | 'former' | 'held'> & {
  readonly gone: readonly GoneRow<Row>[];
  readonly former: readonly GoneRow<Row>[];
  readonly held: readonly HeldRow<Row>[];
};
/** Why a changed value was accepted: the hold-back period has ended, or a rule accepts it. */
export type AcceptedBy = 'time' | 'operator';
export type DoubtedPrice = GuardMemory<unknown>['prices'][number];

export const EMPTY_GUARD_MEMORY: GuardMemory<never> = {
  beganAt: 0,
  gone: [],
  former: [],
  held: [],
  arrived: [],
  prices: [],
  lossAcceptedAt: 0,
  unnumbered: [],
};
