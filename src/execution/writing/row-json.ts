/*
 * Kept JSON of rows: the parts of an object that depend on nothing but a row, by plan and row. Rows are frozen, so the
 * text stays right for as long as the row is there, and goes with it.
 */

/** The kept texts of one row, in the order of the parts of its plan. */
export type RowTexts = readonly string[];

/** Rough size of an entry without its texts. */
const BYTES_OF_ENTRY = 150;
/** So many rows are kept before it is asked whether they come again. */
const TRIED_ROWS = 64;

/** Something that keeps JSON. */
interface Holder {
  clear(): void;
}

/** Bounds the JSON that all plans together keep. Beyond the bound all of them begin anew. */
export class RowJsonBudget {
  private bytes = 0;
  private readonly holders = new Set<Holder>();

  /** @param maxBytes counts rows that are gone, too, until the texts begin anew */
  constructor(readonly maxBytes: number) {}

  add(holder: Holder, bytes: number): void {
    this.bytes += bytes;
    this.holders.add(holder);
    if (this.bytes <= this.maxBytes) return;
    for (const each of this.holders) each.clear();
    this.holders.clear();
    this.bytes = 0;
  }
}

/** The budget of the process. */
export const PROCESS_BUDGET = new RowJsonBudget(33_554_432);

/** The kept texts of the rows that one part of a plan has met. */
export class RowJson {
  /** Made when they are first needed: most plans are used once. */
  private texts: WeakMap<object, RowTexts> | undefined;
  /** The tokens of a list are often on one chain. */
  private lastRow: unknown;
  private lastTexts: RowTexts | undefined;

  private found = 0;
  private kept = 0;

  constructor(private readonly budget: RowJsonBudget) {}

  /** False if most rows do not come again, as the prices of tokens. */
  isWorthIt(): boolean {
    return this.kept < TRIED_ROWS || this.found >= this.kept;
  }

  get(row: unknown): RowTexts | undefined {
    if (row === this.lastRow) {
      this.found++;
      return this.lastTexts;
    }
    const texts = this.texts?.get(row as object);
    if (texts === undefined) return undefined;
    this.found++;
    this.lastRow = row;
    this.lastTexts = texts;
    return texts;
  }

  set(row: object, texts: RowTexts): void {
    this.kept++;
    this.texts ??= new WeakMap();
    this.texts.set(row, texts);
    let bytes = BYTES_OF_ENTRY;
    for (const text of texts) bytes += text.length;
    this.budget.add(this, bytes);
  }

  clear(): void {
    this.texts = undefined;
    this.lastRow = undefined;
    this.lastTexts = undefined;
  }
}

/** Whether an object can be a row: plain and frozen. */
export function isFrozenPlain(value: object): boolean {
  if (!Object.isFrozen(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The text in one piece. V8 keeps a text that was put together as a tree of its parts, until it has to read it. */
export function flattened(text: string): string {
  return Buffer.from(text).toString();
}
