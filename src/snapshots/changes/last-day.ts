import { LRUCache } from 'lru-cache';
import type { LargestListing } from '../../domain/listing.js';
import { forEachChunk } from '../../scheduling/chunks.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { type Differences, factsOf, type RowFacts } from './comparison.js';

/** A row that is no longer listed. */
interface RemovedRow {
  readonly facts: RowFacts;
  /** As in {@link RowFacts}; undefined once another row has replaced it for good. */
  stands: string | undefined;
  /** When it was removed, on the clock of `performance`. */
  readonly at: number;
}

/** Rows by key. */
type Rows<Row> = ReadonlyMap<string, Row>;

const DAY_MS = 86_400_000;
const MAX_REMEMBERED = 50_000;

/**
 * Creates the history of one listing over the last day, so that a large change cannot pass in small steps. It is
 * bounded, and only its size survives the process.
 */
export function createLastDay<Row>(kind: ListingKind<Row>) {
  // With `max` the cache would take the memory of as many entries at once.
  const bounds = { maxSize: MAX_REMEMBERED, sizeCalculation: () => 1, ttl: DAY_MS };
  const removedRows = new LRUCache<string, RemovedRow>(bounds);
  /** The keys of rows that were added. */
  const arrived = new LRUCache<string, true>(bounds);
  /** Sizes of served listings, each smaller than the one before, with when each was last served. */
  let sizes: readonly { readonly rows: number; readonly until: number }[] = [];
  let lossSettledAt = Number.NEGATIVE_INFINITY;

  const standsOf = (row: Row | undefined) => (row === undefined ? undefined : kind.standsFor(row));

  function largestBefore() {
    const now = performance.now();
    sizes = sizes.filter(({ until }) => until > now - DAY_MS);
    return sizes[0];
  }

  return {
    /** The facts of a removed row. */
    removedFacts: (key: string) => removedRows.get(key)?.facts,
    /** The keys of removed rows that are not back, except those whose loss was accepted. */
    async lost(after: Rows<Row>): Promise<readonly string[]> {
      const keys: string[] = [];
      await forEachChunk([...removedRows.entries()], (chunk) => {
        for (const [key, { at }] of chunk) if (at > lossSettledAt && !after.has(key)) keys.push(key);
      });
      return keys;
    },
    /** Removed rows in whose place another stands, such as one of equal symbol and chain: `old key → new key` of each. */
    async replaced(
      before: Rows<Row>,
      after: Rows<Row>,
      { vanished, appeared }: Differences,
    ): Promise<ReadonlyMap<string, string>> {
      const replaced = new Map<string, string>();
      const note = (stands: string | undefined, from: string | undefined, to: string | undefined) => {
        if (stands !== undefined && from !== undefined && to !== undefined) {
          replaced.set(stands, `${from} → ${to}`);
        }
      };
      const isGone = new Map<string | undefined, string>();
      for (const key of vanished) isGone.set(standsOf(before.get(key)), key);
      const isNew = new Map<string | undefined, string>();
      for (const key of appeared) {
        const stands = standsOf(after.get(key));
        note(stands, isGone.get(stands), key);
        // A row that is back replaces no other.
        if (!removedRows.has(key)) isNew.set(stands, key);
      }
      // The new row may be added before the old one is removed, or after.
      if (isGone.size > 0) {
        await forEachChunk([...arrived.keys()], (chunk) => {
          for (const key of chunk) {
            const stands = standsOf(after.get(key));
            note(stands, isGone.get(stands), key);
          }
        });
      }
      if (isNew.size > 0) {
        await forEachChunk([...removedRows.entries()], (chunk) => {
          for (const [key, { stands }] of chunk) if (!after.has(key)) note(stands, key, isNew.get(stands));
        });
      }
      return replaced;
    },
    /**
     * The largest listing that was served within the last day.
     *
     * @param servedRows how many rows are served now
     */
    largest(servedRows: number): LargestListing {
      const before = largestBefore();
      if (!before || before.rows <= servedRows) return { rows: servedRows, at: Date.now() };
      return { rows: before.rows, at: Date.now() - (performance.now() - before.until) };
    },
    /** Takes over the largest listing of an earlier process. */
    restore({ rows, at }: LargestListing): void {
      const until = performance.now() - Math.max(0, Date.now() - at);
      if (until > performance.now() - DAY_MS) sizes = [{ rows, until }];
    },
    /**
     * Remembers an accepted listing.
     *
     * @param settled the replacements that were accepted
     * @param isLossSettled whether a loss was accepted: then later losses are measured by this listing
     */
    remember(
      before: Rows<Row>,
      after: Rows<Row>,
      { vanished, appeared }: Differences,
      settled: ReadonlyMap<string, unknown>,
      isLossSettled: boolean,
    ): void {
      const at = performance.now();
      if (settled.size > 0) {
        for (const entry of removedRows.values()) {
          if (entry.stands !== undefined && settled.has(entry.stands)) entry.stands = undefined;
        }
        for (const key of arrived.keys()) {
          if (settled.has(standsOf(after.get(key)) ?? '')) arrived.delete(key);
        }
      }
      for (const key of appeared.slice(0, MAX_REMEMBERED)) {
        const isBack = removedRows.delete(key);
        if (!isBack && !settled.has(standsOf(after.get(key)) ?? '')) arrived.set(key, true);
      }
      for (const key of vanished.slice(0, MAX_REMEMBERED)) {
        const row = before.get(key);
        if (row === undefined) continue;
        const facts = factsOf(kind, row);
        const isSettled = facts.stands === undefined || settled.has(facts.stands);
        removedRows.set(key, { facts, stands: isSettled ? undefined : facts.stands, at });
        arrived.delete(key);
      }
      if (isLossSettled) {
        lossSettledAt = at;
        sizes = [];
      } else {
        largestBefore();
        sizes = [...sizes.filter(({ rows }) => rows > before.size), { rows: before.size, until: at }];
      }
    },
  };
}
