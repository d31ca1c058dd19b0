import type { Refresher } from './refresher.js';

/** The snapshot of one listing that one operation reads: the same one from its first read to its end. */
export interface PinnedSnapshot<Kept> {
  /** The snapshot, or the one being fetched. The response depends on it. Rejects with an UpstreamError. */
  read(): Kept | Promise<Kept>;
  /** As `read`, for a use that does not show in the response. */
  readUntracked(): Kept | Promise<Kept>;
  /** As `readUntracked`, but undefined rather than wait for a first snapshot that this operation has not asked for. */
  readUntrackedIfPresent(): Kept | Promise<Kept> | undefined;
  /** The pinned snapshot; undefined before it is there. */
  readonly arrived: Kept | undefined;
  /** The snapshot that the response depends on; undefined if `read` was not called, or has brought none yet. */
  readonly snapshotRead: Kept | undefined;
  /** Whether `read` was called and has brought no snapshot so far. */
  readonly readFailed: boolean;
}

/** Pins the present snapshot, or, if there is none, the one that the first read finds. */
export function pinSnapshot<Kept extends object>(refresher: Refresher<Kept>): PinnedSnapshot<Kept> {
  let pinned: Kept | Promise<Kept> | undefined = refresher.snapshot;
  let arrived = refresher.snapshot;
  let isRead = false;

  function readUntracked(): Kept | Promise<Kept> {
    if (pinned === undefined) {
      pinned = refresher.current();
      // Callers that await it see the failure. Without one it must not be an unhandled rejection.
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
      // Hot path: called for each row of a join.
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
