/** The interfaces of storage: a disk, and other gateways to share with. */
import * as v from 'valibot';
import type { Fetched } from '../domain/listing.js';
import type { Stored } from '../domain/listing-memory.js';
import { UPSTREAM_ERROR_CODES } from '../domain/upstream-error.js';
import type { StoredKind } from '../upstream/listing-kinds.js';
import { heldBackLossForm } from './listing-check.js';

/** Stores the last good listings, so that they outlive the process. The methods never reject: failures are logged. */
export interface DiskStore {
  /** The newest listing on disk that may be served. */
  read<Row>(kind: StoredKind<Row>): Promise<Fetched<Row> | undefined>;
  /**
   * All listings on disk that must not be served, such as those of other services, the newest first. The guard compares
   * new rows with their facts.
   */
  readOthers<Row>(kind: StoredKind<Row>): Promise<readonly Fetched<Row>[]>;
  /** Replaces the stored listing of this kind and service atomically. */
  write<Row>(kind: StoredKind<Row>, fetched: Fetched<Row>): Promise<void>;
  settled(): Promise<unknown>;
}

/** The last failed refresh of a listing, as gateways share it. */
export const sharedFailureForm = v.object({
  code: v.picklist(UPSTREAM_ERROR_CODES),
  message: v.string(),
  /** Milliseconds since 1970. */
  at: v.number(),
  failuresInARow: v.number(),
  heldBack: v.optional(heldBackLossForm),
  /** The keys of held-back rows, and when their hold-back periods began: a listing that is held back restarts them. */
  periods: v.optional(v.array(v.tuple([v.string(), v.number()]))),
});

export type SharedFailure = Stored<typeof sharedFailureForm>;

/**
 * The right to request a topic (a listing or the routes of a token) from the upstream. One gateway at a time
 * has the right; but a gateway whose wait is too long gets the right, too. `succeed` and `fail` end the lease, and
 * do not reject.
 */
export interface RefreshLease<Row> {
  readonly is: 'ours';
  /** The last known failure of a peer. */
  readonly peerFailure: SharedFailure | undefined;
  succeed(fetched: Fetched<Row>, keepMs?: number): Promise<void>;
  /** Ends the lease without a listing. Peers may try again after `retryInMs`, or at once if no failure is given. */
  fail(failure?: SharedFailure, retryInMs?: number): Promise<void>;
}

export type LeaseResult<Row> =
  | RefreshLease<Row>
  | { readonly is: 'fetched'; readonly fetched: Fetched<Row> }
  | BackOff;

/** A peer has failed, and the next attempt is due only in `leftMs` milliseconds. */
export interface BackOff {
  readonly is: 'too early';
  readonly peerFailure: SharedFailure;
  readonly leftMs: number;
}

/** The other gateways, which share snapshots, routes and leases. If the store fails, no call rejects. */
export interface Peers {
  /**
   * Acquires the lease of a topic. While a peer has the lease, this call waits, but at most `withinMs`; then
   * it returns a lease nevertheless. If a peer has a snapshot that was requested after `newerThan` (milliseconds
   * since 1970), or a failure whose pause has not ended, it returns this result in place of a lease.
   */
  lease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    newerThan: number,
    withinMs?: number,
  ): Promise<LeaseResult<Row>>;
  /** The newest snapshot of a peer, if the store has one that was requested after `newerThan`. */
  newest<Row>(topic: string, kind: StoredKind<Row>, newerThan: number): Promise<Fetched<Row> | undefined>;
  /**
   * The last shared listings that must not be served, such as those of another upstream. The guard uses their facts.
   * Undefined if the store does not answer.
   */
  readOthers<Row>(topic: string, kind: StoredKind<Row>): Promise<readonly Fetched<Row>[] | undefined>;
  /** Ends the pause that follows a failure, for all gateways. */
  endPause(topic: string): Promise<void>;
  /** Calls the listener whenever a peer may have shared a new snapshot of the topic. */
  subscribe(topic: string, listener: () => void): void;
  /**
   * Offers the snapshot that this gateway serves. Peers without a snapshot, or with an older one, can use it.
   * With `isRevised`, it is shared at once, in place of an earlier form of the same snapshot.
   */
  offer<Row>(topic: string, kind: StoredKind<Row>, fetched: Fetched<Row>, isRevised?: boolean): void;
}

const none = async () => undefined;

/** The peers of a gateway that does not share. */
export const NO_PEERS: Peers = {
  lease: async () => ({ is: 'ours', peerFailure: undefined, succeed: none, fail: none }),
  newest: none,
  readOthers: async () => [],
  endPause: none,
  subscribe() {},
  offer() {},
};
