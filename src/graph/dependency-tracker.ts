/** Tracks what an operation reads besides rows. */
import { LISTING_NAMES, type ListingName } from '../snapshots/listings.js';
import type { View } from '../snapshots/operation-view.js';
import type { Cost, CostMeter } from './cost.js';

/** What an operation, or a part of it, has read besides rows. Times are in milliseconds since 1970. */
export interface TrackedReads {
  /** True once a price was read or used to filter or order tokens. */
  readonly prices: boolean;
  /** True if the response shows a price's time or hides a price as too old; both change at every refresh. */
  readonly priceTimes: boolean;
  /** When the first of the prices that were read becomes too old. */
  readonly pricesGoodUntil: number;
  /** True once the status of the listings was read, which changes every second. */
  readonly freshness: boolean;
  /** True once routes were read, which have lifetimes of their own. */
  readonly routes: boolean;
  /** True if the response shows when routes were fetched. */
  readonly routeTimes: boolean;
}

/** What a part of a response was made from, besides rows. While this stays the same, so does the part. */
class Reads implements TrackedReads, Cost {
  prices = false;
  priceTimes = false;
  pricesGoodUntil = Number.POSITIVE_INFINITY;
  freshness = false;
  routes = false;
  routeTimes = false;
  /** The `state` of the snapshots that were read. */
  readonly states: Partial<Record<ListingName, string>> = {};
  /** The cost of the part. */
  units = 0;
  rows = 0;
  bytes = 0;
}

const NO_LISTINGS: readonly ListingName[] = [];

/** Maximum of distinct reads that are shared, and of those that a tracker remembers as already noted. */
const MAX_SHARED = 8;

/** The latest distinct reads of parts. Most parts share one object, which an operation compares and notes only once. */
const shared: Reads[] = [];

/**
 * Collects what one operation reads besides rows; resolvers and loaders note it. It also separates the reads of a part
 * of the response, so that other operations can use that part again.
 */
export class DependencyTracker {
  private noted = new Reads();
  /** Reads that `repeat` has already compared and noted for this operation. */
  private readonly repeated: Reads[] = [];

  /** @param now milliseconds since 1970, by the clock of the operation */
  constructor(
    private readonly view: View,
    private readonly cost: CostMeter,
    private readonly now: number,
  ) {}

  /** Everything that was read so far. */
  get reads(): TrackedReads {
    return this.noted;
  }

  /** Notes a read. Note every read of routes, also of cached ones: an earlier note can belong to another part. */
  note(flag: Exclude<keyof TrackedReads, 'pricesGoodUntil'>): void {
    this.noted[flag] = true;
  }

  /** Notes when a price that was read becomes too old. */
  notePriceGoodUntil(time: number): void {
    if (time < this.noted.pricesGoodUntil) this.noted.pricesGoodUntil = time;
  }

  /**
   * Calls `write`, which makes a part of the response. Calls must not be nested.
   *
   * @returns the reads of this part; undefined if other operations cannot use it
   */
  track(write: () => void): Reads | undefined {
    const { view, noted, cost } = this;
    const { units, rows, bytes } = cost.spent;
    const listingsBefore = view.swapReads(NO_LISTINGS);
    const reads = new Reads();
    this.noted = reads;
    write();
    this.noted = noted;
    const listings = view.swapReads(listingsBefore);
    let isMissing = false;
    for (const name of listings) {
      const state = this.stateOf(name);
      if (state !== undefined) reads.states[name] = state;
      isMissing ||= state === undefined;
      view.read(name);
    }
    reads.units = cost.spent.units - units;
    reads.rows = cost.spent.rows - rows;
    reads.bytes = cost.spent.bytes - bytes;
    this.noteAll(reads);
    return reads.freshness || reads.routes || isMissing ? undefined : sharedOf(reads);
  }

  /**
   * Notes the reads of a part that another operation has made, and adds the cost of the part: this operation uses it.
   *
   * @returns false if this operation would read something else and must make the part itself; nothing is noted then
   * @throws OperationLimitError
   */
  repeat(reads: Reads): boolean {
    if (!this.repeated.includes(reads)) {
      if (this.now >= reads.pricesGoodUntil) return false;
      const listings = LISTING_NAMES.filter((name) => reads.states[name] !== undefined);
      if (listings.some((name) => reads.states[name] !== this.stateOf(name))) return false;
      for (const name of listings) this.view.read(name);
      this.noteAll(reads);
      if (this.repeated.length < MAX_SHARED) this.repeated.push(reads);
    }
    this.cost.add(reads);
    return true;
  }

  private stateOf(name: ListingName): string | undefined {
    return this.view.untracked(name)?.state;
  }

  private noteAll(reads: TrackedReads): void {
    const { noted } = this;
    noted.prices ||= reads.prices;
    noted.priceTimes ||= reads.priceTimes;
    noted.freshness ||= reads.freshness;
    noted.routes ||= reads.routes;
    noted.routeTimes ||= reads.routeTimes;
    this.notePriceGoodUntil(reads.pricesGoodUntil);
  }
}

function sharedOf(reads: Reads): Reads {
  for (const known of shared) if (isEqual(known, reads)) return known;
  if (shared.length >= MAX_SHARED) shared.shift();
  shared.push(reads);
  return reads;
}

/** Compares reads of parts that can be used again: such parts have read no routes and no status of listings. */
function isEqual(one: Reads, other: Reads): boolean {
  return (
    one.prices === other.prices &&
    one.priceTimes === other.priceTimes &&
    one.pricesGoodUntil === other.pricesGoodUntil &&
    one.routeTimes === other.routeTimes &&
    LISTING_NAMES.every((name) => one.states[name] === other.states[name]) &&
    one.units === other.units &&
    one.rows === other.rows &&
    one.bytes === other.bytes
  );
}
