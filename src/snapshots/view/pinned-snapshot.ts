import type { Refresher } from '../refresher.js';
import type { Snapshot } from '../snapshot.js';

/**
 * The snapshot of one listing that one operation reads: the same one from its first read to its end. A class, since
 * one is made for every operation, and an object literal with getters takes ten times as long to make.
 */
export class PinnedSnapshot<Pinned extends Snapshot<unknown>> {
  private pinned: Pinned | Promise<Pinned> | undefined;
  private isRead = false;
  /** The pinned snapshot; undefined before it is there. */
  arrived: Pinned | undefined;

  /** Pins the present snapshot, or, if there is none, the one that the first read finds. */
  constructor(private readonly refresher: Refresher<Pinned>) {
    this.arrived = refresher.snapshot;
    this.pinned = this.arrived;
  }

  /** The snapshot, or the one being fetched. The response depends on it. Rejects with an UpstreamError. */
  read(): Pinned | Promise<Pinned> {
    // Hot path: called for each row of a join.
    this.isRead = true;
    return this.pinned ?? this.readUntracked();
  }

  /** As `read`, for a use that does not show in the response. */
  readUntracked(): Pinned | Promise<Pinned> {
    if (this.pinned === undefined) {
      const pinned = this.refresher.current();
      this.pinned = pinned;
      const arrive = (snapshot: Pinned) => {
        this.arrived = snapshot;
      };
      // Callers that await it see the failure. Without one it must not be an unhandled rejection.
      if (pinned instanceof Promise) pinned.then(arrive, () => {});
      else arrive(pinned);
    }
    return this.pinned;
  }

  /** As `readUntracked`, but undefined rather than wait for a first snapshot that this operation has not asked for. */
  readUntrackedIfPresent(): Pinned | Promise<Pinned> | undefined {
    return this.pinned ?? (this.refresher.snapshot ? this.readUntracked() : undefined);
  }

  /** The snapshot that the response depends on; undefined if `read` was not called, or has brought none yet. */
  get snapshotRead(): Pinned | undefined {
    return this.isRead ? this.arrived : undefined;
  }

  /** Sets whether it counts as read from now on. @returns whether it did until now */
  swapRead(isRead: boolean): boolean {
    const before = this.isRead;
    this.isRead = isRead;
    return before;
  }

  /** Whether `read` was called and has brought no snapshot so far. */
  get readFailed(): boolean {
    return this.isRead && this.arrived === undefined;
  }
}
