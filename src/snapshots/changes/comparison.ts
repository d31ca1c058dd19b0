import { createHash } from 'node:crypto';
import { keyedRows } from '../../domain/keyed-rows.js';
import { forEachChunk, yieldThen } from '../../scheduling/chunks.js';
import type { ComparedFact, ListingKind } from '../../upstream/listing-kinds.js';
import { shortDigest } from '../short-digest.js';

/** The facts by which rows of equal keys are compared. */
export interface RowFacts {
  /** In the order of the kind's {@link ListingKind.compared}. */
  readonly values: readonly string[];
  /** Equal for rows that a user can mistake for each other, such as two tokens of one symbol on one chain. */
  readonly stands: string | undefined;
}

/** A changed fact of a known row. */
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

export const NO_DIFFERENCES: Differences = { appeared: [], vanished: [], changes: [] };

export function factsOf<Row>(kind: ListingKind<Row>, row: Row): RowFacts {
  return { values: kind.compared.map(({ factOf }) => factOf(row)), stands: kind.standsFor(row) };
}

/**
 * Compares rows by key, whatever their order, in chunks that yield to requests.
 *
 * @param removedFacts the facts of rows that were removed earlier
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
  await forEachChunk([...rows], (chunk) => {
    for (const [key, row] of chunk) {
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
  await forEachChunk([...known.keys()], (chunk) => {
    for (const key of chunk) if (!rows.has(key)) vanished.push(key);
  });
  return { appeared, vanished, changes };
}

/**
 * A digest of keys and compared facts. The order of the rows and their other fields do not matter.
 */
export async function signatureOf<Row>(kind: ListingKind<Row>, rows: readonly Row[]): Promise<string> {
  const lines: string[] = [];
  await forEachChunk([...keyedRows(rows, kind.keyOf)], (chunk) => {
    for (const [key, row] of chunk) {
      lines.push(JSON.stringify([key, ...kind.compared.map(({ factOf }) => factOf(row))]));
    }
  });
  await yieldThen(() => lines.sort());
  const digest = createHash('sha256');
  await forEachChunk(lines, (chunk) => {
    digest.update(`${chunk.join('\n')}\n`);
  });
  return shortDigest(digest);
}
