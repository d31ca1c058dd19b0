/** The history of a listing, stored and shared with the rows: gateways with the same rows agree on it. */
import * as v from 'valibot';
import type { Stored } from './stored.js';

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
  /** What the token list is made from, besides the rows. Only in the token listing, once a chain listing was known. */
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
