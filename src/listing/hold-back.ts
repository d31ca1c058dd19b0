import { LRUCache } from 'lru-cache';
import { compare, type Differences, signatureOf } from './comparison.js';
import { UpstreamError } from './errors.js';
import { keyedRows } from './keyed-rows.js';
import type { Kind } from './kinds.js';
import type { Taken } from './listing.js';

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

/** What is to become of an answer. */
export type Verdict =
  | {
      readonly isTaken: true;
      /** For what it was held back at its first coming; undefined where it was not. */
      readonly change: string | undefined;
    }
  | { readonly isTaken: false; readonly error: UpstreamError };

/**
 * Judges what comes by what is served. An answer that loses too many of the known rows, or gives known ones
 * other decimals, is more often a fault of the upstream than the truth; but sometimes it is the truth.
 */
export interface Judge<Row> {
  /** What is to become of this answer; where it is taken, it is served from now on. */
  weigh(served: Taken<Row> | undefined, come: Taken<Row>): Verdict;
  /** Counts on from what others have held back, where that is known. */
  learn(heldBack: HeldBack | undefined): void;
  /** What is held back now, if nothing has been taken since. */
  readonly heldBack: HeldBack | undefined;
  /** When what was held back last was asked for (milliseconds since 1970); 0 before. */
  readonly heldBackAt: number;
}

const SHOWN = 20;
const REMEMBERED_MS = 86_400_000;
const MAX_REMEMBERED = 100_000;

/** Makes the judge of one listing. */
export function createJudge<Row>(kind: Kind<Row>, rules: HoldBackRules): Judge<Row> {
  /** The decimals of rows that have left: they may come back with others. */
  const departed = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  let heldBack: HeldBack | undefined;
  let heldBackAt = 0;

  function take(served: readonly Row[], { vanished, appeared }: Differences): void {
    heldBack = undefined;
    for (const key of appeared) departed.delete(key);
    if (vanished.length === 0) return;
    const known = keyedRows(served, kind.keyOf);
    for (const key of vanished) {
      const row = known.get(key);
      if (row) departed.set(key, kind.decimalsOf(row));
    }
  }

  return {
    weigh(served, come) {
      if (!served) {
        heldBack = undefined;
        return { isTaken: true, change: undefined };
      }
      const known = served.rows.length;
      const differences = compare(kind, served.rows, come.rows, (key) => departed.get(key));
      const { vanished, changedDecimals } = differences;
      const reasons: string[] = [];
      if (vanished.length > known * rules.holdBackShrink) {
        reasons.push(`it lacks ${vanished.length} of ${known} known rows`);
      }
      if (changedDecimals.length > 0) {
        reasons.push(`it changes the decimals of ${changedDecimals.length} of ${known} known rows`);
      }
      const change = reasons.join(', and ') || undefined;
      const signature = change === undefined ? '' : signatureOf(kind, come.rows);
      const times = heldBack?.signature === signature ? heldBack.times + 1 : 1;
      if (change === undefined || times >= rules.holdBackTimes) {
        take(served.rows, differences);
        return { isTaken: true, change };
      }
      heldBack = { signature, times };
      heldBackAt = come.takenAt;
      const message = `The upstream's ${kind.name} listing is held back: ${change}. It is taken once it has come ${rules.holdBackTimes} times in a row (so far: ${times}).`;
      const detail = [...changedDecimals, ...vanished].slice(0, SHOWN).join('; ');
      return { isTaken: false, error: new UpstreamError('UPSTREAM_MALFORMED', message, { detail }) };
    },
    learn(others) {
      heldBack = others ?? heldBack;
    },
    get heldBack() {
      return heldBack;
    },
    get heldBackAt() {
      return heldBackAt;
    },
  };
}
