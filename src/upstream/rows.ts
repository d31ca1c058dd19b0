/** Parses rows: checks each, rejects bad ones, and finds rows that contradict each other. */
import * as v from 'valibot';
import { contradictedFacts, type FactOf } from '../domain/guarded-facts.js';
import { cacheKeyedRows } from '../domain/keyed-rows.js';
import { type Fetched, MAX_LISTING_ROWS, type SourceAndAge } from '../domain/listing.js';
import { MAX_LENGTHS } from '../domain/text-limits.js';
import { malformed, type UpstreamError } from '../domain/upstream-error.js';
import { forEachChunk } from '../scheduling/chunks.js';

/** The most rejected rows that are reported. Further ones are only counted. */
const SHOWN_REJECTED_ROWS = 20;
/** The most contradictory rows that are stored for a key. */
const MAX_CONTRADICTORY = 10;

/** White space and invisible characters: two texts that differ only in these look equal. */
export const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const ALL_UNSEEN = new RegExp(UNSEEN, 'gu');

/** The part of a `ListingKind` that parsing needs. */
export interface RowKind<Row> {
  readonly name: string;
  /** The identity of a row. It reads only `chainKey` and `address`. */
  readonly keyOf: (row: Row) => string;
  /** Absent for kinds of rows that have no address. */
  readonly addressOf?: (row: Row) => string;
  /** The facts that do not change by themselves, unlike prices and names. */
  readonly guarded: readonly FactOf<Row>[];
}

/**
 * Checks the rows of an answer or of a stored listing.
 *
 * @param rowFrom makes the row to serve from a checked one
 * @param mayBeEmpty true for routes; a listing without rows is an error
 * @throws UpstreamError UPSTREAM_MALFORMED by rejection, if all rows are rejected, or if there are more than
 *   {@link MAX_LISTING_ROWS}
 */
export async function parseRows<Checked extends object, Row>(
  { name, keyOf, addressOf, guarded }: RowKind<Row>,
  form: v.GenericSchema<unknown, Checked>,
  rowFrom: (checked: Checked) => Row,
  unknownRows: readonly unknown[],
  sourceAndAge: SourceAndAge,
  mayBeEmpty = false,
): Promise<Fetched<Row>> {
  if (unknownRows.length > MAX_LISTING_ROWS) throw tooManyRows(name, unknownRows.length);
  /** By key: the index of the first row, and the variants: this row, and rows that contradict all variants before. */
  const found = new Map<string, { readonly index: number; readonly variants: [Row, ...Row[]] }>();
  const first: string[] = [];
  let count = 0;
  const reject = (index: number, reason: () => string) => {
    if (count++ < SHOWN_REJECTED_ROWS) first.push(`${name}[${index}]: ${reason()}`);
  };
  const unreadable = { count: 0, keys: new Set<string>(), unnamed: 0 };
  const readRow = (unknownRow: unknown, index: number) => {
    const { success, output, issues } = v.safeParse(form, unknownRow, { abortEarly: true });
    if (!success) {
      unreadable.count++;
      const identity = identityOf(unknownRow, addressOf !== undefined);
      if (identity) unreadable.keys.add(keyOf(identity as Row));
      else unreadable.unnamed++;
      reject(index, () => reasonOf(issues[0]));
      return;
    }
    const row = rowFrom(output);
    const earlier = found.get(keyOf(row));
    if (!earlier) {
      found.set(keyOf(row), { index, variants: [row] });
      return;
    }
    const { variants } = earlier;
    const contradicted = contradictedFacts(guarded, variants[0], row);
    if (contradicted.length === 0) {
      reject(index, () => `duplicate of ${name}[${earlier.index}]`);
      return;
    }
    const contradicts = (other: number) => () => {
      const facts = contradicted.map(({ fact, of }) => `${fact} ${of(variants[0])} and ${of(row)}`);
      return shortened(`contradicts ${name}[${other}]: ${facts.join(', ')}`);
    };
    if (variants.length === 1) reject(earlier.index, contradicts(index));
    reject(index, contradicts(earlier.index));
    const isNew = variants.every((variant) => contradictedFacts(guarded, variant, row).length > 0);
    if (isNew && variants.length < MAX_CONTRADICTORY) variants.push(row);
  };
  await forEachChunk(unknownRows, (chunk, offset) => {
    for (const [index, row] of chunk.entries()) readRow(row, offset + index);
  });
  const keyed = new Map<string, Row>();
  const contradictory = new Map<string, readonly Row[]>();
  for (const [key, { variants }] of found) {
    if (variants.length === 1) keyed.set(key, variants[0]);
    // The gateway cannot know which of these rows is right, so it serves none of them.
    else contradictory.set(key, variants);
  }
  if (keyed.size === 0 && !(mayBeEmpty && count === 0)) {
    throw count === 0
      ? malformed(`expected at least one row in "${name}", got none`)
      : malformed(`none of the ${count} rows in "${name}" has the specified form`, first[0]);
  }
  const rows = Object.freeze([...keyed.values()]);
  cacheKeyedRows(rows, keyed);
  return { ...sourceAndAge, rows, rejected: { count, first }, unreadable, contradictory };
}

/** The identity of a row without the specified form; undefined if even its key cannot be read. */
function identityOf(row: unknown, hasAddress: boolean) {
  if (typeof row !== 'object' || row === null) return undefined;
  const { chainKey, address = hasAddress ? undefined : '' } = row as Partial<Record<string, unknown>>;
  if (typeof chainKey !== 'string' || typeof address !== 'string') return undefined;
  if (chainKey.length > MAX_LENGTHS.chainKey || address.length > MAX_LENGTHS.address) return undefined;
  return { chainKey: chainKey.replace(ALL_UNSEEN, ''), address: address.replace(ALL_UNSEEN, '') };
}

/** The unchecked rows of an answer. @throws UpstreamError UPSTREAM_MALFORMED if it is not `{ [name]: [...] }` */
export function rowsOf(name: string, json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw malformed(`expected a JSON object with an array "${name}", got ${describeType(json)}`);
  }
  const rows: unknown = Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined;
  if (!Array.isArray(rows)) throw malformed(`expected an array "${name}", got ${describeType(rows)}`);
  return rows;
}

/** The error for an answer with too many rows. */
export function tooManyRows(name: string, count: number): UpstreamError {
  return malformed(`expected at most ${MAX_LISTING_ROWS} rows in "${name}", got ${count}`);
}

function reasonOf(issue: v.BaseIssue<unknown> | undefined): string {
  const path = issue && v.getDotPath(issue);
  return `${path ? `${path}: ` : ''}${shortened(issue?.message ?? 'not a row')}`;
}

/** The beginning of a text. A copy, because a slice would keep the whole text in memory, perhaps megabytes. */
export function shortened(text: string, maxLength = 200): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength)).toString();
}

/** Describes the type of an unexpected value for a message; never the value itself. */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
