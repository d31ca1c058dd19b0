/*
 * Kept JSON of whole lists. A list of a snapshot is frozen, as are its rows; what else its JSON depends on is recorded
 * while it is written for the first time. Where that is the same, a later operation gets the bytes in one piece.
 */
import type { RowJsonBudget } from './row-json.js';
import type { Run } from './run.js';

/** The part of an operation's context that tells what is read beside rows. */
export interface Recorder {
  begin(): unknown;
  /** @returns what was read since `begin`; undefined if the JSON holds for this moment only */
  end(begun: unknown): object | undefined;
  /** Notes what was read then as read now. False if something else would be read. */
  repeat(reads: object): boolean;
}

/** Shorter lists are put together from their rows. */
const MIN_LENGTH = 8;
/** A list takes at most this share of what may be kept. */
const MAX_SHARE = 1 / 4;

interface KeptList {
  readonly bytes: Buffer;
  readonly reads: object;
}

/** The kept JSON of the lists that one part of a plan has met. */
export class ListJson {
  private lists: WeakMap<object, KeptList | 'too large'> | undefined;

  constructor(private readonly budget: RowJsonBudget) {}

  /**
   * Appends the JSON of a list, if it is kept or can be kept now.
   *
   * @param isRow whether the JSON of an object depends on nothing but the listings
   * @param write writes it; it may throw, and the operation is abandoned then
   * @returns false if it cannot be kept: nothing was written
   */
  write(list: readonly unknown[], run: Run, isRow: (row: object) => boolean, write: () => void): boolean {
    const { recorder } = run;
    if (!recorder || !run.keepsRows || list.length < MIN_LENGTH) return false;
    const known = this.lists?.get(list);
    if (known === 'too large') return false;
    if (known && recorder.repeat(known.reads)) {
      run.append(known.bytes);
      return true;
    }
    if (!Object.isFrozen(list)) return false;
    if (!list.every((row) => typeof row === 'object' && (row === null || isRow(row)))) return false;
    const position = run.position();
    const begun = recorder.begin();
    write();
    const reads = recorder.end(begun);
    if (reads && !run.isAbandoned) this.keep(list, run.copyFrom(position), reads);
    return true;
  }

  private keep(list: object, bytes: Buffer, reads: object): void {
    this.lists ??= new WeakMap();
    const isTooLarge = bytes.length > this.budget.maxBytes * MAX_SHARE;
    this.lists.set(list, isTooLarge ? 'too large' : { bytes, reads });
    if (!isTooLarge) this.budget.add(this, bytes.length);
  }

  clear(): void {
    this.lists = undefined;
  }
}
