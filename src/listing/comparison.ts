import { createHash } from 'node:crypto';
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
  const left = new Map(before.map((row) => [kind.keyOf(row), row]));
  const appeared: string[] = [];
  const changedDecimals: string[] = [];
  for (const row of after) {
    const key = kind.keyOf(row);
    const known = left.get(key);
    left.delete(key);
    if (known === undefined) appeared.push(key);
    const was = known === undefined ? decimalsBefore(key) : kind.decimalsOf(known);
    const is = kind.decimalsOf(row);
    if (was !== undefined && was !== is) changedDecimals.push(`${key}: ${was} → ${is}`);
  }
  return { appeared, vanished: [...left.keys()], changedDecimals };
}

/** Equal for two answers with equal keys and decimals, whatever the order of the rows and the prices in them. */
export function signatureOf<Row>(kind: Kind<Row>, rows: readonly Row[]): string {
  const marks = rows.map((row) => `${kind.keyOf(row)} ${kind.decimalsOf(row)}`).sort();
  return createHash('sha256').update(marks.join('\n')).digest('base64url').slice(0, 22);
}
