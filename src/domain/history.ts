/** The history of a listing, stored and shared with the rows: gateways with the same rows agree on it. */

/** One change of a listing, from the state with the cursor `from` to the next state. */
export interface ChangeStep {
  readonly from: string;
  /** The keys of the rows that were added, changed or removed. A changed price does not count. */
  readonly keys: readonly string[];
}

export interface ChangeLog {
  /** A digest of the present rows without prices. It does not depend on the order of the rows. */
  readonly cursor: string;
  /** The changes, the oldest first. The last one leads to the present state. */
  readonly steps: readonly ChangeStep[];
}

export interface TokenListVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** The part of an EVM chain that token lists show or depend on. */
export type EvmChain = readonly [chainKey: string, chainId: number, nativeAddress: string];

/** What the token list is made from, besides the rows. */
export interface TokenListState {
  readonly version: TokenListVersion;
  /** `takenAt` of the first listing with this version (milliseconds since 1970). */
  readonly at: number;
  /** The EVM chains that have listed tokens and a CAIP-2 identifier. */
  readonly chains: readonly EvmChain[];
}

export interface ListingHistory {
  readonly changes: ChangeLog;
  /** Present only in the token listing, once a chain listing was known. */
  readonly tokenList?: TokenListState | undefined;
}
