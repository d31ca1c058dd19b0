import { createHash } from 'node:crypto';
import { keyedRows } from './keyed-rows.js';
import type { Kind } from './kinds.js';

/** How two states of one listing differ; rows are named by their keys. */
export interface Differences {
  readonly appeared: readonly string[];
  readonly vanished: readonly string[];
  /** Each with the decimals before and after. */
  readonly changedDecimals: readonly string[];
}

/**
 * Compares by key, whatever the order of the rows.
 *
 * @param decimalsBefore what is known of rows that are not among those before
 */
export function compare<Row>(
  kind: Kind<Row>,
  before: readonly Row[],
  after: readonly Row[],
  decimalsBefore: (key: string) => number | undefined = () => undefined,
): Differences {
  const knownRows = keyedRows(before, kind.keyOf);
  const rows = keyedRows(after, kind.keyOf);
  const appeared: string[] = [];
  const changedDecimals: string[] = [];
  for (const [key, row] of rows) {
    const known = knownRows.get(key);
    if (known === undefined) appeared.push(key);
    const was = known === undefined ? decimalsBefore(key) : kind.decimalsOf(known);
    const is = kind.decimalsOf(row);
    if (was !== undefined && was !== is) changedDecimals.push(`${key}: ${was} → ${is}`);
  }
  const vanished = [...knownRows.keys()].filter((key) => !rows.has(key));
  return { appeared, vanished, changedDecimals };
}

/** Equal for two answers with equal keys and decimals, whatever the order of the rows and the prices in them. */
export function signatureOf<Row>(kind: Kind<Row>, rows: readonly Row[]): string {
  const keyed = [...keyedRows(rows, kind.keyOf)];
  const marks = keyed.map(([key, row]) => `${key} ${kind.decimalsOf(row)}`).sort();
  return createHash('sha256').update(marks.join('\n')).digest('base64url').slice(0, 22);
}
