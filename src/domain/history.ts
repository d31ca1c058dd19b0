/*
 * What is remembered of the earlier states of a listing. It goes with the rows from snapshot to snapshot, to disk and
 * through Redis, so that gateways which serve the same rows remember the same.
 */

/** One change of a listing, from the state with this cursor to the next state. */
export interface ChangeStep {
  readonly from: string;
  /** The keys of the rows that came, changed or went; prices do not count. */
  readonly keys: readonly string[];
}

/** The last changes of a listing. */
export interface ChangeLog {
  /** A digest of the present rows without prices, whatever their order. */
  readonly cursor: string;
  /** The oldest first. The last one leads to the present state. */
  readonly steps: readonly ChangeStep[];
}

/** The version of a token list. */
export interface TokenListVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** The part of an EVM chain that token lists show or depend on. */
export type EvmChain = readonly [chainKey: string, chainId: number, nativeAddress: string];

/** What the token list of a token listing is made with, beside the rows. */
export interface TokenListState {
  readonly version: TokenListVersion;
  /** `takenAt` of the listing that this version began with (milliseconds since 1970). */
  readonly at: number;
  /** The EVM chains that have listed tokens. */
  readonly chains: readonly EvmChain[];
}

export interface ListingHistory {
  readonly changes: ChangeLog;
  /** Only of the token listing, and only once the chain listing was there. */
  readonly tokenList?: TokenListState | undefined;
}
