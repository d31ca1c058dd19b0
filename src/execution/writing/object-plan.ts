import { RecordedJson } from './recorded-json.js';
import { flattened, isFrozenPlain, RowJson, type RowJsonBudget } from './row-json.js';
import type { Run } from './run.js';

/** Gives the JSON of a part of an object that has no lists. It must not append to the answer itself. */
export type Text = (source: unknown, run: Run) => string;
/** Appends the JSON of a value. */
export type Write = (value: unknown, run: Run) => void;

/** A field of an object. It is written with its key, and with the brace or comma before that. */
export type MemberPlan = ShortMemberPlan | LongMemberPlan;

/** A field without lists. */
export interface ShortMemberPlan {
  readonly text: Text;
  readonly write?: undefined;
  /**
   * Present if the field depends on nothing but its source, provided that the source is a row: whether it is one, as
   * far as this field goes.
   */
  readonly isOfRow: ((source: object) => boolean) | undefined;
  /** Whether the field depends on nothing but the listings; if {@link isOfRow} is present, provided that it is true. */
  readonly isFromListings: boolean;
  /** How much a row saves by keeping the text: 1 for a text or a small number, 0 if it is the same for every row. */
  readonly worth: number;
}

export interface LongMemberPlan {
  readonly text?: undefined;
  readonly write: Write;
}

/** A run of fields that are written together. */
interface Part {
  readonly texts: readonly Text[];
  /** Its place in the kept texts of a row; undefined if it depends on more than the row. */
  readonly place: number | undefined;
  /** In place of `texts` for a field with lists. */
  readonly write: Write | undefined;
}

/** Looking a text up costs as much as to write one text or small number. */
const MIN_WORTH = 2;

/** Writes objects of one type. */
export class ObjectPlan {
  /** Whether nothing of the object has lists, so that {@link text} can be used. */
  readonly isShort: boolean;
  /** Present if all of it depends on nothing but its source: whether this source is a row. */
  readonly isOfRow: ((source: object) => boolean) | undefined;
  /** Whether all of it depends on nothing but the listings. */
  readonly isFromListings: boolean;
  private readonly parts: readonly Part[];
  private readonly rows: RowJson | undefined;
  private readonly keptParts: readonly Part[];
  private readonly rowMembers: readonly RowMember[];
  private readonly recorded: RecordedJson | undefined;

  constructor(members: readonly MemberPlan[], budget: RowJsonBudget) {
    this.isShort = members.every(({ text }) => text);
    this.rowMembers = members.filter(isRowMember);
    const worth = this.rowMembers.reduce((sum, member) => sum + member.worth, 0);
    this.rows = worth >= MIN_WORTH ? new RowJson(budget) : undefined;
    this.parts = partsOf(members, this.rows !== undefined);
    this.keptParts = this.parts.filter(({ place }) => place !== undefined);
    const isPure = this.rowMembers.length === members.length;
    this.isOfRow = isPure ? (source) => this.isRow(source) : undefined;
    this.isFromListings = members.every((member) => member.text && member.isFromListings);
    this.recorded = this.isFromListings ? new RecordedJson(budget, (row) => this.isRow(row)) : undefined;
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

  /**
   * Appends the JSON of a list of such objects, if it is kept or can be kept now.
   *
   * @param write writes it
   * @returns false if it cannot be kept: nothing was written
   */
  writeKeptList(list: readonly unknown[], run: Run, write: () => void): boolean {
    return this.recorded?.writeList(list, run, write) ?? false;
  }

  /** The kept JSON of this object; an object that has it needs no check. */
  keptText(source: unknown, run: Run): string | undefined {
    return this.recorded?.textOf(source, run);
  }

  /** The kept texts of parts of this object; an object that has them needs no check. */
  keptTexts(source: unknown): readonly string[] | undefined {
    return this.rows?.get(source);
  }

  /** The same as {@link write}, as a text. */
  text(source: unknown, run: Run, kept: readonly string[] | undefined): string {
    if (!this.recorded || !run.records) return this.make(source, run, kept);
    return this.recorded.makeText(source, run, () => this.make(source, run, kept));
  }

  private make(source: unknown, run: Run, kept: readonly string[] | undefined): string {
    const texts = kept ?? (run.keepsRows ? this.keep(source, run) : undefined);
    let json = '';
    for (const { place, texts: parts } of this.parts) {
      if (texts !== undefined && place !== undefined) json += texts[place];
      else for (const text of parts) json += text(source, run);
    }
    return this.parts.length > 0 ? `${json}}` : '{}';
  }

  private keep(source: unknown, run: Run): readonly string[] | undefined {
    // What is kept as a whole needs no parts.
    if (!this.rows?.isWorthIt() || (this.recorded && run.recordedBy === this.recorded)) return undefined;
    if (typeof source !== 'object' || source === null || !this.isRow(source)) return undefined;
    const texts = this.keptParts.map((part) => {
      let json = '';
      for (const text of part.texts) json += text(source, run);
      return flattened(json);
    });
    this.rows.set(source, texts);
    return texts;
  }

  private isRow(source: object): boolean {
    return isFrozenPlain(source) && this.rowMembers.every(({ isOfRow }) => isOfRow(source));
  }
}

type RowMember = ShortMemberPlan & { readonly isOfRow: NonNullable<ShortMemberPlan['isOfRow']> };

function isRowMember(member: MemberPlan): member is RowMember {
  return member.text !== undefined && member.isOfRow !== undefined;
}

function partsOf(members: readonly MemberPlan[], hasRows: boolean): readonly Part[] {
  const parts: Part[] = [];
  let places = 0;
  let texts: Text[] = [];
  let isOfRow = false;
  for (const member of members) {
    if (member.write) {
      parts.push({ texts: [], place: undefined, write: member.write });
      texts = [];
      continue;
    }
    if (texts.length === 0 || isRowMember(member) !== isOfRow) {
      isOfRow = isRowMember(member);
      texts = [];
      parts.push({ texts, place: isOfRow && hasRows ? places++ : undefined, write: undefined });
    }
    texts.push(member.text);
  }
  return parts;
}
