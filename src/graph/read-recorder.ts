import type { ListingReads } from '../snapshots/freshness.js';
import type { View } from '../snapshots/view/operation-view.js';
import { createDependencyTracker, type DependencyTracker } from './dependencies.js';

/** What was read beside rows while a part of a response was made. While it is the same, so is that part. */
export interface RecordedReads {
  readonly listings: ListingReads;
  /** The version of the chain listing, if that was read. */
  readonly chains: string | undefined;
  /** The version of the token listing, if that was read. */
  readonly tokens: string | undefined;
  readonly tracked: Readonly<DependencyTracker>;
}

/** What was read before a recording began. */
export interface Recording {
  readonly listings: ListingReads;
  readonly tracked: Readonly<DependencyTracker>;
}

const NOTHING: ListingReads = { chains: false, tokens: false };

/**
 * Records what one operation reads while a part of its response is made, so that the part can be used in other
 * operations. A class, since one is made for every operation.
 */
export class ReadRecorder {
  constructor(
    private readonly view: View,
    private readonly tracker: DependencyTracker,
    /** Milliseconds since 1970, by the clock of the operation. */
    private readonly now: number,
  ) {}

  begin(): Recording {
    const { tracker } = this;
    const recording = { listings: this.view.swapReads(NOTHING), tracked: { ...tracker } };
    Object.assign(tracker, createDependencyTracker());
    return recording;
  }

  /**
   * @param like other reads
   * @returns what was read since `begin`, or `like` if it is equal; undefined if the part holds for this moment only
   */
  end({ listings: before, tracked }: Recording, like: RecordedReads | undefined): RecordedReads | undefined {
    const { tracker, view } = this;
    const listings = view.swapReads(before);
    const { chains, tokens } = view.untracked();
    const reads = {
      listings,
      chains: listings.chains ? chains?.version : undefined,
      tokens: listings.tokens ? tokens?.version : undefined,
      tracked: { ...tracker },
    };
    Object.assign(tracker, tracked);
    this.add(reads);
    if (reads.tracked.status) return undefined;
    return like && isEqual(like, reads) ? like : reads;
  }

  /**
   * Notes everything as read by this operation, too.
   *
   * @returns false, and notes nothing, if this operation would read something else
   */
  repeat(reads: RecordedReads): boolean {
    if (this.now >= reads.tracked.pricesGoodUntil) return false;
    const { chains, tokens } = this.view.untracked();
    if (reads.listings.chains && reads.chains !== chains?.version) return false;
    if (reads.listings.tokens && reads.tokens !== tokens?.version) return false;
    this.add(reads);
    return true;
  }

  private add({ listings, tracked }: RecordedReads): void {
    const { tracker, view } = this;
    if (listings.chains) view.chains();
    if (listings.tokens) view.tokens();
    tracker.prices ||= tracked.prices;
    tracker.times ||= tracked.times;
    tracker.status ||= tracked.status;
    tracker.pricesGoodUntil = Math.min(tracker.pricesGoodUntil, tracked.pricesGoodUntil);
  }
}

function isEqual(one: RecordedReads, other: RecordedReads): boolean {
  return (
    one.chains === other.chains &&
    one.tokens === other.tokens &&
    one.listings.chains === other.listings.chains &&
    one.listings.tokens === other.listings.tokens &&
    one.tracked.prices === other.tracked.prices &&
    one.tracked.times === other.tracked.times &&
    one.tracked.status === other.tracked.status &&
    one.tracked.pricesGoodUntil === other.tracked.pricesGoodUntil
  );
}
