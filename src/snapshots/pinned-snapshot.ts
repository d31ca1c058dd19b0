import type { Refresher } from './refresher.js';
import type { Snapshot } from './snapshot.js';

export type PinnedSnapshot<Pinned extends Snapshot<unknown>> = ReturnType<typeof pinSnapshot<Pinned>>;

/**
 * Pins the snapshot of one listing that one operation reads: the same one from its first read to its end. It is the
 * present snapshot, or, if there is none, the one that the first read finds.
 */
export function pinSnapshot<Pinned extends Snapshot<unknown>>(refresher: Refresher<Pinned>) {
  let pinned: Pinned | Promise<Pinned> | undefined = refresher.snapshot;
  let arrived = refresher.snapshot;
  let isRead = false;

  function arrive(snapshot: Pinned): void {
    arrived = snapshot;
  }

  /** As `read`, for a use that does not show in the response. */
  function readUntracked(): Pinned | Promise<Pinned> {
    if (pinned === undefined) {
      pinned = refresher.current();
      // Callers that await it see the failure. Without one it must not be an unhandled rejection.
      if (pinned instanceof Promise) pinned.then(arrive, () => {});
      else arrive(pinned);
    }
    return pinned;
  }

  return {
    /** The snapshot, or the one being fetched. The response depends on it. Rejects with an UpstreamError. */
    read(): Pinned | Promise<Pinned> {
      // Hot path: called for each row of a join.
      isRead = true;
      return pinned ?? readUntracked();
    },
    readUntracked,
    /** As `readUntracked`, but undefined rather than wait for a first snapshot that this operation has not asked for. */
    readUntrackedIfPresent: () => pinned ?? (refresher.snapshot ? readUntracked() : undefined),
    /** The pinned snapshot; undefined before it is there. */
    get arrived() {
      return arrived;
    },
    /** The snapshot that the response depends on; undefined if `read` was not called, or has brought none yet. */
    get snapshotRead() {
      return isRead ? arrived : undefined;
    },
    /** Whether `read` was called and has brought no snapshot so far. */
    get readFailed() {
      return isRead && arrived === undefined;
    },
  };
}
