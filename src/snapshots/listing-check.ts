/** Checks whole listings: a new listing that lacks too many known rows is held back. */
import * as v from 'valibot';
import { rowName } from '../domain/addresses.js';
import { digestOf } from '../domain/digests.js';
import { groupBy, keyedRows } from '../domain/keyed-rows.js';
import { type Fetched, type LargestListing, type ListingRow, sentAtOf } from '../domain/listing.js';
import type { Stored } from '../domain/listing-memory.js';
import { malformed, UpstreamError } from '../domain/upstream-error.js';
import type { ListingKind } from '../upstream/listing-kinds.js';

/** A loss that is held back, and how many listings in a row had this loss. */
export const heldBackLossForm = v.object({ signature: v.string(), times: v.number() });

type HeldBackLoss = Stored<typeof heldBackLossForm>;

/** Why a whole listing is held back. A closed set, because it is a label of a metric. */
export type HoldBackReason = 'shrink' | 'rejected_rows';

export class HeldBackError extends UpstreamError {
  constructor(
    message: string,
    detail: string,
    readonly reasons: readonly HoldBackReason[],
  ) {
    super('UPSTREAM_MALFORMED', message, { detail });
  }
}

/** The losses of one day are added up, so that many small ones are noticed, too. */
const DAY_MS = 86_400_000;
/** A listing is held back if it lacks all tokens of a chain that had this many or more. */
const GROUP_ROWS = 5;
/** The log names at most this many missing rows. */
const SHOWN_ROWS = 20;

/** Throws UPSTREAM_MALFORMED if more than half of the rows of the very first listing cannot be read. */
export function checkFirstListing<Row>({ name }: ListingKind<Row>, { rows, unreadable }: Fetched<Row>): void {
  if (!unreadable || unreadable.count <= rows.length) return;
  const all = rows.length + unreadable.count;
  throw malformed(
    `expected at least half of the rows in the first "${name}" listing to have the specified form, got ${rows.length} of ${all}`,
  );
}

/** The group of a row. Tokens are grouped by chain; chains are in no group. */
const groupOf = ({ chainKey, address }: ListingRow) => (address === undefined ? undefined : chainKey);

/**
 * Creates the check of whole listings. A large loss of known rows is usually a fault of the upstream, so it is held
 * back until `holdBackTimes` listings in a row lack the same rows. It is never accepted if rows that cannot be read may
 * be its cause.
 *
 * @param holdBackShrink the share of known rows, from 0 to 1: a larger loss is held back
 */
