import type { Fetched } from '../domain/listing.js';
import type { UpstreamErrorCode } from '../domain/upstream-error.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { HeldBack } from './changes/change-check.js';

/** What failed refreshes have come to, for whoever refreshes next. */
export interface SharedFailure {
  readonly code: UpstreamErrorCode;
  readonly message: string;
  /** When the last one failed (milliseconds since 1970). */
  readonly at: number;
  readonly failuresInARow: number;
  readonly heldBack: HeldBack | undefined;
}

/** What a gateway that is about to refresh finds among those that share with it. */
export type Turn<Row> =
  /** Another has refreshed meanwhile. */
  | { readonly is: 'taken'; readonly taken: Fetched<Row> }
  /** Another has failed, and it is not yet time to try again. */
  | { readonly is: 'too early'; readonly setback: SharedFailure; readonly leftMs: number }
  /** Nobody else refreshes now. Exactly one of the two methods is to be called, and neither rejects. */
  | {
      readonly is: 'ours';
      /** What others met before; undefined where nothing is known of it. */
      readonly setback: SharedFailure | undefined;
      succeed(taken: Fetched<Row>, keepMs?: number): Promise<void>;
      /** Without a setback it says nothing but that the turn is over. */
      fail(setback?: SharedFailure, retryInMs?: number): Promise<void>;
    };

/** The gateways that share snapshots, routes and the right to ask the upstream for them. Nothing rejects. */
export interface Peers {
  /**
   * Waits for the end of another's refresh, if one is under way.
   *
   * @param topic what it is about: a listing's name, or a route
   * @param newerThan what is not newer than this (milliseconds since 1970) is known already
   * @param withinMs how long to wait for another; after that it is our turn, too
   */
  turn<Row>(topic: string, kind: ListingKind<Row>, newerThan: number, withinMs?: number): Promise<Turn<Row>>;
  /** What another has taken, if it is newer. */
  newest<Row>(topic: string, kind: ListingKind<Row>, newerThan: number): Promise<Fetched<Row> | undefined>;
  /** Calls whenever another gateway has something new on the topic. */
  onNews(topic: string, listener: () => void): void;
  /** Tells what is served here, for whoever has lost it. */
  holds<Row>(topic: string, kind: ListingKind<Row>, taken: Fetched<Row>): void;
}

/** A gateway on its own. */
export const NO_PEERS: Peers = {
  turn: async () => ({ is: 'ours', setback: undefined, succeed: async () => {}, fail: async () => {} }),
  newest: async () => undefined,
  onNews() {},
  holds() {},
};
