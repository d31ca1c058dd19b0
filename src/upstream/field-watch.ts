/** Logs when the fields of the upstream's rows change. */
import type { Logger } from '../logger/logger.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { shortened } from './listing-kinds.js';

export interface FieldWatchMetrics {
  /** Counts fields that no row had before (`appeared`), or that all rows had and a row lacks (`missing`). */
  readonly fieldDrift: (listing: string, drift: 'appeared' | 'missing', fields: number) => void;
}

/** At most this many fields of a listing are remembered; rows have about twenty. */
const MAX_FIELDS = 200;
/** One log line names at most this many fields for each kind of change. */
const MAX_SHOWN = 20;
/** Longer names are cut before they are compared and logged. */
const MAX_NAME_LENGTH = 64;

/**
 * Creates the watch for one service. The first answer with rows sets the known fields of a listing. Each field is logged
 * at most once. The fields of objects in a row count, too, one level deep.
 */
export function createFieldWatch(metrics: FieldWatchMetrics, log: Logger) {
  /** By listing: each field that a row has had so far, and whether all rows have had it. */
  const known = new Map<string, Map<string, boolean>>();

  return async (listing: string, rows: readonly unknown[]): Promise<void> => {
    const counts = new Map<string, number>();
    await forEachInSteps(rows, (row) => countFields(row, '', counts));
    if (!counts.has('')) return;
    // Compares with the number of objects: a row whose price is null does not lack `price.usd`.
    const isInEach = (name: string) => counts.get(name) === counts.get(name.replace(/[^.]*$/, ''));
    const names = [...counts.keys()].filter((name) => name !== '' && !name.endsWith('.'));
    const before = known.get(listing);
    if (!before) {
      known.set(listing, new Map(names.map((name) => [name, isInEach(name)])));
      return;
    }
    const isNew = (name: string) => !before.has(name);
    const appeared = names.filter(isNew).slice(0, Math.max(0, MAX_FIELDS - before.size));
    const missing = [...before.keys()].filter((name) => before.get(name) && !isInEach(name));
    const changed = [...appeared, ...missing];
    if (changed.length === 0) return;
    for (const name of changed) before.set(name, false);
    metrics.fieldDrift(listing, 'appeared', appeared.length);
    metrics.fieldDrift(listing, 'missing', missing.length);
    const shown = { appeared: appeared.slice(0, MAX_SHOWN), missing: missing.slice(0, MAX_SHOWN) };
    log.warn(
      { listing, fields: changed.length, ...shown },
      `The fields of the upstream's rows in "${listing}" have changed. Check whether the gateway should read the new ones, and whether the missing ones matter`,
    );
  };
}

/** Counts an object under the name `parent` (empty for a row, `price.` for its price), and its fields by name. */
function countFields(value: unknown, parent: string, counts: Map<string, number>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  counts.set(parent, (counts.get(parent) ?? 0) + 1);
  for (const [field, content] of Object.entries(value)) {
    const name = shortened(parent + field, MAX_NAME_LENGTH);
    const count = counts.get(name) ?? 0;
    if (count === 0 && counts.size >= MAX_FIELDS) continue;
    counts.set(name, count + 1);
    if (parent === '') countFields(content, `${name}.`, counts);
  }
}
