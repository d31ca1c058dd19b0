/** Tracks which changing data an operation reads: listings, their prices, times and age, and routes. */

import type { RoutesRead, View } from '../snapshots/operation-view.js';
import { LISTING_NAMES, type ListingName } from '../snapshots/snapshot.js';
import type { Cost, CostMeter } from './cost.js';

/** The changing data that an operation has read. Times are in milliseconds since 1970. */
export class TrackedReads {
  /** Whether rows of the chain listing were read. */
  chains = false;
  /** Whether rows of the token listing were read. */
  tokens = false;
  /** Whether a price was read or used to filter or order tokens. */
  prices = false;
  /** Whether the response shows a price's time or hides a price as too old; both change at every refresh. */
  priceTimes = false;
  /** When the first of the prices that were read becomes too old. */
  pricesGoodUntil = Number.POSITIVE_INFINITY;
  /** Whether the status of the listings was read, which changes every second. */
  freshness = false;
  /** The operator's rules (they hide routes) as they were when the first routes were read; undefined without routes. */
  rules: object | undefined = undefined;
  /** Until when a response with the routes that were read is valid. */
  routesGoodUntil = Number.POSITIVE_INFINITY;
  /** When the oldest routes that were read were fetched. */
  routesTakenAt = Number.POSITIVE_INFINITY;
  /** The version of the map of all swept routes, for `sources` and for old routes; undefined if it was not read. */
  routeMap: number | undefined = undefined;
}

/** The data that a part of a response was made from. While this data is the same, the part is the same. */
interface ReadsOfPart extends Readonly<TrackedReads> {
  /** The `state` of the snapshots that were read. */
  readonly states: Partial<Record<ListingName, string>>;
  readonly cost: Cost;
}

/** At most this many reads are in `shared`, and in `repeated` of one tracker. */
const MAX_SHARED = 8;

/** The latest distinct reads of parts, by their JSON. Parts share them, so an operation compares each only once. */
const shared = new Map<string, ReadsOfPart>();

/** Collects the reads of one operation, and separately the reads for parts of its response. */
export class DependencyTracker {
  private noted = new TrackedReads();
  /** Reads that `repeat` has already compared and noted for this operation. */
  private readonly repeated: ReadsOfPart[] = [];

  /** @param now milliseconds since 1970, by the clock of the operation */
  constructor(
    private readonly view: View,
    private readonly cost: CostMeter,
    private readonly now: number,
  ) {}

  get reads(): Readonly<TrackedReads> {
    return this.noted;
  }

  /** The listings that were read. */
  get listings(): readonly ListingName[] {
    return LISTING_NAMES.filter((name) => this.noted[name]);
  }

  note(flag: ListingName | 'prices' | 'priceTimes' | 'freshness'): void {
    this.noted[flag] = true;
  }

  /**
   * Notes the present rules: they can change while the operation waits for routes.
   *
   * @param routeMap the version of the map of all swept routes, if it is read
   */
  noteRules(routeMap?: number): void {
    this.noted.rules ??= this.view.rules();
    this.noted.routeMap ??= routeMap;
  }

  /** Notes routes. Note repeated reads, too: the earlier note can belong to another part of the response. */
  noteRoutes({ goodUntil, takenAt, routeMap }: Pick<RoutesRead, 'goodUntil' | 'takenAt' | 'routeMap'>): void {
    this.noted.routeMap ??= routeMap;
    this.noted.routesGoodUntil = Math.min(this.noted.routesGoodUntil, goodUntil);
    this.noted.routesTakenAt = Math.min(this.noted.routesTakenAt, takenAt);
  }

  /** Notes when a price that was read becomes too old. */
  notePriceGoodUntil(time: number): void {
    if (time < this.noted.pricesGoodUntil) this.noted.pricesGoodUntil = time;
  }

  /**
   * Calls `write`, which makes a part of the response. Calls must not be nested.
   *
   * @returns the reads of this part; undefined if other operations cannot use the part
   */
  track(write: () => void): ReadsOfPart | undefined {
    const { noted, cost } = this;
    const before = { ...cost.spent };
    const tracked = new TrackedReads();
    this.noted = tracked;
    write();
    const { listings } = this;
    this.noted = noted;
    this.noteAll(tracked);
    const states = Object.fromEntries(listings.map((name) => [name, this.stateOf(name)]));
    if (tracked.freshness || tracked.rules || Object.values(states).includes(undefined)) return undefined;
    const { units, rows } = cost.spent;
    return sharedOf({ ...tracked, states, cost: { units: units - before.units, rows: rows - before.rows } });
  }

  /**
   * Notes the reads and the cost of a part that another operation has made, because this operation uses the part, too.
   *
   * @returns false if this operation would read something else and must make the part itself; nothing is noted then
   */
  repeat(reads: ReadsOfPart): boolean {
    if (!this.repeated.includes(reads)) {
      if (this.now >= reads.pricesGoodUntil) return false;
      const listings = LISTING_NAMES.filter((name) => reads.states[name] !== undefined);
      if (listings.some((name) => reads.states[name] !== this.stateOf(name))) return false;
      this.noteAll(reads);
      if (this.repeated.length < MAX_SHARED) this.repeated.push(reads);
    }
    this.cost.add(reads.cost);
    return true;
  }

  private stateOf(name: ListingName): string | undefined {
    return this.view.snapshot(name)?.state;
  }

  private noteAll(reads: Readonly<TrackedReads>): void {
    const { noted } = this;
    for (const name of LISTING_NAMES) noted[name] ||= reads[name];
    noted.prices ||= reads.prices;
    noted.priceTimes ||= reads.priceTimes;
    noted.freshness ||= reads.freshness;
    noted.rules ??= reads.rules;
    noted.routeMap ??= reads.routeMap;
    this.noteRoutes({ goodUntil: reads.routesGoodUntil, takenAt: reads.routesTakenAt });
    this.notePriceGoodUntil(reads.pricesGoodUntil);
  }
}

function sharedOf(reads: ReadsOfPart): ReadsOfPart {
  const json = JSON.stringify(reads);
  const known = shared.get(json);
  if (known) return known;
  const [oldest] = shared.keys();
  if (oldest !== undefined && shared.size >= MAX_SHARED) shared.delete(oldest);
  shared.set(json, reads);
  return reads;
}
