import { keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched, UnreadableRows } from '../../domain/listing.js';
import { malformed, UpstreamError } from '../../domain/upstream-error.js';
import type { ComparedFact, ListingKind } from '../../upstream/listing-kinds.js';
import { compare, type Differences, NO_DIFFERENCES, signatureOf } from './comparison.js';
import { createLastDay } from './last-day.js';

/** Which changes are too large to accept the first time they appear. */
export interface HoldBackRules {
  /** The share of known rows, from 0 to 1, that a refresh may lose. */
  readonly holdBackShrink: number;
  /** A larger change is accepted when it has come this often in a row. */
  readonly holdBackTimes: number;
}

/** The listing that is held back, and how often it has come in a row. */
export interface HeldBack {
  readonly signature: string;
  readonly times: number;
}

/** Why a listing is held back. A closed set: it is a label of a metric. */
export type HoldBackReason = 'shrink' | 'rejected_rows' | 'address' | ComparedFact;

/** The comparison of a fetched listing with the served one. */
export interface Findings<Row> {
  readonly served: Fetched<Row> | undefined;
  readonly fetched: Fetched<Row>;
  readonly differences: Differences;
  /** Reasons to hold it back, each with a text that completes "The listing is held back: …". */
  readonly reasons: ReadonlyMap<HoldBackReason, string>;
  /** The symbols of a chain that have moved to another address, each as `old key → new key`. */
  readonly replaced: ReadonlyMap<string, string>;
  /** See {@link signatureOf}; empty without a reason to hold it back. */
  readonly signature: string;
}

/** The decision on a fetched listing. */
export type CheckResult =
  | {
      readonly isAccepted: true;
      /** Why it was held back when it came before; undefined if it was not. */
      readonly change: string | undefined;
    }
  | {
      readonly isAccepted: false;
      readonly error: UpstreamError;
      readonly reasons: readonly HoldBackReason[];
    };

const NO_FINDINGS = { differences: NO_DIFFERENCES, reasons: new Map(), replaced: new Map(), signature: '' };

/** The most rows that the detail of an error names. */
const SHOWN = 20;

/**
 * Checks the very first listing. There is nothing to compare it with, so most of its rows have to be sound. Duplicates
 * are no fault here: they can be read.
 *
 * @throws UpstreamError UPSTREAM_MALFORMED if fewer than half of its rows can be read
 */
export function checkFirstListing<Row>(
  { name }: ListingKind<Row>,
  { rows }: Fetched<Row>,
  unreadable: UnreadableRows | undefined,
): void {
  if (!unreadable || unreadable.count <= rows.length) return;
  const all = rows.length + unreadable.count;
  throw malformed(
    `expected at least half of the rows in "${name}" to have the specified form, as none are known yet, got ${rows.length} of ${all}`,
  );
}

/**
 * Creates the check of one listing, which decides whether a fetched listing may replace the served one. Its memory lasts
 * a day.
 *
 * A listing that loses too many of the known rows, or changes them in a way that costs money, is more often a fault of
 * the upstream than the truth. If it is the truth, the same listing comes again and again, and is accepted at last. Rows
 * that cannot be read are never the truth: a listing that loses too many rows because of them is not accepted, however
 * often it comes.
 */
