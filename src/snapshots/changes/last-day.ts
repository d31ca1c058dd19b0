import { LRUCache } from 'lru-cache';
import type { LargestListing } from '../../domain/listing.js';
import { forEachChunk } from '../../scheduling/chunks.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { type Differences, factsOf, type RowFacts } from './comparison.js';

/** A row that has left, and when (milliseconds, on the clock of `performance`). */
interface RemovedRow {
  readonly facts: RowFacts;
  /** Until another row has taken its place for good. */
  stands: string | undefined;
  readonly at: number;
}

/** What has become of one listing within the last day, by which small steps are seen as the large change that they are. */
export interface LastDay<Row> {
  /** The facts of a row that has left. */
  removedFacts(key: string): RowFacts | undefined;
  /** Which rows have left and are not back, as far as their loss is not settled. */
  lost(come: ReadonlyMap<string, Row>): Promise<readonly string[]>;
  /** The places in which another row stands now, each as the key before and the key after. */
  replaced(
    before: ReadonlyMap<string, Row>,
    come: ReadonlyMap<string, Row>,
    differences: Differences,
  ): Promise<ReadonlyMap<string, string>>;
  /**
   * The largest listing that was served within the last day.
   *
   * @param servedRows how many rows are served now
   */
  largest(servedRows: number): LargestListing;
  /** Goes on from what an earlier process has seen. */
  restore(largest: LargestListing): void;
  /**
   * Remembers that an answer is taken.
   *
   * @param settled the places whose replacement is taken for the truth
   * @param isLossSettled whether it has shrunk for good: then it is the new measure
   */
  remember(
    before: ReadonlyMap<string, Row>,
    come: ReadonlyMap<string, Row>,
    differences: Differences,
    settled: ReadonlySet<string>,
    isLossSettled: boolean,
  ): void;
}

const DAY_MS = 86_400_000;
const MAX_REMEMBERED = 50_000;

/** Makes the memory of one listing: bounded, and of this process but for {@link LastDay.restore}. */
export function createLastDay<Row>(kind: ListingKind<Row>): LastDay<Row> {
  const removedRows = new LRUCache<string, RemovedRow>({ max: MAX_REMEMBERED, ttl: DAY_MS });
  /** The keys of rows that have come beside others. */
  const arrived = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: DAY_MS });
  /** Falling sizes of listings that were served, and until when. */
  let sizes: readonly { readonly rows: number; readonly until: number }[] = [];
  let lossSettledAt = Number.NEGATIVE_INFINITY;

  const standsOf = (row: Row | undefined) => (row === undefined ? undefined : kind.standsFor(row));

  function largestBefore() {
    const now = performance.now();
    sizes = sizes.filter(({ until }) => until > now - DAY_MS);
    return sizes[0];
  }

  return {
    removedFacts: (key) => removedRows.get(key)?.facts,
    async lost(come) {
      const keys: string[] = [];
      await forEachChunk([...removedRows.entries()], (slice) => {
        for (const [key, { at }] of slice) if (at > lossSettledAt && !come.has(key)) keys.push(key);
      });
      return keys;
    },
    async replaced(before, come, { vanished, appeared }) {
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
        const stands = standsOf(come.get(key));
        note(stands, isGone.get(stands), key);
        // One that is back takes no place but its own.
        if (!removedRows.has(key)) isNew.set(stands, key);
      }
      // The new one may have come first and the old one left later, or the other way round.
      if (isGone.size > 0) {
        await forEachChunk([...arrived.keys()], (slice) => {
          for (const key of slice) {
            const stands = standsOf(come.get(key));
            note(stands, isGone.get(stands), key);
          }
        });
      }
      if (isNew.size > 0) {
        await forEachChunk([...removedRows.entries()], (slice) => {
          for (const [key, { stands }] of slice) if (!come.has(key)) note(stands, key, isNew.get(stands));
        });
      }
      return replaced;
    },
    largest(servedRows) {
      const before = largestBefore();
      if (!before || before.rows <= servedRows) return { rows: servedRows, at: Date.now() };
      return { rows: before.rows, at: Date.now() - (performance.now() - before.until) };
    },
    restore({ rows, at }) {
      const until = performance.now() - Math.max(0, Date.now() - at);
      if (until > performance.now() - DAY_MS) sizes = [{ rows, until }];
    },
    remember(before, come, { vanished, appeared }, settled, isLossSettled) {
      const at = performance.now();
      if (settled.size > 0) {
        for (const entry of removedRows.values()) {
          if (entry.stands !== undefined && settled.has(entry.stands)) entry.stands = undefined;
        }
        for (const key of arrived.keys()) {
          if (settled.has(standsOf(come.get(key)) ?? '')) arrived.delete(key);
        }
      }
      for (const key of appeared.slice(0, MAX_REMEMBERED)) {
        const isBack = removedRows.delete(key);
        if (!isBack && !settled.has(standsOf(come.get(key)) ?? '')) arrived.set(key, true);
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
