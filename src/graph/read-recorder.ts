import type { ListingReads, View } from '../snapshots/snapshots.js';
import { createDependencyTracker, type DependencyTracker } from './dependencies.js';

/** What was read beside rows while a part of a response was made. While it is the same, so is that part. */
export interface RecordedReads {
  readonly listings: ListingReads;
  /** The version of the chain listing, if that was read. */
  readonly chains: string | undefined;
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

  /** @returns undefined if the part holds for this moment only */
  end({ listings: before, tracked }: Recording): RecordedReads | undefined {
    const { tracker, view } = this;
    const listings = view.swapReads(before);
    const reads = {
      listings,
      chains: listings.chains ? view.untracked().chains?.version : undefined,
      tracked: { ...tracker },
    };
    Object.assign(tracker, tracked);
    this.add(reads);
    return tracker.status ? undefined : reads;
  }

  /**
   * Notes everything as read by this operation, too.
   *
   * @returns false, and notes nothing, if this operation would read something else
   */
  repeat(reads: RecordedReads): boolean {
    if (this.now >= reads.tracked.pricesGoodUntil) return false;
    if (reads.listings.chains && reads.chains !== this.view.untracked().chains?.version) return false;
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
