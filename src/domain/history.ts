/**
 * The history of a listing: its last changes. It is stored and shared with the rows, so that gateways that serve the
 * same rows have the same history.
 */

/** One change of a listing, from the state with this cursor to the next state. */
export interface ChangeStep {
  readonly from: string;
  /** The keys of the rows that were added, changed or removed. A changed price does not count. */
  readonly keys: readonly string[];
}

/** The last changes of a listing. */
export interface ChangeLog {
  /** A digest of the present rows without prices. It does not depend on their order. */
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

/** The state from which the token list is made, besides the rows. */
export interface TokenListState {
  readonly version: TokenListVersion;
  /** `takenAt` of the listing that this version began with (milliseconds since 1970). */
  readonly at: number;
  /** The EVM chains that have listed tokens. */
  readonly chains: readonly EvmChain[];
}

export interface ListingHistory {
  readonly changes: ChangeLog;
  /** Only in the token listing, and only since there is a chain listing. */
  readonly tokenList?: TokenListState | undefined;
}
