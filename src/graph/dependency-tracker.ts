import type { ListingReads } from '../snapshots/freshness.js';
import type { View } from '../snapshots/view/operation-view.js';
import type { Cost, CostMeter } from './cost.js';

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
class Reads implements TrackedReads, Cost {
  prices = false;
  priceTimes = false;
  pricesGoodUntil = Number.POSITIVE_INFINITY;
  freshness = false;
  routes = false;
  routeTimes = false;
  /** The version of the chain listing; undefined if it was not read. */
  chains: string | undefined = undefined;
  /** The version of the token listing and its `takenAt`, which prices show; undefined if it was not read. */
  tokens: string | undefined = undefined;
  tokensTakenAt: number | undefined = undefined;
  /** What the part cost while it was made. */
  units = 0;
  rows = 0;
  bytes = 0;
}

const NO_LISTINGS: ListingReads = { chains: false, tokens: false };

/** How many kinds of reads are shared, and how many are known to be noted. */
const MAX_SHARED = 8;

/** The latest reads of parts. Those of most parts are equal: as one object, they are compared and noted once. */
const shared: Reads[] = [];

/**
 * Collects what one operation reads beside rows: resolvers and loaders note it. It also tells what was read for a part
 * of the response, so that the part can be used in other operations. A class, since one is made for every operation.
 */
export class DependencyTracker {
  private noted = new Reads();
  /** Reads that were repeated, and so need not be compared again. */
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

  /** Notes it as read. Routes each time, also those at hand: their listing may have been noted elsewhere. */
  note(flag: Exclude<keyof TrackedReads, 'pricesGoodUntil'>): void {
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
  track(write: () => void): Reads | undefined {
    const { view, noted, cost } = this;
    const { units, rows, bytes } = cost.spent;
    const listingsBefore = view.swapReads(NO_LISTINGS);
    const reads = new Reads();
    this.noted = reads;
    write();
    this.noted = noted;
    const { chains: readChains, tokens: readTokens } = view.swapReads(listingsBefore);
    const { chains, tokens } = view.untracked();
    if (readChains) {
      reads.chains = chains?.version;
      view.chains();
    }
    if (readTokens) {
      reads.tokens = tokens?.version;
      reads.tokensTakenAt = tokens?.takenAt;
      view.tokens();
    }
    reads.units = cost.spent.units - units;
    reads.rows = cost.spent.rows - rows;
    reads.bytes = cost.spent.bytes - bytes;
    this.noteAll(reads);
    const isMissing = (readChains && !chains) || (readTokens && !tokens);
    return reads.freshness || reads.routes || isMissing ? undefined : sharedOf(reads);
  }

  /**
   * Notes as read by this operation what was read for a part of another one, and adds what that cost.
   *
   * @returns false if this operation would read something else; nothing is noted then
   * @throws OperationLimitError
   */
  repeat(reads: Reads): boolean {
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
    this.cost.add(reads);
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

function sharedOf(reads: Reads): Reads {
  for (const known of shared) if (isEqual(known, reads)) return known;
  if (shared.length >= MAX_SHARED) shared.shift();
  shared.push(reads);
  return reads;
}

/** For reads of parts that can be used again. */
function isEqual(one: Reads, other: Reads): boolean {
  return (
    one.prices === other.prices &&
    one.priceTimes === other.priceTimes &&
    one.pricesGoodUntil === other.pricesGoodUntil &&
    one.routeTimes === other.routeTimes &&
    one.chains === other.chains &&
    one.tokens === other.tokens &&
    one.tokensTakenAt === other.tokensTakenAt &&
    one.units === other.units &&
    one.rows === other.rows &&
    one.bytes === other.bytes
  );
}
