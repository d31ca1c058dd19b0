import { LRUCache } from 'lru-cache';
import { compare, signatureOf } from './comparison.js';
import { UpstreamError } from './errors.js';
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
      readonly isTaken: true /** What was held back at its first coming. */;
      readonly change: string | undefined;
    }
  | { readonly isTaken: false; readonly heldBack: HeldBack; readonly error: UpstreamError };

/** What has been served before, for judging what comes. */
export interface Memory<Row> {
  /** Takes note of the rows that leave when one answer takes the place of another. */
  replace(before: readonly Row[], after: readonly Row[]): void;
  /** The decimals of a row that has left within a day. */
  decimalsOf(key: string): number | undefined;
}

const SHOWN = 20;
const REMEMBERED_MS = 86_400_000;
const MAX_REMEMBERED = 100_000;

/**
 * Makes the memory of one listing: decimals that change while a row is away for one refresh are changed
 * decimals.
 */
export function createMemory<Row>(kind: Kind<Row>): Memory<Row> {
  const left = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  return {
    replace(before, after) {
      const present = new Set(after.map(kind.keyOf));
      for (const row of before) {
        const key = kind.keyOf(row);
        if (!present.has(key)) left.set(key, kind.decimalsOf(row));
      }
      for (const key of present) left.delete(key);
    },
    decimalsOf: (key) => left.get(key),
  };
}

/**
 * Judges an answer by what is served now. One that loses too many of the known rows, or gives known ones
 * other decimals, is more often a fault of the upstream than the truth; but sometimes it is the truth.
 *
 * @param heldBack what was held back last, if nothing has been taken since
 */
export function judge<Row>(
  kind: Kind<Row>,
  served: Taken<Row> | undefined,
  come: Taken<Row>,
  heldBack: HeldBack | undefined,
  memory: Memory<Row>,
  { holdBackShrink, holdBackTimes }: HoldBackRules,
): Verdict {
  if (!served) return { isTaken: true, change: undefined };
  const { vanished, changedDecimals } = compare(kind, served.rows, come.rows, memory.decimalsOf);
  const known = served.rows.length;
  const reasons: string[] = [];
  if (vanished.length > known * holdBackShrink)
    reasons.push(`it lacks ${vanished.length} of ${known} known rows`);
  if (changedDecimals.length > 0)
    reasons.push(`it changes the decimals of ${changedDecimals.length} known rows`);
  if (reasons.length === 0) return { isTaken: true, change: undefined };
  const change = reasons.join(', and ');
  const signature = signatureOf(kind, come.rows);
  const times = heldBack?.signature === signature ? heldBack.times + 1 : 1;
  if (times >= holdBackTimes) return { isTaken: true, change };
  const message = `The upstream's ${kind.name} listing is held back: ${change}. It is taken once it has come ${holdBackTimes} times in a row (so far: ${times}).`;
  const detail = [...changedDecimals, ...vanished].slice(0, SHOWN).join('; ');
  return {
    isTaken: false,
    heldBack: { signature, times },
    error: new UpstreamError('UPSTREAM_MALFORMED', message, { detail }),
  };
}
