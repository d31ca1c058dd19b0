/** The interfaces of storage: a disk on which listings outlive the process, and other gateways to share with. */
import type { Fetched } from '../domain/listing.js';
import type { UpstreamErrorCode } from '../domain/upstream-error.js';
import type { StoredKind } from '../upstream/listing-kinds.js';
import type { HeldBack } from './changes/listing-check.js';

/** Stores the last good listings beyond the end of the process. The methods never reject: failures are logged. */
export interface DiskStore {
  /** The newest listing on disk that may be served; undefined if there is none. */
  read<Row>(kind: StoredKind<Row>): Promise<Fetched<Row> | undefined>;
  /** The newest listings on disk that may not be served, such as those of other services. Only their facts are used. */
  readOthers<Row>(kind: StoredKind<Row>): Promise<readonly Fetched<Row>[]>;
  /** Replaces the last listing of this kind. The replacement is atomic: a reader never gets a part. */
  write<Row>(kind: StoredKind<Row>, fetched: Fetched<Row>): Promise<void>;
  /** Resolves when all writes are done. */
  settled(): Promise<void>;
}

/** The last failed refresh of a listing, as gateways share it. */
export interface SharedFailure {
  readonly code: UpstreamErrorCode;
  readonly message: string;
  /** When the refresh failed (milliseconds since 1970). */
  readonly at: number;
  readonly failuresInARow: number;
  readonly heldBack: HeldBack | undefined;
}

/**
 * The right to request a topic from the upstream. One gateway has it at a time, unless others waited too long for it.
 * Call exactly one of the two methods; neither rejects.
 */
export interface RefreshLease<Row> {
  readonly is: 'ours';
  /** The last failure of a peer; undefined if none is known. */
  readonly peerFailure: SharedFailure | undefined;
  succeed(fetched: Fetched<Row>, keepMs?: number): Promise<void>;
  /** Ends the lease. Without a failure, peers may try at once. */
  fail(failure?: SharedFailure, retryInMs?: number): Promise<void>;
}

/** The result of {@link Peers.lease}. */
export type LeaseResult<Row> =
  | RefreshLease<Row>
  /** A peer has refreshed the listing. */
  | { readonly is: 'fetched'; readonly fetched: Fetched<Row> }
  | BackOff;

/** A peer has failed, and the next attempt is not due yet. */
export interface BackOff {
  readonly is: 'too early';
  readonly peerFailure: SharedFailure;
  readonly leftMs: number;
}

/** The gateways that share snapshots, routes and the right to request them. The methods never reject. */
export interface Peers {
  /**
   * Acquires the lease, and waits while a peer has it.
   *
   * @param topic a listing's name, or a route
   * @param newerThan a snapshot of a peer is returned if it was requested later than this (milliseconds since 1970)
   * @param withinMs how long to wait for a peer; after that this gateway gets a lease, too
   */
  lease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    newerThan: number,
    withinMs?: number,
  ): Promise<LeaseResult<Row>>;
  /** The newest snapshot of a peer, if it was requested after this (milliseconds since 1970). */
  newest<Row>(topic: string, kind: StoredKind<Row>, newerThan: number): Promise<Fetched<Row> | undefined>;
  /** The last listing that gateways with another upstream shared. It is not served: only its facts are used. */
  readOthers<Row>(topic: string, kind: StoredKind<Row>): Promise<readonly Fetched<Row>[]>;
  /** Ends the pause after a failure for all gateways. */
  endPause(topic: string): Promise<void>;
  /** Calls the listener when a peer has changed the topic, or may have changed it. */
  subscribe(topic: string, listener: () => void): void;
  /** Offers the snapshot that is served here to peers that have none, or an older one. */
  offer<Row>(topic: string, kind: StoredKind<Row>, fetched: Fetched<Row>): void;
}

/** The peers of a gateway that does not share. */
export const NO_PEERS: Peers = {
  lease: async () => ({
    is: 'ours',
    peerFailure: undefined,
    succeed: async () => {},
    fail: async () => {},
  }),
  newest: async () => undefined,
  readOthers: async () => [],
  endPause: async () => {},
  subscribe() {},
  offer() {},
};
