/** The memory of the guard. It is stored and shared with the rows. Without a store, a restart forgets it. */

/**
 * A row that is no longer listed, as it was last accepted; usually without its price. `at` (milliseconds since 1970) is
 * when the row was first missing. For a row of another upstream, `at` is `takenAt` of that listing; for a row that
 * only another gateway lists, when that gateway first held it back. `at` is 0 if another row was accepted in place of
 * this one.
 */
export interface GoneRow<Row> {
  readonly row: Row;
  readonly at: number;
}

/** A listed row that is held back, or a new row that is not listed yet. */
export interface HeldRow<Row> {
  readonly key: string;
  /** The rows that the upstream sends: none if it no longer sends the row, several if they contradict each other. */
  readonly rows: readonly Row[];
  /** Since when every new listing has had these values (milliseconds since 1970). */
  readonly since: number;
}

/** Why a change of a guarded value was accepted: it stayed for the hold-back period, or a rule accepts it. */
export type AcceptedBy = 'time' | 'operator';

/**
 * An accepted change. `value` is the text of the new guarded values; if the address changed, also the key of the new
 * row.
 */
export interface AcceptedChange {
  readonly key: string;
  readonly value: string;
  readonly by: AcceptedBy;
}

/**
 * A price that the next prices of the token are compared with. Either `usd` is doubted, and not served for ten minutes;
 * or the upstream sends no price now (`usd` is null), and `before` was the last one.
 */
export interface DoubtedPrice {
  readonly key: string;
  /** In US dollars; null without a price. `before`: the last served price. `usd`: the price that the upstream sends. */
  readonly before: number | null;
  readonly usd: number | null;
  /** Since when the upstream has sent prices near `usd`, less than a factor of ten away (milliseconds since 1970). */
  readonly since: number;
}

/** The memory of the guard about one listing. Times are in milliseconds since 1970. */
export interface GuardMemory<Row> {
  /** `takenAt` of the first listing that was guarded with this memory; 0 before the first. */
  readonly beganAt: number;
  readonly gone: readonly GoneRow<Row>[];
  readonly held: readonly HeldRow<Row>[];
  /**
   * The keys of rows that were added within the hold-back period, and when. A row stays here longer while an
   * old row with the same symbol is held back.
   */
  readonly arrived: readonly (readonly [key: string, at: number])[];
  /** The oldest first, like `gone`. */
  readonly accepted: readonly AcceptedChange[];
  readonly prices: readonly DoubtedPrice[];
  /**
   * Rows that were removed before this time no longer count as lost. It is the later one of two times: `takenAt` of the
   * last listing with an accepted large loss, and of the newest known listing of another upstream. 0 without both.
   */
  readonly lossAcceptedAt: number;
  /** Keys of chains that claim a CAIP-2 identifier and do not have it, because other chains claim it, too. */
  readonly unnumbered: readonly string[];
}

export const EMPTY_GUARD_MEMORY: GuardMemory<never> = {
  beganAt: 0,
  gone: [],
  held: [],
  arrived: [],
  accepted: [],
  prices: [],
  lossAcceptedAt: 0,
  unnumbered: [],
};
