import { keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched, LargestListing, UnreadableRows } from '../../domain/listing.js';
import { malformed, UpstreamError } from '../../domain/upstream-error.js';
import type { ComparedFact, ListingKind } from '../../upstream/listing-kinds.js';
import { compare, type Differences, NO_DIFFERENCES, signatureOf } from './comparison.js';
import { createLastDay } from './last-day.js';

/** What is too much of a change to be taken at its first coming. */
export interface HoldBackRules {
  /** The share of known rows, from 0 to 1, that a refresh may lose. */
  readonly holdBackShrink: number;
  /** What changes more is taken when it has come this often in a row. */
  readonly holdBackTimes: number;
}

/** An answer that is held back: which, and how often it has come in a row. */
export interface HeldBack {
  readonly signature: string;
  readonly times: number;
}

/** Why an answer is held back; a closed set, since it is shown as a label of a metric. */
export type HoldBackReason = 'shrink' | 'rejected_rows' | 'address' | ComparedFact;

/** What was found of an answer beside that which is served; it holds for as long as that is served. */
export interface Findings<Row> {
  readonly served: Fetched<Row> | undefined;
  readonly come: Fetched<Row>;
  readonly differences: Differences;
  /** Why it is held back, each with a text that completes "The listing is held back: …"; empty where it is not. */
  readonly reasons: ReadonlyMap<HoldBackReason, string>;
  /** The places in which another row stands, each with the key before and the key after. */
  readonly replaced: ReadonlyMap<string, string>;
  /** See {@link signatureOf}; empty where it is not held back. */
  readonly signature: string;
}

/** What is to become of an answer. */
export type CheckResult =
  | {
      readonly isAccepted: true;
      /** For what it was held back at its first coming; undefined where it was not. */
      readonly change: string | undefined;
    }
  | {
      readonly isAccepted: false;
      readonly error: UpstreamError;
      readonly reasons: readonly HoldBackReason[];
    };

/**
 * Judges what comes by what is served. An answer that loses too many of the known rows, or changes known ones
 * in a way that costs money, is more often a fault of the upstream than the truth; but sometimes it is the
 * truth, and then it comes again and again. Rows that cannot be read are never the truth: an answer that loses
 * too many rows because of them is not taken, however often it comes.
 */
export interface ChangeCheck<Row> {
  /** Looks at an answer a slice at a time, and changes nothing. */
  examine(served: Fetched<Row> | undefined, come: Fetched<Row>): Promise<Findings<Row>>;
  /** What is to become of an answer; where it is taken, it is served from now on. */
  check(findings: Findings<Row>): CheckResult;
  /** Counts on from what others have held back, where that is known. */
  adoptPeerState(heldBack: HeldBack | undefined): void;
  /** Goes on from the largest listing that an earlier process has served. */
  restore(largest: LargestListing): void;
  /** The largest listing of the last day, given how many rows are served now. */
  largest(servedRows: number): LargestListing;
  /** What is held back now, if nothing has been taken since. */
  readonly heldBack: HeldBack | undefined;
  /** When what was held back last was asked for (milliseconds since 1970); 0 before. */
  readonly heldBackAt: number;
}

const SHOWN = 20;

/**
 * Checks a listing where none is served yet: as nothing is known that it could be judged by, most of it has to
 * be sound. Duplicates are no fault here, since they can be read.
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

/** Makes the changeCheck of one listing. */
export function createChangeCheck<Row>(kind: ListingKind<Row>, rules: HoldBackRules): ChangeCheck<Row> {
  const { holdBackShrink, holdBackTimes } = rules;
  const lastDay = createLastDay(kind);
  let heldBack: HeldBack | undefined;
  let heldBackAt = 0;

  const keyed = (rows: readonly Row[]) => keyedRows(rows, kind.keyOf);

  /** Whether too many rows are lost, and whether that is because they cannot be read. */
  function lossesOf(
    served: Fetched<Row>,
    come: Fetched<Row>,
    vanished: readonly string[],
    lostBefore: readonly string[],
  ) {
    const known = served.rows.length;
    const { rows: largest } = lastDay.largest(known);
    const keys = come.unreadable?.keys ?? new Set<string>();
    const unnamed = come.unreadable?.unnamed ?? 0;
    const unreadIn = (lost: readonly string[]) =>
      Math.min(lost.length, unnamed + lost.filter((key) => keys.has(key)).length);
    const lost = [...vanished, ...lostBefore];
    const unread = unreadIn(lost);
    const lostOfDay = Math.max(lost.length, largest - come.rows.length);
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
    come: Fetched<Row>,
    { vanished, changes }: Differences,
    lostBefore: readonly string[],
    replaced: number,
  ): ReadonlyMap<HoldBackReason, string> {
    const known = served.rows.length;
    const reasons = new Map<HoldBackReason, string>();
    const { isShrunk, isUnreadable, unread, text } = lossesOf(served, come, vanished, lostBefore);
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
    async examine(served, come) {
      if (!served) {
        return {
          served,
          come,
          differences: NO_DIFFERENCES,
          reasons: new Map(),
          replaced: new Map(),
          signature: '',
        };
      }
      const [before, after] = [keyed(served.rows), keyed(come.rows)];
      const differences = await compare(kind, served.rows, come.rows, lastDay.removedFacts);
      const replaced = await lastDay.replaced(before, after, differences);
      const lostBefore = await lastDay.lost(after);
      const reasons = reasonsOf(served, come, differences, lostBefore, replaced.size);
      const signature = reasons.size > 0 ? await signatureOf(kind, come.rows) : '';
      return { served, come, differences, reasons, replaced, signature };
    },
    check({ served, come, differences, reasons, replaced, signature }) {
      const change = [...reasons.values()].join(', and ') || undefined;
      const mayBeTrue = !reasons.has('rejected_rows');
      const times = heldBack?.signature === signature && mayBeTrue ? heldBack.times + 1 : Number(mayBeTrue);
      if (change === undefined || (mayBeTrue && times >= holdBackTimes)) {
        heldBack = undefined;
        if (served) {
          const settled = new Set(replaced.keys());
          lastDay.remember(keyed(served.rows), keyed(come.rows), differences, settled, reasons.has('shrink'));
        }
        return { isAccepted: true, change };
      }
      heldBack = { signature, times };
      heldBackAt = come.takenAt;
      const outlook = mayBeTrue
        ? `It is taken once it has come ${holdBackTimes} times in a row (so far: ${times}).`
        : 'It is not taken, however often it comes, until its rows can be read.';
      const message = `The upstream's ${kind.name} listing is held back: ${change}. ${outlook}`;
      const shown = [
        ...differences.changes.map(({ text }) => text),
        ...replaced.values(),
        ...(mayBeTrue ? [] : come.rejected.first),
        ...differences.vanished,
      ];
      const detail = shown.slice(0, SHOWN).join('; ');
      const error = new UpstreamError('UPSTREAM_MALFORMED', message, { detail });
      return { isAccepted: false, error, reasons: [...reasons.keys()] };
    },
    adoptPeerState(others) {
      heldBack = others ?? heldBack;
    },
    restore: lastDay.restore,
    largest: lastDay.largest,
    get heldBack() {
      return heldBack;
    },
    get heldBackAt() {
      return heldBackAt;
    },
  };
}
