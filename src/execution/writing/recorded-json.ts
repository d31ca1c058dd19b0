/*
 * Kept JSON of whole lists and whole rows. Lists of snapshots are frozen, as are their rows. What else their JSON
 * depends on is recorded while it is written; where that is the same, a later operation gets the JSON in one piece.
 */
import type { RowJsonBudget } from './row-json.js';
import type { Run } from './run.js';

/** Shorter lists are put together from their rows. */
const MIN_LENGTH = 8;
/** A list takes at most this share of what may be kept. */
const MAX_SHARE = 1 / 4;
/** Rough size of the entry of a row without its text. */
const BYTES_OF_ROW = 120;

interface Kept<Json> {
  readonly json: Json;
  readonly reads: object;
}

/** The kept JSON of the lists and rows that one part of a plan has met, if all of it depends on the listings alone. */
export class RecordedJson {
  private lists: WeakMap<object, Kept<Buffer> | 'too large'> | undefined;
  private rows: WeakMap<object, Kept<string>> | undefined;
  /** Of the last recording. Most recordings are equal, and a run notes equal ones once. */
  private lastReads: object | undefined;

  /** @param isRow whether the JSON of an object depends on nothing but the listings */
  constructor(
    private readonly budget: RowJsonBudget,
    private readonly isRow: (row: object) => boolean,
  ) {}

  /**
   * Appends the JSON of a list, if it is kept or can be kept now.
   *
   * @param write writes it; it may throw, and the operation is abandoned then
   * @returns false if it cannot be kept: nothing was written
   */
  writeList(list: readonly unknown[], run: Run, write: () => void): boolean {
    if (!run.records || list.length < MIN_LENGTH) return false;
    const known = this.lists?.get(list);
    if (known === 'too large') return false;
    if (known && run.repeat(known.reads)) {
      run.append(known.json);
      return true;
    }
    if (!Object.isFrozen(list) || !list.every((row) => row === null || this.canKeep(row))) return false;
    const position = run.position();
    const reads = this.record(run, write);
    if (!reads) return true;
    const bytes = run.copyFrom(position);
    const isTooLarge = bytes.length > this.budget.maxBytes * MAX_SHARE;
    this.lists ??= new WeakMap();
    this.lists.set(list, isTooLarge ? 'too large' : { json: bytes, reads });
    if (!isTooLarge) this.budget.add(this, bytes.length);
    return true;
  }

  /** The kept JSON of a row; undefined if there is none that holds. */
  textOf(row: unknown, run: Run): string | undefined {
    if (!run.records) return undefined;
    const known = this.rows?.get(row as object);
    return known && run.repeat(known.reads) ? known.json : undefined;
  }

  /** Makes the JSON of a row, and keeps it if that is possible. @param make may throw, and the operation is abandoned then */
  makeText(row: unknown, run: Run, make: () => string): string {
    if (!run.records || !this.canKeep(row)) return make();
    let json = '';
    const reads = this.record(run, () => {
      json = make();
    });
    if (!reads) return json;
    const flat = Buffer.from(json).toString();
    this.rows ??= new WeakMap();
    this.rows.set(row, { json: flat, reads });
    this.budget.add(this, BYTES_OF_ROW + flat.length);
    return flat;
  }

  clear(): void {
    this.lists = undefined;
    this.rows = undefined;
  }

  private canKeep(row: unknown): row is object {
    return typeof row === 'object' && row !== null && this.isRow(row);
  }

  private record(run: Run, make: () => void): object | undefined {
    const reads = run.record(this, make, this.lastReads);
    if (reads) this.lastReads = reads;
    return reads;
  }
}
