/**
 * Dependencies: the data that a response was made from. They are tracked while an operation runs, and stored with its
 * cached response. Before the response is used again, they are compared with the snapshots that are served then. All
 * times are in milliseconds; points in time are since 1970.
 */
import { LRUCache } from 'lru-cache';
import type { Freshness, Reads } from '../snapshots/freshness.js';
import type { RoutesRead } from '../snapshots/operation-routes.js';
import { LISTING_NAMES, type ListingName, type ServedSnapshots } from '../snapshots/snapshot.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import type { Cost, CostMeter } from './cost.js';

/** The changing data that an operation has read. */
class TrackedReads {
  /** The listings whose rows were read, each with the `state` of its snapshot; undefined without a snapshot. */
  readonly listings: Partial<Record<ListingName, string | undefined>> = {};
  /** Whether a price was read or used to filter or order tokens. */
  prices = false;
  /** Whether the response shows a price's time or hides a price as too old; both change at every refresh. */
  priceTimes = false;
  /** When the first of the prices that were read becomes too old to be shown; infinite without prices. */
  pricesGoodUntil = Number.POSITIVE_INFINITY;
  /** Whether the status of the listings was read, which changes every second. */
  freshness = false;
  /** Whether routes were read, of a token (`destinations`) or of all tokens (`sources`). */
  routes = false;
  /** Until when a response with the routes that were read is valid. */
  routesGoodUntil = Number.POSITIVE_INFINITY;
  /** When the oldest routes that were read were fetched; infinite without routes. */
  routesTakenAt = Number.POSITIVE_INFINITY;
}

/** The data that a part of a response was made from: while it is the same, so is the part. */
interface ReadsOfPart extends Readonly<TrackedReads> {
  readonly cost: Cost;
}

/** At most this many reads are in `shared`, and in `repeated` of one tracker. */
const MAX_SHARED = 8;

/** The latest distinct reads of parts, by their JSON. Parts share them, so an operation compares each only once. */
const shared = new LRUCache<string, ReadsOfPart>({ max: MAX_SHARED });

export class DependencyTracker {
  private noted = new TrackedReads();
  /** Reads that `repeat` has already compared and noted for this operation. */
  private readonly repeated: ReadsOfPart[] = [];

  /** @param pinned the snapshots that the operation reads: those served when it began, and the first ones that it waits for */
  constructor(
    readonly pinned: ServedSnapshots,
    private readonly cost: CostMeter,
    private readonly now: number,
    private readonly priceMaxAgeMs: number,
  ) {}

  get reads() {
    const { listings, routesTakenAt } = this.noted;
    return { listings: LISTING_NAMES.filter((name) => name in listings), routesTakenAt } satisfies Reads;
  }

  note(flag: 'prices' | 'priceTimes' | 'freshness' | 'routes'): void {
    this.noted[flag] = true;
  }

  noteListing(name: ListingName): void {
    this.noted.listings[name] = this.pinned[name]?.state;
  }

  /** Note repeated reads, too: the earlier note can belong to another part of the response. */
  noteRoutes({ goodUntil, takenAt }: Pick<RoutesRead, 'goodUntil' | 'takenAt'>): void {
    this.noted.routes = true;
    this.noted.routesGoodUntil = Math.min(this.noted.routesGoodUntil, goodUntil);
    this.noted.routesTakenAt = Math.min(this.noted.routesTakenAt, takenAt);
  }

  /** Whether a price fetched at this time is young enough to show. Notes the dependency. */
  isPriceFresh(asOf: number): boolean {
    const { noted, priceMaxAgeMs } = this;
    const isFresh = asOf >= this.now - priceMaxAgeMs;
    if (isFresh) noted.pricesGoodUntil = Math.min(noted.pricesGoodUntil, asOf + priceMaxAgeMs);
    else noted.priceTimes = true;
    return isFresh;
  }

  /** `write` makes a part of the response, not nested. @returns its reads; undefined if others cannot use the part */
  track(write: () => void): ReadsOfPart | undefined {
    const { noted, cost } = this;
    const before = { ...cost.spent };
    const tracked = new TrackedReads();
    this.noted = tracked;
    write();
    this.noted = noted;
    this.noteAll(tracked);
    const isWaiting = Object.values(tracked.listings).includes(undefined);
    if (tracked.freshness || tracked.routes || isWaiting) return undefined;
    const { units, rows } = cost.spent;
    const reads = { ...tracked, cost: { units: units - before.units, rows: rows - before.rows } };
    const json = JSON.stringify(reads);
    const known = shared.get(json) ?? reads;
    shared.set(json, known);
    return known;
  }

  /**
   * Notes the reads and the cost of a part that another operation has made, and this one uses, too. False, with nothing
   * noted, if this operation would read something else and must make the part itself.
   */
  repeat(reads: ReadsOfPart): boolean {
    if (!this.repeated.includes(reads)) {
      const { listings, pricesGoodUntil } = reads;
      if (this.now >= pricesGoodUntil) return false;
      const isOther = (name: ListingName) => listings[name] !== this.pinned[name]?.state;
      if (LISTING_NAMES.some((name) => name in listings && isOther(name))) return false;
      this.noteAll(reads);
      if (this.repeated.length < MAX_SHARED) this.repeated.push(reads);
    }
    this.cost.add(reads.cost);
    return true;
  }

