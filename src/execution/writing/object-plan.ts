import { flattened, isFrozenPlain, RowJson, type RowJsonBudget } from './row-json.js';
import type { Run } from './run.js';

/** Gives the JSON of a part of an object that has no lists. */
export type Text = (source: unknown, run: Run) => string;
/** Appends the JSON of a value. */
export type Write = (value: unknown, run: Run) => void;

/** A field of an object. Both functions give the key, too, with the brace or comma before it. */
export interface MemberPlan {
  /** Present if nothing of the field has lists. */
  readonly text: Text | undefined;
  readonly write: Write;
  /**
   * Whether the field depends on nothing but this source. Undefined if it depends on more, whatever the source is;
   * `text` is there otherwise.
   */
  readonly isOfRow: ((source: object) => boolean) | undefined;
  /** True if the value is the same for every source. */
  readonly isConstant?: boolean;
}

/** A run of fields that are written together. */
interface Part {
  readonly texts: readonly Text[];
  /** Its place in the kept texts of a row; undefined if it depends on more than the row. */
  readonly place: number | undefined;
  /** In place of `texts` for a field with lists. */
  readonly write: Write | undefined;
}

/** Keeping the text of a single field is not worth its entry. */
const MIN_KEPT_FIELDS = 2;

/** Writes objects of one type. */
export class ObjectPlan {
  /** Whether nothing of the object has lists, so that {@link text} can be used. */
  readonly isShort: boolean;
  /** Present if all of it depends on nothing but its source: whether this source is a row. */
  readonly isOfRow: ((source: object) => boolean) | undefined;
  private readonly parts: readonly Part[];
  private readonly rows: RowJson | undefined;
  private readonly keptParts: readonly Part[];

  constructor(
    private readonly members: readonly MemberPlan[],
    budget: RowJsonBudget,
  ) {
    this.isShort = members.every(({ text }) => text);
    const isPure = members.every(({ isOfRow }) => isOfRow);
    const rowFields = members.filter(({ isOfRow, isConstant }) => isOfRow && !isConstant).length;
    this.rows = rowFields >= MIN_KEPT_FIELDS ? new RowJson(budget) : undefined;
    this.parts = partsOf(members, this.rows !== undefined);
    this.keptParts = this.parts.filter(({ place }) => place !== undefined);
    this.isOfRow = isPure ? (source) => this.isRow(source) : undefined;
  }

  /** @param source checked by assertPlain, unless {@link keptTexts} gave texts for it */
  write(source: unknown, run: Run, kept: readonly string[] | undefined): void {
    const texts = kept ?? (run.keepsRows ? this.keep(source, run) : undefined);
    for (const { place, texts: parts, write } of this.parts) {
      if (write) write(source, run);
      else if (texts !== undefined && place !== undefined) run.text += texts[place];
      else for (const text of parts) run.text += text(source, run);
    }
    run.text += this.parts.length > 0 ? '}' : '{}';
  }

  /** What is kept for this object; it then needs no check. */
  keptTexts(source: unknown): readonly string[] | undefined {
    return this.rows?.get(source);
  }

  /** The same as {@link write}, as a text. */
  text(source: unknown, run: Run, kept: readonly string[] | undefined): string {
    const texts = kept ?? (run.keepsRows ? this.keep(source, run) : undefined);
    let json = '';
    for (const { place, texts: parts } of this.parts) {
      if (texts !== undefined && place !== undefined) json += texts[place];
      else for (const text of parts) json += text(source, run);
    }
    return this.parts.length > 0 ? `${json}}` : '{}';
  }

  private keep(source: unknown, run: Run): readonly string[] | undefined {
    if (!this.rows || typeof source !== 'object' || source === null || !this.isRow(source)) return undefined;
    const texts = this.keptParts.map((part) => {
      let json = '';
      for (const text of part.texts) json += text(source, run);
      return flattened(json);
    });
    this.rows.set(source, texts);
    return texts;
  }

  private isRow(source: object): boolean {
    return isFrozenPlain(source) && this.members.every(({ isOfRow }) => !isOfRow || isOfRow(source));
  }
}

function partsOf(members: readonly MemberPlan[], hasRows: boolean): readonly Part[] {
  const parts: Part[] = [];
  let run: Text[] = [];
  let isOfRow = false;
  let places = 0;
  const end = () => {
    if (run.length > 0) {
      parts.push({ texts: run, place: isOfRow && hasRows ? places++ : undefined, write: undefined });
    }
    run = [];
  };
  for (const { text, write, isOfRow: ofRow } of members) {
    if (text === undefined) {
      end();
      parts.push({ texts: [], place: undefined, write });
      continue;
    }
    if ((ofRow !== undefined) !== isOfRow) end();
    isOfRow = ofRow !== undefined;
    run.push(text);
  }
  end();
  return parts;
}
