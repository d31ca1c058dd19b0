/*
 * The memory of the guarded values of a listing. It goes with the rows to disk and through Redis, so that a
 * restart, or another gateway, neither forgets a value nor starts a clock anew.
 */

/** A row that is no longer listed, as it was last accepted, without its price. */
export interface GoneRow<Row> {
  readonly row: Row;
  /** When it was first missing (milliseconds since 1970); 0 if another row was accepted in its place. */
  readonly at: number;
}

/** What the upstream sends in place of a row that is held back, or a new row that waits. */
export interface HeldRow<Row> {
  readonly key: string;
  /** None if the upstream no longer sends the row, several if they contradict each other. */
  readonly rows: readonly Row[];
  /** Since when every listing had the same (milliseconds since 1970). */
  readonly since: number;
}

/** Who accepted a change of a guarded value: the time that it stayed, or the operator. */
export type AcceptedBy = 'time' | 'operator';

/** A contradiction that was accepted. */
export interface AcceptedChange {
  readonly key: string;
  /** The guarded values of the row that was accepted; equal for equal values. */
  readonly value: string;
  readonly by: AcceptedBy;
}

/** A token's price that is null although the upstream sends one, or sent one before. */
export interface DoubtedPrice {
  readonly key: string;
  /** The last price that was served, in US dollars; null if none was. */
  readonly before: number | null;
  /** The price that the upstream sends now; null if it sends none. */
  readonly usd: number | null;
  /** Since when it sends about this price (milliseconds since 1970). */
  readonly since: number;
}

export interface GuardRecord<Row> {
  /** `takenAt` of the first listing that this record knows (milliseconds since 1970); 0 if it knows none. */
  readonly beganAt: number;
  /** The oldest first. */
  readonly gone: readonly GoneRow<Row>[];
  readonly held: readonly HeldRow<Row>[];
  /** Rows that appeared within the hold-back period, with the time of their first listing. */
  readonly arrived: readonly (readonly [key: string, at: number])[];
  /** The last changes that were accepted, the oldest first. */
  readonly accepted: readonly AcceptedChange[];
  readonly prices: readonly DoubtedPrice[];
  /** When a large loss of rows was last accepted (milliseconds since 1970); 0 if never. */
  readonly lossAcceptedAt: number;
  /** Keys of chains whose CAIP-2 identifier belongs to another chain. */
  readonly unnumbered: readonly string[];
}

/** The record of a listing whose rows alone are known. */
export const EMPTY_GUARD: GuardRecord<never> = {
  beganAt: 0,
  gone: [],
  held: [],
  arrived: [],
  accepted: [],
  prices: [],
  lossAcceptedAt: 0,
  unnumbered: [],
};
