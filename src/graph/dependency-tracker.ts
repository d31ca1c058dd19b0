import type { ListingName, ListingReads } from '../snapshots/freshness.js';
import type { View } from '../snapshots/view/operation-view.js';
import type { Cost, CostMeter } from './cost.js';

/** What can be read beside rows. */
export interface TrackedReads {
  /** True once a price was read or used to filter or order tokens. */
  prices: boolean;
  /** True if the response shows a price's time or hides a price as too old; both change at every refresh. */
  priceTimes: boolean;
  /** True once the status of the listings was read, which changes every second. */
  freshness: boolean;
  /** True once routes were read, which have lifetimes of their own. */
  routes: boolean;
  /** True if the response shows when routes were fetched. */
  routeTimes: boolean;
  /** When the first price that was read becomes too old (milliseconds since 1970). */
  pricesGoodUntil: number;
}

type Flag = Exclude<keyof TrackedReads, 'pricesGoodUntil'>;

const noReads = (): TrackedReads => ({
  prices: false,
  priceTimes: false,
  freshness: false,
  routes: false,
  routeTimes: false,
  pricesGoodUntil: Number.POSITIVE_INFINITY,
});
const FLAGS = Object.keys(noReads()).filter((name) => name !== 'pricesGoodUntil') as Flag[];
const LISTINGS: readonly ListingName[] = ['chains', 'tokens'];
const NO_LISTINGS: ListingReads = { chains: false, tokens: false };

/** What a part of a response was made from, beside rows, and what it cost. While it is the same, so is that part. */
interface ReadsOfPart extends TrackedReads, Cost {
  /** The state of each listing; undefined if it was not read. */
  readonly chains: string | undefined;
  readonly tokens: string | undefined;
}

/** The reads of the last part. Those of most parts are equal: as one object, they are compared and noted once. */
let last: ReadsOfPart | undefined;

/**
 * Collects what one operation reads beside rows: resolvers and loaders note it. It also tells what was read for a part
 * of the response, so that the part can be used in other operations. A class, since one is made for every operation.
 */
export class DependencyTracker {
  private noted = noReads();
  private repeated: ReadsOfPart | undefined;

  /** @param now milliseconds since 1970, by the clock of the operation */
  constructor(
    private readonly view: View,
    private readonly cost: CostMeter,
    private readonly now: number,
  ) {}

  /** Everything that was read so far. */
  get reads(): Readonly<TrackedReads> {
    return this.noted;
  }

  /** Notes it as read. Routes each time, also those at hand: their listing may have been noted elsewhere. */
  note(flag: Flag): void {
    this.noted[flag] = true;
  }

  /** Notes that a price was read which is too old from this time on. */
  notePriceGoodUntil(time: number): void {
    if (time < this.noted.pricesGoodUntil) this.noted.pricesGoodUntil = time;
  }

  /**
   * Calls `write`, which makes a part of the response. Not within another call.
   *
   * @returns what was read meanwhile; undefined if the part holds for this operation only
   */
  track(write: () => void): ReadsOfPart | undefined {
    const { view, noted } = this;
    const { spent } = this.cost;
    const before = { ...spent };
    const listingsBefore = view.swapReads(NO_LISTINGS);
    this.noted = noReads();
    write();
    const listings = view.swapReads(listingsBefore);
    const reads: ReadsOfPart = {
      ...this.noted,
      chains: listings.chains ? this.stateOf('chains') : undefined,
      tokens: listings.tokens ? this.stateOf('tokens') : undefined,
      units: spent.units - before.units,
      rows: spent.rows - before.rows,
      bytes: spent.bytes - before.bytes,
    };
    this.noted = noted;
    this.noteAll(reads, listings);
    const isMissing = LISTINGS.some((name) => listings[name] && reads[name] === undefined);
    if (reads.freshness || reads.routes || isMissing) return undefined;
    if (!last || !isEqual(last, reads)) last = reads;
    return last;
  }

  /**
   * Notes as read by this operation what was read for a part of another one, and adds what that cost.
   *
   * @returns false if this operation would read something else; nothing is noted then
   * @throws OperationLimitError
   */
  repeat(reads: ReadsOfPart): boolean {
    if (reads !== this.repeated) {
      const listings = { chains: reads.chains !== undefined, tokens: reads.tokens !== undefined };
      if (this.now >= reads.pricesGoodUntil) return false;
      if (LISTINGS.some((name) => listings[name] && reads[name] !== this.stateOf(name))) return false;
      this.noteAll(reads, listings);
      this.repeated = reads;
    }
    this.cost.add(reads);
    return true;
  }

  private noteAll(reads: TrackedReads, listings: ListingReads): void {
    for (const name of LISTINGS) if (listings[name]) this.view[name]();
    for (const flag of FLAGS) if (reads[flag]) this.note(flag);
    this.notePriceGoodUntil(reads.pricesGoodUntil);
  }

  /** The version of a listing and its `takenAt`, which prices show; undefined if there is no snapshot. */
  private stateOf(name: ListingName): string | undefined {
    const snapshot = this.view.untracked()[name];
    return snapshot && `${snapshot.version} ${snapshot.takenAt}`;
  }
}

const KEYS = ['chains', 'tokens', 'units', 'rows', 'bytes', 'pricesGoodUntil', ...FLAGS] as const;

function isEqual(one: ReadsOfPart, other: ReadsOfPart): boolean {
  return KEYS.every((key) => one[key] === other[key]);
}