  private noteAll(reads: Readonly<TrackedReads>): void {
    const { noted } = this;
    Object.assign(noted.listings, reads.listings);
    noted.prices ||= reads.prices;
    noted.priceTimes ||= reads.priceTimes;
    noted.freshness ||= reads.freshness;
    if (reads.routes) this.noteRoutes({ goodUntil: reads.routesGoodUntil, takenAt: reads.routesTakenAt });
    noted.pricesGoodUntil = Math.min(noted.pricesGoodUntil, reads.pricesGoodUntil);
  }

  /**
   * The dependencies of the finished response. Undefined if no cache may store it. While they are current, the response
   * may be sent again; but with routes only by HTTP caches, because more than these dependencies can change routes.
   */
  dependencies() {
    const { pinned, noted, reads } = this;
    const { listings, routesTakenAt } = reads;
    // Without a snapshot of a listing, the response will differ once there is one.
    if (noted.freshness || listings.some((name) => !pinned[name])) return undefined;
    const { prices, priceTimes, pricesGoodUntil, routes, routesGoodUntil } = noted;
    const part: 'state' | 'digest' | 'rowsDigest' = priceTimes ? 'state' : prices ? 'digest' : 'rowsDigest';
    return {
      listings,
      /**
       * The digest that the response depends on. `state`: it shows the time of a price, or hides an old price. `digest`:
       * it has other prices. `rowsDigest`: none.
       */
      part,
      /** For each listing, the value of `part` when the response was made. */
      values: listings.map((name) => pinned[name]?.[part]),
      /** Whether the response has routes, so that the response cache must not store it. */
      hasRoutes: routes,
      /** When the dependencies expire even if everything else here stays the same. */
      goodUntil: Math.min(routesGoodUntil, pricesGoodUntil),
      pricesGoodUntil,
      routesTakenAt,
    };
  }
}

export type Dependencies = NonNullable<ReturnType<DependencyTracker['dependencies']>>;

/** The facts from which the caching headers of a response are made, and the time at which they are true. */
export interface ResponseInfo extends Freshness {
  readonly now: number;
  /** Time until a price in the response becomes too old; infinite without prices. */
  readonly pricesGoodForMs: number;
}

export type DependencyCheck = ReturnType<typeof createDependencyCheck>;

/** Compares dependencies with the snapshots that are served now. Undefined if they are no longer current. */
export function createDependencyCheck(snapshots: Snapshots) {
  return (dependencies: Dependencies): ResponseInfo | undefined => {
    const { listings, part, values, goodUntil, pricesGoodUntil } = dependencies;
    const now = snapshots.now();
    if (now >= goodUntil) return undefined;
    const served = snapshots.current();
    if (listings.some((name, nth) => served[name]?.[part] !== values[nth])) return undefined;
    const { staleListings, freshForMs, takenAt } = snapshots.freshness(served, dependencies, now);
    return {
      now,
      staleListings,
      freshForMs: Math.min(freshForMs, goodUntil - now),
      pricesGoodForMs: pricesGoodUntil - now,
      takenAt,
    };
  };
}

/** Seconds for which caches may serve a stale response while they fetch a new one: usual refreshes take far less. */
const STALE_WHILE_REVALIDATE = 60;
/** Seconds for which caches may serve a stale response while they cannot reach the gateway: a day. */
const STALE_IF_ERROR = 86_400;
/** Seconds for which a response without listings may be served: such a response shows the schema, which can change. */
const MAX_AGE_OF_SCHEMA = 300;

/**
 * The age of a stored response. It begins when the response was made or, if that was later, when its oldest listing was
 * last fetched: a fetch of the same rows validates the response (RFC 9111).
 *
 * @returns undefined if the response is too old to be served, or if the clock was set back after it was made: the
 *   dependencies would then expire too late
 */
export function ageOf({ now, takenAt }: ResponseInfo, madeAt: number): number | undefined {
  if (now < madeAt) return undefined;
  const hasListings = takenAt < Number.POSITIVE_INFINITY;
  const ageMs = Math.max(0, now - (hasListings ? Math.max(madeAt, takenAt) : madeAt));
  return hasListings || ageMs < 1000 * MAX_AGE_OF_SCHEMA ? ageMs : undefined;
}

/**
 * The headers for browser and CDN caches, as alternating names and values. A cache keeps a response for `max-age` minus
 * `Age`. This difference must be the time until the next refresh. So `max-age` is the sum of that time and the age, or 0
 * if no time is left. Caches that ignore `Age` keep a response too long, but by one refresh interval at most, because the
 * age starts again with each refresh.
 */
export function cachingHeaders({ freshForMs, pricesGoodForMs, takenAt }: ResponseInfo, ageMs: number) {
  const age = Math.floor(ageMs / 1000);
  const freshFor = Number.isFinite(freshForMs) ? Math.floor(freshForMs / 1000) : MAX_AGE_OF_SCHEMA - age;
  const maxAge = freshFor > 0 ? freshFor + age : 0;
  // Both periods begin when max-age ends. They must end before a price in the response is too old.
  const staleFor = Math.max(0, Math.floor(pricesGoodForMs / 1000) - freshFor);
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE, staleFor);
  const ifError = Math.min(STALE_IF_ERROR, staleFor);
  const control = `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`;
  const headers = ['cache-control', control, 'age', String(age)];
  // If the clock was set back, `takenAt` can be in the future.
  const modifiedAt = Math.min(takenAt, Date.now());
  if (takenAt < Number.POSITIVE_INFINITY) headers.push('last-modified', new Date(modifiedAt).toUTCString());
  return headers;
}
