import type { Fetched } from '../domain/listing.js';
import type { UpstreamErrorCode } from '../domain/upstream-error.js';
import type { StoredKind } from '../upstream/listing-kinds.js';
import type { HeldBack } from './changes/listing-check.js';

/** The last failed refresh of a listing, as gateways tell it to each other. */
export interface SharedFailure {
  readonly code: UpstreamErrorCode;
  readonly message: string;
  /** When the refresh failed (milliseconds since 1970). */
  readonly at: number;
  readonly failuresInARow: number;
  readonly heldBack: HeldBack | undefined;
}

/** The right to ask the upstream, held by one gateway at a time. Call exactly one of the methods; neither rejects. */
export interface RefreshLease<Row> {
  readonly is: 'ours';
  /** The last failure of a peer; undefined if none is known. */
  readonly peerFailure: SharedFailure | undefined;
  succeed(fetched: Fetched<Row>, keepMs?: number): Promise<void>;
  /** Ends the lease. Without a failure to share, peers may try at once. */
  fail(failure?: SharedFailure, retryInMs?: number): Promise<void>;
}

/** The outcome of asking for a lease. */
export type LeaseResult<Row> =
  | RefreshLease<Row>
  /** A peer has refreshed meanwhile. */
  | { readonly is: 'fetched'; readonly fetched: Fetched<Row> }
  | BackOff;

/** A peer has failed, and the next attempt is not due yet. */
export interface BackOff {
  readonly is: 'too early';
  readonly peerFailure: SharedFailure;
  readonly leftMs: number;
}

/** The gateways that share snapshots, routes and the right to ask the upstream for them. Nothing rejects. */
export interface Peers {
  /**
   * Asks for the lease, and waits while a peer holds it.
   *
   * @param topic a listing's name, or a route
   * @param newerThan snapshots that were requested earlier are of no use (milliseconds since 1970)
   * @param withinMs how long to wait for a peer; then this gateway refreshes, too
   */
  lease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    newerThan: number,
    withinMs?: number,
  ): Promise<LeaseResult<Row>>;
  /** The newest snapshot of a peer, if it was requested after this (milliseconds since 1970). */
  newest<Row>(topic: string, kind: StoredKind<Row>, newerThan: number): Promise<Fetched<Row> | undefined>;
  /** The last listing that gateways with another upstream have shared: not to be served, but its facts are known. */
  readOthers<Row>(topic: string, kind: StoredKind<Row>): Promise<readonly Fetched<Row>[]>;
  /** Calls the listener whenever a peer has news on the topic. */
  subscribe(topic: string, listener: () => void): void;
  /** Offers the snapshot that is served here to peers that have none. */
  offer<Row>(topic: string, kind: StoredKind<Row>, fetched: Fetched<Row>): void;
}

/** For a gateway on its own. */
export const NO_PEERS: Peers = {
  lease: async () => ({
    is: 'ours',
    peerFailure: undefined,
    succeed: async () => {},
    fail: async () => {},
  }),
  newest: async () => undefined,
  readOthers: async () => [],
  subscribe() {},
  offer() {},
};
