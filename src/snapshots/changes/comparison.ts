import { createHash } from 'node:crypto';
import { keyedRows } from '../../domain/keyed-rows.js';
import { forEachChunk, yieldThen } from '../../scheduling/chunks.js';
import type { ComparedFact, ListingKind } from '../../upstream/listing-kinds.js';

/** What one row is compared by, beside its key. */
export interface RowFacts {
  /** In the order of the kind's {@link ListingKind.compared}. */
  readonly values: readonly string[];
  /** Equal for rows of which one can take the place of another unseen, such as two of one symbol on one chain. */
  readonly stands: string | undefined;
}

/** A fact of a known row that is another now. */
export interface Change {
  readonly fact: ComparedFact;
  readonly key: string;
  /** The row, the value before and the value after, for the log. */
  readonly text: string;
}

/** How two states of one listing differ; rows are named by their keys. */
export interface Differences {
  readonly appeared: readonly string[];
  readonly vanished: readonly string[];
  readonly changes: readonly Change[];
}

/** Those of a listing from itself. */
export const NO_DIFFERENCES: Differences = { appeared: [], vanished: [], changes: [] };

/** Makes the facts of a row. */
export function factsOf<Row>(kind: ListingKind<Row>, row: Row): RowFacts {
  return { values: kind.compared.map(({ factOf }) => factOf(row)), stands: kind.standsFor(row) };
}

/**
 * Compares by key, whatever the order of the rows, a slice at a time.
 *
 * @param removedFacts what is known of rows that are not among those before
 */
export async function compare<Row>(
  kind: ListingKind<Row>,
  before: readonly Row[],
  after: readonly Row[],
  removedFacts: (key: string) => RowFacts | undefined,
): Promise<Differences> {
  const known = keyedRows(before, kind.keyOf);
  const rows = keyedRows(after, kind.keyOf);
  const appeared: string[] = [];
  const changes: Change[] = [];
  await forEachChunk([...rows], (slice) => {
    for (const [key, row] of slice) {
      const knownRow = known.get(key);
      if (knownRow === undefined) appeared.push(key);
      const removed = knownRow === undefined ? removedFacts(key) : undefined;
      for (const [index, { fact, factOf }] of kind.compared.entries()) {
        const was = knownRow === undefined ? removed?.values[index] : factOf(knownRow);
        const is = factOf(row);
        if (was !== undefined && was !== is) changes.push({ fact, key, text: `${key}: ${was} → ${is}` });
      }
    }
  });
  const vanished: string[] = [];
  await forEachChunk([...known.keys()], (slice) => {
    for (const key of slice) if (!rows.has(key)) vanished.push(key);
  });
  return { appeared, vanished, changes };
}

/**
 * Equal for two answers with equal keys and compared facts, whatever the order of the rows and what else is in
 * them.
 */
export async function signatureOf<Row>(kind: ListingKind<Row>, rows: readonly Row[]): Promise<string> {
  const marks: string[] = [];
  await forEachChunk([...keyedRows(rows, kind.keyOf)], (slice) => {
    for (const [key, row] of slice) {
      marks.push(JSON.stringify([key, ...kind.compared.map(({ factOf }) => factOf(row))]));
    }
  });
  await yieldThen(() => marks.sort());
  const digest = createHash('sha256');
  await forEachChunk(marks, (slice) => {
    digest.update(`${slice.join('\n')}\n`);
  });
  return digest.digest('base64url').slice(0, 22);
}
