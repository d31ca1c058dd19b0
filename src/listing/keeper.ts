import type { Logger } from '../logger.js';
import { UpstreamError } from './errors.js';
import type { Snapshot } from './snapshot.js';

/** What {@link createKeeper} takes. Times are in milliseconds. */
export interface KeeperOptions<Kept> {
  /** The listing's name, for the log. */
  readonly name: string;
  /** Fetches a new snapshot; rejects with an UpstreamError. */
  readonly take: () => Promise<Kept>;
  /** The age after which a refresh runs. */
  readonly freshMs: number;
  /** The pause after a first failed refresh; each further one doubles it. */
  readonly firstPauseMs?: number;
  readonly log: Logger;
}

/** The last failed refresh, as clients may see it. */
export interface Failure {
  readonly error: UpstreamError;
  /** When it failed (milliseconds since 1970). */
  readonly at: number;
}

/** Keeps one listing at hand: the last good snapshot, refreshed behind the requests, one refresh at a time. */
export interface Keeper<Kept> {
  /** Starts the first refresh; a failed one is repeated until one succeeds. Calling it again does nothing. */
  start(): void;
  /** The snapshot being served, if there has been one. */
  readonly snapshot: Kept | undefined;
  /**
   * The snapshot at hand, or the one being fetched.
   *
   * @throws UpstreamError by rejection, at once, where there is none and the last refresh failed: the next
   *   one is due by the clock, and not by how many clients ask
   */
  current(): Kept | Promise<Kept>;
  /** The last failed refresh, even if a later one succeeded. */
  readonly lastFailure: Failure | undefined;
  /** Ends the refreshing. */
  stop(): void;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** However long the upstream asks to be left alone, it is asked again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Makes the keeper of one listing. */
export function createKeeper<Kept extends Snapshot<unknown>>(options: KeeperOptions<Kept>): Keeper<Kept> {
  const { name, take, freshMs, firstPauseMs = FIRST_PAUSE_MS, log } = options;
  let snapshot: Kept | undefined;
  let lastFailure: Failure | undefined;
  let failuresInARow = 0;
  let refreshing: Promise<Kept> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function refresh(): Promise<Kept> {
    refreshing ??= take()
      .then(accept, refuse)
      .finally(() => {
        refreshing = undefined;
      });
    // Whoever waits for it sees the failure; if nobody does, it is in the log and in the status.
    refreshing.catch(() => {});
    return refreshing;
  }

  function accept(taken: Kept): Kept {
    const changed = taken.version !== snapshot?.version;
    snapshot = taken;
    failuresInARow = 0;
    const { version, rows, rejected } = taken;
    const counts = { listing: name, version, rows: rows.length, rejectedRows: rejected.count };
    log[changed ? 'info' : 'debug'](counts, `Took a new snapshot of the ${name} listing`);
    if (rejected.count > 0) {
      log.warn({ ...counts, rejected: rejected.first }, `Left out bad rows of the ${name} listing`);
    }
    // Age counts from when it was asked for; but a slow upstream is not asked again as soon as it has answered.
    // Nor does a clock that was set back put the refresh off.
    const leftMs = freshMs - (Date.now() - taken.takenAt);
    schedule(Math.min(Math.max(leftMs, freshMs / 2), freshMs));
    return taken;
  }

  function refuse(reason: unknown): never {
    const error =
      reason instanceof UpstreamError
        ? reason
        : new UpstreamError('UPSTREAM_MALFORMED', "The upstream's answer cannot be used.", { cause: reason });
    lastFailure = { error, at: Date.now() };
    const pauseMs = Math.min(firstPauseMs * 2 ** failuresInARow++, MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
    const retryInMs = Math.round(Math.max(pauseMs, Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)));
    if (!stopped) {
      const { code, detail } = error;
      const served = snapshot ? 'the last good snapshot is served' : 'there is none to serve yet';
      log.warn(
        { listing: name, code, detail, retryInMs, err: error.cause ?? error },
        `The ${name} listing could not be refreshed: ${served}`,
      );
    }
    schedule(retryInMs);
    throw error;
  }

  function schedule(delayMs: number): void {
    if (stopped) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, delayMs);
    timer.unref();
  }

  return {
    start() {
      if (!snapshot && !refreshing && !timer) refresh();
    },
    get snapshot() {
      return snapshot;
    },
    current() {
      if (snapshot) return snapshot;
      if (refreshing) return refreshing;
      return lastFailure ? Promise.reject(lastFailure.error) : refresh();
    },
    get lastFailure() {
      return lastFailure;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