export function createListingCheck<Row extends ListingRow>(
  kind: ListingKind<Row>,
  holdBackShrink: number,
  holdBackTimes: number,
) {
  let pendingLoss: HeldBackLoss | undefined;
  /** The sizes of served listings, the largest first. */
  let sizes: readonly LargestListing[] = [];

  /** The size and time of the largest listing of the last day. @param servedRows how many rows are served now */
  function largest(servedRows: number): LargestListing {
    const now = Date.now();
    sizes = sizes.filter(({ at }) => at > now - DAY_MS);
    const [before] = sizes;
    return before && before.rows > servedRows ? before : { rows: servedRows, at: now };
  }

  /** Returns the loss of a new listing if it is too large. `mayBeTrue` is false if unreadable rows may explain it. */
  function lossOf(served: Fetched<Row>, sent: Fetched<Row>) {
    const known = keyedRows(served.rows, kind.keyOf);
    const present = keyedRows(sent.rows, kind.keyOf);
    const isLost = (key: string) => !present.has(key) && !sent.contradictory?.has(key);
    const vanished = [...known.keys()].filter(isLost);
    const since = Math.max(sentAtOf(sent) - DAY_MS, served.guard?.lossAcceptedAt ?? 0);
    const ofLastDay = (served.guard?.gone ?? []).filter(({ at }) => at > since);
    const lost = [...vanished, ...ofLastDay.map(({ row }) => kind.keyOf(row)).filter(isLost)];
    const groups = new Set([undefined, ...sent.rows.map(groupOf)]);
    const lostGroups = [...groupBy(vanished, (key) => groupOf(known.get(key) as Row))].filter(
      ([group, keys]) => !groups.has(group) && keys.length >= GROUP_ROWS,
    );
    const ofDay = largest(known.size).rows;
    const lostOfDay = Math.max(lost.length, ofDay - sent.rows.length - (sent.contradictory?.size ?? 0));
    const isVanishing = (but: number) => vanished.length - but > known.size * holdBackShrink;
    /** Whether the loss is too large. `uncounted` gives how many of the lost keys do not count. */
    const isLarge = (uncounted: (keys: readonly string[]) => number) =>
      isVanishing(uncounted(vanished)) ||
      lostOfDay - uncounted(lost) > ofDay * holdBackShrink ||
      lostGroups.some(([, keys]) => uncounted(keys) === 0);
    if (!isLarge(() => 0)) return undefined;
    // The text does not name the chains, because clients see it and the operator may hide a chain from them.
    const text = isVanishing(0)
      ? `it lacks ${vanished.length} of ${known.size} known rows`
      : lostGroups.length > 0
        ? `it lacks all ${kind.name} of ${lostGroups.length} of the known chains`
        : `it lacks ${Math.min(lostOfDay, ofDay)} of the ${ofDay} rows of the last day's largest listing`;
    const { keys: unreadable = new Set<string>(), unnamed = 0 } = sent.unreadable ?? {};
    /** How many of these keys may belong to rows that cannot be read. */
    const unreadIn = (keys: readonly string[]) =>
      Math.min(keys.length, unnamed + keys.filter((key) => unreadable.has(key)).length);
    const unread = unreadIn(lost);
    const stillThere = ofDay - (lost.length - unread);
    const mayBeTrue = unread === 0 || (isLarge(unreadIn) && unread <= stillThere * holdBackShrink);
    const andUnread = mayBeTrue ? '' : `, and ${unread} of the rows that it lacks cannot be read`;
    return { vanished, lost, mayBeTrue, text: text + andUnread };
  }

  return {
    /**
     * Counts how often a listing is held back.
     *
     * @returns a text about a large loss that is accepted now; undefined without one
     * @throws HeldBackError if the listing is held back
     */
    check(served: Fetched<Row>, sent: Fetched<Row>): string | undefined {
      const loss = lossOf(served, sent);
      if (!loss) return undefined;
      const { vanished, lost, mayBeTrue, text } = loss;
      const signature = digestOf(lost.toSorted());
      const times = mayBeTrue ? (pendingLoss?.signature === signature ? pendingLoss.times : 0) + 1 : 0;
      if (mayBeTrue && times >= holdBackTimes) return text;
      pendingLoss = { signature, times };
      const outlook = mayBeTrue
        ? `It is accepted once the same rows have been missing ${holdBackTimes} times in a row (so far: ${times}).`
        : 'It is accepted only when its rows can be read.';
      const message = `The upstream's ${kind.name} listing is held back: ${text}. ${outlook}`;
      const shown = [
        ...(mayBeTrue ? [] : sent.rejected.first),
        ...vanished.slice(0, SHOWN_ROWS).map(rowName),
      ];
      const reasons: HoldBackReason[] = mayBeTrue ? ['shrink'] : ['shrink', 'rejected_rows'];
      throw new HeldBackError(message, shown.slice(0, SHOWN_ROWS).join('; '), reasons);
    },
    /** Notes that a listing has replaced `before`. After an accepted loss, earlier sizes no longer count. */
    remember(before: Fetched<Row> | undefined, isLossAccepted: boolean): void {
      pendingLoss = undefined;
      if (isLossAccepted) sizes = [];
      else if (before) {
        const rows = before.rows.length;
        sizes = [...sizes.filter((size) => size.rows > rows), { rows, at: Date.now() }];
      }
    },
    /** Continues from the loss that peers have held back; undefined changes nothing. */
    adoptPeerState(others: HeldBackLoss | undefined): void {
      pendingLoss = others ?? pendingLoss;
    },
    restore(stored: LargestListing): void {
      sizes = [stored];
    },
    largest,
    /** The loss that is held back now. */
    get pendingLoss() {
      return pendingLoss;
    },
  };
}
