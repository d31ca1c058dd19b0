import type { Refresher } from './refresher.js';

/** The snapshot of one listing that one operation reads: the same at each look. */
export interface PinnedSnapshot<Kept> {
  /** The snapshot, or the one being fetched, for what shows in the answer; rejects with an UpstreamError. */
  read(): Kept | Promise<Kept>;
  /** The same for a look that shows nowhere in the answer. */
  readUntracked(): Kept | Promise<Kept>;
  /** What `readUntracked` gives, once it is there. */
  readonly arrived: Kept | undefined;
  /** As `readUntracked`, but undefined where that would wait for a first snapshot that nobody here has asked for. */
  readUntrackedIfPresent(): Kept | Promise<Kept> | undefined;
  /** What `read` was asked for, once it is there; undefined before, or where nothing was read. */
  readonly snapshotRead: Kept | undefined;
  /** Whether `read` was asked in vain so far. */
  readonly readFailed: boolean;
}

/** Pins what the refresher has now; where it has none, what it has at the first look. */
export function pinSnapshot<Kept extends object>(refresher: Refresher<Kept>): PinnedSnapshot<Kept> {
  let pinned: Kept | Promise<Kept> | undefined = refresher.snapshot;
  let arrived = refresher.snapshot;
  let isRead = false;

  function readUntracked(): Kept | Promise<Kept> {
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
      return pinned ?? readUntracked();
    },
    readUntracked,
    get arrived() {
      return arrived;
    },
    readUntrackedIfPresent: () => pinned ?? (refresher.snapshot ? readUntracked() : undefined),
    get snapshotRead() {
      return isRead ? arrived : undefined;
    },
    get readFailed() {
      return isRead && arrived === undefined;
    },
  };
}