export function createChangeCheck<Row>(
  kind: ListingKind<Row>,
  { holdBackShrink, holdBackTimes }: HoldBackRules,
) {
  const lastDay = createLastDay(kind);
  let heldBack: HeldBack | undefined;
  let heldBackAt = 0;

  const keyed = (rows: readonly Row[]) => keyedRows(rows, kind.keyOf);

  /** Whether too many rows are lost, and whether they are lost because they cannot be read. */
  function lossesOf(
    served: Fetched<Row>,
    fetched: Fetched<Row>,
    vanished: readonly string[],
    lostBefore: readonly string[],
  ) {
    const known = served.rows.length;
    const { rows: largest } = lastDay.largest(known);
    const keys = fetched.unreadable?.keys ?? new Set<string>();
    const unnamed = fetched.unreadable?.unnamed ?? 0;
    const unreadIn = (lost: readonly string[]) =>
      Math.min(lost.length, unnamed + lost.filter((key) => keys.has(key)).length);
    const lost = [...vanished, ...lostBefore];
    const unread = unreadIn(lost);
    const lostOfDay = Math.max(lost.length, largest - fetched.rows.length);
    const isTooMuch = (ofKnown: number, ofDay: number) =>
      ofKnown > known * holdBackShrink || ofDay > largest * holdBackShrink;
    const isShrunk = isTooMuch(vanished.length, lostOfDay);
    const isShrunkAnyway = isTooMuch(vanished.length - unreadIn(vanished), lostOfDay - unread);
    const stillThere = largest - (lost.length - unread);
    return {
      isShrunk,
      isUnreadable: isShrunk && unread > 0 && (!isShrunkAnyway || unread > stillThere * holdBackShrink),
      unread,
      text:
        vanished.length > known * holdBackShrink
          ? `it lacks ${vanished.length} of ${known} known rows`
          : `it lacks ${Math.min(lostOfDay, largest)} of the ${largest} rows of the last day's largest listing`,
    };
  }

  function reasonsOf(
    served: Fetched<Row>,
    fetched: Fetched<Row>,
    { vanished, changes }: Differences,
    lostBefore: readonly string[],
    replaced: number,
  ): ReadonlyMap<HoldBackReason, string> {
    const known = served.rows.length;
    const reasons = new Map<HoldBackReason, string>();
    const { isShrunk, isUnreadable, unread, text } = lossesOf(served, fetched, vanished, lostBefore);
    if (isShrunk) reasons.set('shrink', text);
    if (isUnreadable) reasons.set('rejected_rows', `${unread} of the rows that it lacks cannot be read`);
    for (const { fact, name } of kind.compared) {
      const count = changes.filter((change) => change.fact === fact).length;
      if (count > 0) reasons.set(fact, `it changes the ${name} of ${count} of ${known} known rows`);
    }
    if (replaced > 0) {
      reasons.set('address', `it replaces the address of ${replaced} of the symbols that a chain has`);
    }
    return reasons;
  }

  return {
    /** Compares, in chunks that yield to requests. It changes nothing. */
    async examine(served: Fetched<Row> | undefined, fetched: Fetched<Row>): Promise<Findings<Row>> {
      if (!served) return { served, fetched, ...NO_FINDINGS };
      const [before, after] = [keyed(served.rows), keyed(fetched.rows)];
      const differences = await compare(kind, served.rows, fetched.rows, lastDay.removedFacts);
      const replaced = await lastDay.replaced(before, after, differences);
      const lostBefore = await lastDay.lost(after);
      const reasons = reasonsOf(served, fetched, differences, lostBefore, replaced.size);
      const signature = reasons.size > 0 ? await signatureOf(kind, fetched.rows) : '';
      return { served, fetched, differences, reasons, replaced, signature };
    },
    /** Decides. A rejected listing is counted as held back once more. */
    check({ fetched, differences, reasons, replaced, signature }: Findings<Row>): CheckResult {
      const change = [...reasons.values()].join(', and ') || undefined;
      const mayBeTrue = !reasons.has('rejected_rows');
      const times = heldBack?.signature === signature && mayBeTrue ? heldBack.times + 1 : Number(mayBeTrue);
      if (change === undefined || (mayBeTrue && times >= holdBackTimes)) return { isAccepted: true, change };
      heldBack = { signature, times };
      heldBackAt = fetched.takenAt;
      const outlook = mayBeTrue
        ? `It is taken once it has come ${holdBackTimes} times in a row (so far: ${times}).`
        : 'It is not taken, however often it comes, until its rows can be read.';
      const message = `The upstream's ${kind.name} listing is held back: ${change}. ${outlook}`;
      const shown = [
        ...differences.changes.map(({ text }) => text),
        ...replaced.values(),
        ...(mayBeTrue ? [] : fetched.rejected.first),
        ...differences.vanished,
      ];
      const detail = shown.slice(0, SHOWN).join('; ');
      const error = new UpstreamError('UPSTREAM_MALFORMED', message, { detail });
      return { isAccepted: false, error, reasons: [...reasons.keys()] };
    },
    /** Remembers that an accepted listing is served from now on. */
    remember({ served, fetched, differences, reasons, replaced }: Findings<Row>): void {
      heldBack = undefined;
      if (!served) return;
      lastDay.remember(keyed(served.rows), keyed(fetched.rows), differences, replaced, reasons.has('shrink'));
    },
    /** Takes over what peers have held back; undefined changes nothing. */
    adoptPeerState(others: HeldBack | undefined): void {
      heldBack = others ?? heldBack;
    },
    /** Takes over the largest listing that an earlier process has served. */
    restore: lastDay.restore,
    largest: lastDay.largest,
    /** The listing that is held back; undefined after one was accepted. */
    get heldBack() {
      return heldBack;
    },
    /** `takenAt` of the last listing that was held back; 0 before. */
    get heldBackAt() {
      return heldBackAt;
    },
  };
}
