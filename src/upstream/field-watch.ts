/** Logs when the fields of the upstream's rows change. */
import type { Logger } from '../logger/logger.js';
import { forEachChunk } from '../scheduling/chunks.js';

/** How the fields of the rows have changed. The schema of rows ignores new fields and missing optional ones. */
export type FieldDrift = 'appeared' | 'missing';

export interface FieldWatchOptions {
  /** Called with the number of fields that appeared or are missing. */
  readonly onFieldDrift: (listing: string, drift: FieldDrift, fields: number) => void;
  readonly log: Logger;
}

/** Compares the fields of the rows of a whole listing with those of earlier answers. The rows can have any form. */
export type FieldWatch = (listing: string, rows: readonly unknown[]) => Promise<void>;

/** The most fields of a listing that are remembered; rows have about twenty. Further ones are ignored. */
const MAX_FIELDS = 200;
/** The most fields that one log line names, for each kind of change. */
const MAX_SHOWN = 20;
/** Longer names are cut to this length (UTF-16 code units) before they are compared and logged. */
const MAX_NAME_LENGTH = 64;

/** How many rows have each field, such as `price.usd`. The name `price.` counts rows whose `price` is an object. */
type Counts = Map<string, number>;

/** The name of the object that has the field: `price.` for `price.usd`, and empty for a field of the row itself. */
const parentOf = (name: string) => name.slice(0, name.lastIndexOf('.') + 1);

/**
 * Creates the watch for one service. The first answer gives the known fields. After later answers it logs fields that
 * no row had before, and fields that a row lacks although all rows had them before. Each field is logged at most once
 * as new and once as missing. Objects in a row are included, one level deep.
 */
export function createFieldWatch({ onFieldDrift, log }: FieldWatchOptions): FieldWatch {
  /** By listing: the fields of all rows so far, each with whether every row has had it. */
  const known = new Map<string, Map<string, boolean>>();

  return async (listing, rows) => {
    const counts: Counts = new Map();
    await forEachChunk(rows, (chunk) => {
      for (const row of chunk) countFields(row, '', counts);
    });
    if (!counts.has('')) return;
    const names = [...counts.keys()].filter((name) => name !== '' && !name.endsWith('.'));
    // A row without a price does not count as a row that lacks `price.usd`.
    const isInEach = (name: string) => counts.get(name) === counts.get(parentOf(name));
    const before = known.get(listing);
    if (!before) {
      known.set(listing, new Map(names.map((name) => [name, isInEach(name)])));
      return;
    }
    const appeared = names
      .filter((name) => !before.has(name))
      .slice(0, Math.max(0, MAX_FIELDS - before.size));
    const missing = [...before.keys()].filter((name) => before.get(name) && !isInEach(name));
    for (const name of [...appeared, ...missing]) before.set(name, false);
    const fields = appeared.length + missing.length;
    if (fields === 0) return;
    if (appeared.length > 0) onFieldDrift(listing, 'appeared', appeared.length);
    if (missing.length > 0) onFieldDrift(listing, 'missing', missing.length);
    log.warn(
      { listing, fields, appeared: appeared.slice(0, MAX_SHOWN), missing: missing.slice(0, MAX_SHOWN) },
      `The fields of the upstream's rows in "${listing}" have changed. Look whether the gateway should read the new ones, and whether the missing ones matter`,
    );
  };
}

/**
 * Counts the fields of one object. @param parent empty for a row; for an object in it, the name of its field and a dot
 */
function countFields(value: unknown, parent: string, counts: Counts): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  counts.set(parent, (counts.get(parent) ?? 0) + 1);
  for (const field of Object.keys(value)) {
    const name = shortened(parent + field);
    const count = counts.get(name) ?? 0;
    if (count === 0 && counts.size >= MAX_FIELDS) continue;
    counts.set(name, count + 1);
    if (parent === '') countFields((value as Record<string, unknown>)[field], `${name}.`, counts);
  }
}

/** A copy, because a slice keeps the whole text in memory. */
function shortened(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString();
}
