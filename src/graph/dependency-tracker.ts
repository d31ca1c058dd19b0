/** Tracks which changing data an operation reads besides the rows: prices, times, routes, and the age of listings. */

import type { View } from '../snapshots/operation-view.js';
import { LISTING_NAMES, type ListingName } from '../snapshots/snapshot.js';
import type { Cost, CostMeter } from './cost.js';

/** The changing data that an operation has read. The view notes the listings. Times are in milliseconds since 1970. */
export class TrackedReads {
  /** Whether a price was read or used to filter or order tokens. */
  prices = false;
  /** Whether the response shows a price's time or hides a price as too old; both change at every refresh. */
  priceTimes = false;
  /** When the first of the prices that were read becomes too old. */
  pricesGoodUntil = Number.POSITIVE_INFINITY;
  /** Whether the status of the listings was read, which changes every second. */
  freshness = false;
  /** Whether routes were read, which have lifetimes of their own. */
  routes = false;
  /** Whether the response shows when routes were fetched. */
  routeTimes = false;
}

/** The data that a part of a response was made from. While this data is the same, the part is the same. */
interface ReadsOfPart extends Readonly<TrackedReads> {
  /** The `state` of the snapshots that were read. */
  readonly states: Partial<Record<ListingName, string>>;
  readonly cost: Cost;
}

/** Collects the reads of one operation, besides rows, and separately the reads for parts of its response. */
export class DependencyTracker {
  private noted = new TrackedReads();

  /** @param now milliseconds since 1970, by the clock of the operation */
  constructor(
    private readonly view: View,
    private readonly cost: CostMeter,
    private readonly now: number,
  ) {}

  get reads(): Readonly<TrackedReads> {
    return this.noted;
  }

  /** Notes a read. Note each read of routes, even of cached ones: the earlier note can belong to another part. */
  note(flag: Exclude<keyof TrackedReads, 'pricesGoodUntil'>): void {
    this.noted[flag] = true;
  }

  /** Notes when a price that was read becomes too old. */
  notePriceGoodUntil(time: number): void {
    if (time < this.noted.pricesGoodUntil) this.noted.pricesGoodUntil = time;
  }

  /** Calls `write`, not nested. @returns the reads of the part that it makes; undefined if others cannot use the part */
  track(write: () => void): ReadsOfPart | undefined {
    const { view, noted, cost } = this;
    const before = { ...cost.spent };
    const listingsBefore = view.swapReads([]);
    const tracked = new TrackedReads();
    this.noted = tracked;
    write();
    this.noted = noted;
    const listings = view.swapReads(listingsBefore);
    for (const name of listings) view.read(name);
    this.noteAll(tracked);
    const states = Object.fromEntries(listings.map((name) => [name, this.stateOf(name)]));
    if (tracked.freshness || tracked.routes || Object.values(states).includes(undefined)) return undefined;
    const { units, rows, bytes } = cost.spent;
    const ofPart = { units: units - before.units, rows: rows - before.rows, bytes: bytes - before.bytes };
    return { ...tracked, states, cost: ofPart };
  }

  /** Notes the reads and the cost of a part that is used again. @returns false, without a note, if it would read others */
  repeat(reads: ReadsOfPart): boolean {
    const { states } = reads;
    if (this.now >= reads.pricesGoodUntil) return false;
    for (const name of LISTING_NAMES)
      if (states[name] !== undefined && states[name] !== this.stateOf(name)) return false;
    for (const name of LISTING_NAMES) if (states[name] !== undefined) this.view.read(name);
    this.noteAll(reads);
    this.cost.add(reads.cost);
    return true;
  }

  private stateOf(name: ListingName): string | undefined {
    return this.view.untracked(name)?.state;
  }

  private noteAll(reads: Readonly<TrackedReads>): void {
    const { noted } = this;
    noted.prices ||= reads.prices;
    noted.priceTimes ||= reads.priceTimes;
    noted.freshness ||= reads.freshness;
    noted.routes ||= reads.routes;
    noted.routeTimes ||= reads.routeTimes;
    this.notePriceGoodUntil(reads.pricesGoodUntil);
  }
}
