import type { ListingReads } from '../snapshots/freshness.js';
import type { View } from '../snapshots/view/operation-view.js';
import type { Cost } from './cost/cost.js';
import type { CostMeter } from './cost/cost-meter.js';

/** What an operation, or a part of it, has read beside rows. Times are in milliseconds since 1970. */
export interface TrackedReads {
  /** True once a price was read or used to filter or order tokens. */
  readonly prices: boolean;
  /** True if the response shows a price's time or hides a price as too old; both change at every refresh. */
  readonly priceTimes: boolean;
  /** When the first price that was read becomes too old. */
  readonly pricesGoodUntil: number;
  /** True once the status of the listings was read, which changes every second. */
  readonly freshness: boolean;
  /** True once routes were read, which have lifetimes of their own. */
  readonly routes: boolean;
  /** True if the response shows when routes were fetched. */
  readonly routeTimes: boolean;
}

/** What a part of a response was made from, beside rows. While it is the same, so is that part. */
interface ReadsOfPart extends TrackedReads {
  /** The version of the chain listing; undefined if it was not read. */
  readonly chains: string | undefined;
  /** The version of the token listing and its `takenAt`, which prices show; undefined if it was not read. */
  readonly tokens: string | undefined;
  readonly tokensTakenAt: number | undefined;
  /** What the part cost while it was made. */
  readonly cost: Cost;
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

const NO_LISTINGS: ListingReads = { chains: false, tokens: false };

const noReads = (): Mutable<TrackedReads> => ({
  prices: false,
  priceTimes: false,
  pricesGoodUntil: Number.POSITIVE_INFINITY,
  freshness: false,
  routes: false,
  routeTimes: false,
});

/** How many kinds of reads are shared, and how many are known to be noted. */
const MAX_SHARED = 8;

/** The latest reads of parts. Those of most parts are equal: as one object, they are compared and noted once. */
const shared: ReadsOfPart[] = [];

/**
 * Collects what one operation reads beside rows: resolvers and loaders note it. It also tells what was read for a part
 * of the response, so that the part can be used in other operations. A class, since one is made for every operation.
 */
export class DependencyTracker {
  private noted = noReads();
  /** Reads that were repeated, and so need not be compared again. */
  private readonly repeated: ReadsOfPart[] = [];

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

  notePrice(): void {
    this.noted.prices = true;
  }

  notePriceTime(): void {
    this.noted.priceTimes = true;
  }

  notePriceGoodUntil(time: number): void {
    if (time < this.noted.pricesGoodUntil) this.noted.pricesGoodUntil = time;
  }

  noteFreshness(): void {
    this.noted.freshness = true;
  }

  /** Also for routes that are at hand: their listing may have been noted elsewhere. */
  noteRoutes(): void {
    this.noted.routes = true;
  }

  noteRouteTime(): void {
    this.noted.routeTimes = true;
  }

  /**
   * Calls `write`, which makes a part of the response. Not within another call.
   *
   * @returns what was read meanwhile; undefined if the part holds for this operation only
   */
  track(write: () => void): ReadsOfPart | undefined {
    const { view, noted, cost } = this;
    const { units, rows, bytes } = cost.spent;
    const listingsBefore = view.swapReads(NO_LISTINGS);
    this.noted = noReads();
    write();
    const listings = view.swapReads(listingsBefore);
    const { chains, tokens } = view.untracked();
    const reads: ReadsOfPart = {
      ...this.noted,
      chains: listings.chains ? chains?.version : undefined,
      tokens: listings.tokens ? tokens?.version : undefined,
      tokensTakenAt: listings.tokens ? tokens?.takenAt : undefined,
      cost: {
        units: cost.spent.units - units,
        rows: cost.spent.rows - rows,
        bytes: cost.spent.bytes - bytes,
      },
    };
    this.noted = noted;
    if (listings.chains) view.chains();
    if (listings.tokens) view.tokens();
    this.noteAll(reads);
    const isMissing = (listings.chains && !chains) || (listings.tokens && !tokens);
    if (reads.freshness || reads.routes || isMissing) return undefined;
    return sharedOf(reads);
  }

  /**
   * Notes as read by this operation what was read for a part of another one, and adds what that cost.
   *
   * @returns false if this operation would read something else; nothing is noted then
   * @throws OperationLimitError
   */
  repeat(reads: ReadsOfPart): boolean {
    if (!this.repeated.includes(reads)) {
      const { chains, tokens } = this.view.untracked();
      if (this.now >= reads.pricesGoodUntil) return false;
      if (reads.chains !== undefined && reads.chains !== chains?.version) return false;
      if (reads.tokens !== undefined) {
        if (reads.tokens !== tokens?.version || reads.tokensTakenAt !== tokens.takenAt) return false;
        this.view.tokens();
      }
      if (reads.chains !== undefined) this.view.chains();
      this.noteAll(reads);
      if (this.repeated.length < MAX_SHARED) this.repeated.push(reads);
    }
    this.cost.add(reads.cost);
    return true;
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

function sharedOf(reads: ReadsOfPart): ReadsOfPart {
  const known = shared.find((other) => isEqual(other, reads));
  if (known) return known;
  if (shared.length >= MAX_SHARED) shared.shift();
  shared.push(reads);
  return reads;
}

/** For reads of parts that can be used again. */
function isEqual(one: ReadsOfPart, other: ReadsOfPart): boolean {
  return (
    one.prices === other.prices &&
    one.priceTimes === other.priceTimes &&
    one.pricesGoodUntil === other.pricesGoodUntil &&
    one.routeTimes === other.routeTimes &&
    one.chains === other.chains &&
    one.tokens === other.tokens &&
    one.tokensTakenAt === other.tokensTakenAt &&
    one.cost.units === other.cost.units &&
    one.cost.rows === other.cost.rows &&
    one.cost.bytes === other.cost.bytes
  );
}
