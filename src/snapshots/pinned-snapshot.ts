import type { Refresher } from './refresher.js';

/** The snapshot of one listing that one operation reads: the same at each look. */
export interface Pin<Kept> {
  /** The snapshot, or the one being fetched, for what shows in the answer; rejects with an UpstreamError. */
  read(): Kept | Promise<Kept>;
  /** The same for a look that shows nowhere in the answer. */
  peek(): Kept | Promise<Kept>;
  /** What `peek` gives, once it is there. */
  readonly arrived: Kept | undefined;
  /** As `peek`, but undefined where that would wait for a first snapshot that nobody here has asked for. */
  peekAtHand(): Kept | Promise<Kept> | undefined;
  /** What `read` was asked for, once it is there; undefined before, or where nothing was read. */
  readonly wasRead: Kept | undefined;
  /** Whether `read` was asked in vain so far. */
  readonly isMissed: boolean;
}

/** Pins what the refresher has now; where it has none, what it has at the first look. */
export function createPin<Kept extends object>(refresher: Refresher<Kept>): Pin<Kept> {
  let pinned: Kept | Promise<Kept> | undefined = refresher.snapshot;
  let arrived = refresher.snapshot;
  let isRead = false;

  function peek(): Kept | Promise<Kept> {
    if (pinned === undefined) {
      pinned = refresher.current();
      // Whoever awaits it sees the failure; until somebody does, it is not to count as unhandled.
      if (pinned instanceof Promise) pinned.then(arrive, () => {});
      else arrive(pinned);
    }
    return pinned;
  }

  function arrive(kept: Kept): void {
    arrived = kept;
  }

  return {
    read() {
      // Called for each row of a join: this is all that may happen here.
      isRead = true;
      return pinned ?? peek();
    },
    peek,
    get arrived() {
      return arrived;
    },
    peekAtHand: () => pinned ?? (refresher.snapshot ? peek() : undefined),
    get wasRead() {
      return isRead ? arrived : undefined;
    },
    get isMissed() {
      return isRead && arrived === undefined;
    },
  };
}
