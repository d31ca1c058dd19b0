import type { Logger } from '../logger.js';
import { forEachChunk } from '../scheduling/chunks.js';

/** A change in the fields of the rows of a listing, beside what their schema requires. */
export type FieldDrift = 'appeared' | 'missing';

export interface FieldWatchOptions {
  /** Called with the number of fields that appeared or are missing. */
  readonly onFieldDrift: (listing: string, drift: FieldDrift, fields: number) => void;
  readonly log: Logger;
}

/** Looks at the unchecked rows of a whole listing. It never rejects because of them. */
export type FieldWatch = (listing: string, rows: readonly unknown[]) => Promise<void>;

/** The most fields of a listing that are known; further ones are ignored. */
const MAX_FIELDS = 200;
/** The most of them that one line of the log names, for each kind of change. */
const MAX_SHOWN = 20;
/** Longer names are compared and logged by their beginning. */
const MAX_NAME_LENGTH = 64;

/** The fields of all rows so far. */
interface KnownFields {
  readonly seen: Set<string>;
  /** Those that every row has had. */
  readonly always: Set<string>;
}

/** The fields of the rows of one answer. */
interface CountedFields {
  /** How many objects have each field. */
  readonly counts: Map<string, { count: number; readonly parent: string }>;
  /** How many objects there are: rows, named by an empty text, or values of a field, named by it. */
  readonly objects: Map<string, number>;
}

/**
 * Creates the watch over the rows of one service. The first answer says which fields there are. Of later answers it
 * logs the fields that no row had before, and those that a row lacks although all rows before had them. Each
 * field is logged once as new and once as missing. Objects within a row are looked into, one level deep.
 */
export function createFieldWatch({ onFieldDrift, log }: FieldWatchOptions): FieldWatch {
  const known = new Map<string, KnownFields>();

  return async (listing, rows) => {
    const fields: CountedFields = { counts: new Map(), objects: new Map() };
    await forEachChunk(rows, (chunk) => {
      for (const row of chunk) countFields(row, '', fields);
    });
    const { counts, objects } = fields;
    if (!objects.has('')) return;
    const inEach = new Set(
      [...counts].filter(([, { count, parent }]) => count === objects.get(parent)).map(([name]) => name),
    );
    const before = known.get(listing);
    if (!before) {
      known.set(listing, { seen: new Set(counts.keys()), always: inEach });
      return;
    }
    const appeared = [...counts.keys()]
      .filter((name) => !before.seen.has(name))
      .slice(0, MAX_FIELDS - before.seen.size);
    const missing = [...before.always].filter((name) => !inEach.has(name) && !isWithoutParent(name, fields));
    for (const name of appeared) before.seen.add(name);
    for (const name of missing) before.always.delete(name);
    if (appeared.length > 0) onFieldDrift(listing, 'appeared', appeared.length);
    if (missing.length > 0) onFieldDrift(listing, 'missing', missing.length);
    if (appeared.length === 0 && missing.length === 0) return;
    log.warn(
      {
        listing,
        fields: appeared.length + missing.length,
        appeared: appeared.slice(0, MAX_SHOWN),
        missing: missing.slice(0, MAX_SHOWN),
      },
      `The fields of the upstream's rows in "${listing}" have changed. Look whether the gateway should read the new ones, and whether the missing ones matter`,
    );
  };
}

/** Counts the fields of one object: of a row, or of the value of the row's field `path`. */
function countFields(value: unknown, path: string, fields: CountedFields): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const { counts, objects } = fields;
  objects.set(path, (objects.get(path) ?? 0) + 1);
  for (const field of Object.keys(value)) {
    const name = nameOf(path, field);
    const counted = counts.get(name);
    if (counted) counted.count++;
    else if (counts.size < MAX_FIELDS) counts.set(name, { count: 1, parent: path });
    else continue;
    if (path === '') countFields((value as Record<string, unknown>)[field], name, fields);
  }
}

/** Whether no row has the object that could have this field, such as the price of `price.usd`. */
function isWithoutParent(name: string, { counts, objects }: CountedFields): boolean {
  const end = name.indexOf('.');
  return end > 0 && !counts.has(name) && !objects.has(name.slice(0, end));
}

function nameOf(path: string, field: string): string {
  const name = path === '' ? field : `${path}.${field}`;
  // Copied: a slice keeps the whole text in memory.
  return name.length <= MAX_NAME_LENGTH ? name : Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString();
}
