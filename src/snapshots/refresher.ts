import type { Fetched, Listing, UnreadableRows } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import {
  checkFirstListing,
  createChangeCheck,
  type Findings,
  type HoldBackReason,
  type HoldBackRules,
} from './changes/change-check.js';
import type { DiskStore } from './disk-store.js';
import {
  delayFailure,
  type Failure,
  FIRST_PAUSE_MS,
  growingPause,
  internalError,
  LEAST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_PAUSE_MS,
  STAND_BACK_MS,
} from './failures.js';
import { type BackOff, NO_PEERS, type Peers, type RefreshLease, type SharedFailure } from './peers.js';
import { type Came, logAccepted, logRejected } from './refresh-log.js';
import type { Snapshot } from './snapshot.js';

/** The options of the refreshers of both listings. Times are in milliseconds. */
export interface RefreshOptions extends HoldBackRules {
  /** The upstream: why requests for listings wait now, and where to tell the source of shared or stored rows. */
  readonly listing: Pick<Listing, 'delay' | 'switchTo'>;
  /** The pause after a first failed refresh; each further failure doubles it. */
  readonly firstPauseMs?: number | undefined;
  /** The gateways to share with; by default none. */
  readonly peers?: Peers | undefined;
  /** Where the listings outlive the process; by default nowhere. */
  readonly disk?: DiskStore | undefined;
  /** Called at the end of each refresh: `taken`, `shared`, `held_back` with the reasons, or an error's code. */
  readonly onRefresh?: (listing: string, outcome: string, heldBackFor: readonly HoldBackReason[]) => void;
  readonly log: Logger;
}

export interface RefresherOptions<Row, Indexed extends Snapshot<Row>> extends RefreshOptions {
  readonly kind: ListingKind<Row>;
  /** Asks the upstream; rejects with an UpstreamError. */
  readonly fetch: () => Promise<Fetched<Row>>;
  /** Makes a snapshot of accepted rows. */
  readonly index: (fetched: Fetched<Row>, before: Indexed | undefined) => Indexed | Promise<Indexed>;
  /** The age after which a refresh runs. */
  readonly freshMs: number;
  /** Called after each new snapshot. */
  readonly onPublished?: () => void;
}

export type Refresher<Indexed extends Snapshot<unknown>> = ReturnType<
  typeof createRefresher<unknown, Indexed>
>;

/** Holds the last good snapshot of one listing and refreshes it in the background, one refresh at a time. */
export function createRefresher<Row, Indexed extends Snapshot<Row>>(options: RefresherOptions<Row, Indexed>) {
  const { kind, fetch, index, freshMs, listing, firstPauseMs = FIRST_PAUSE_MS } = options;
  const { peers = NO_PEERS, disk, onRefresh, log } = options;
  const { name } = kind;
  const maxPauseMs = Math.min(MAX_PAUSE_MS, Math.max(freshMs, firstPauseMs));
  let snapshot: Indexed | undefined;
  let lastFailure: Failure | undefined;
  let failuresInARow = 0;
  /** `takenAt` of the last snapshot from a peer, whose clock may be ahead. */
  let sharedAt = 0;
  const changeCheck = createChangeCheck(kind, options);
  let refreshing: Promise<Indexed> | undefined;
  /** When the request that is under way was made (milliseconds since 1970), or 0. It may still wait to be sent. */
  let requestedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** The failures that are already in the log and in the status. */
  const recorded = new WeakSet<UpstreamError>();

  function refresh(): Promise<Indexed> {
    refreshing ??= runRefresh().finally(() => {
      refreshing = undefined;
      // Each outcome schedules the next refresh. This is for an outcome that failed to.
      if (timer === undefined) schedule(maxPauseMs);
    });
    // Without a caller that waits, a failure must not be an unhandled rejection.
    refreshing.catch(() => {});
    return refreshing;
  }

  async function runRefresh(): Promise<Indexed> {
    let lease: RefreshLease<Row> | undefined;
    try {
      const leased = await peers.lease(name, kind, newestAt());
      if (leased.is === 'fetched') return await admit(leased.fetched, 'shared');
      if (leased.is === 'too early') throw backOff(leased);
      lease = leased;
      adoptPeerState(lease.peerFailure);
      requestedAt = Date.now();
      const { unreadable, ...fetched } = await fetch().finally(() => {
        requestedAt = 0;
      });
      if (!snapshot) checkFirstListing(kind, fetched, unreadable);
      const accepted = await admit(fetched, 'taken', lease, unreadable);
      lease.succeed(accepted);
      return accepted;
    } catch (error) {
      throw onError(error, lease);
    }
  }

  /**
   * Checks a listing, then indexes and publishes it or holds it back; indexing is the expensive part. A peer's listing
   * is checked, too: the peer may have had nothing to compare it with.
   */
  async function admit(
    fetched: Fetched<Row>,
    came: Came,
    lease?: RefreshLease<Row>,
    unreadable?: UnreadableRows,
  ): Promise<Indexed> {
    for (;;) {
      const served = snapshot;
      const findings = await changeCheck.examine(served, { ...fetched, unreadable });
      if (came !== 'taken' && snapshot && fetched.takenAt <= newestAt()) return snapshot;
      // A peer's snapshot may have been published during the check or the indexing: then check again.
      if (served !== snapshot) continue;
      const result = changeCheck.check(findings);
      if (!result.isAccepted) throw recordFailure(result.error, 'held_back', freshMs, lease, result.reasons);
      // Not reused below: it also tells how the listing differs from the served one.
      const indexed = await index(fetched, served);
      if (served !== snapshot) continue;
      if (result.change)
        log.warn({ listing: name }, `Taking the ${name} listing that was held back: ${result.change}`);
      return publish(indexed, came, findings);
    }
  }

  /** Records a failure, unless it is recorded already, and schedules the next attempt. */
  function onError(reason: unknown, lease?: RefreshLease<Row>): UpstreamError {
    if (reason instanceof UpstreamError && recorded.has(reason)) return reason;
    const error = reason instanceof UpstreamError ? reason : internalError(reason);
    const pauseMs = growingPause(firstPauseMs, maxPauseMs, failuresInARow++);
    return recordFailure(error, error.code, Math.max(pauseMs, error.retryAfterMs ?? 0), lease);
  }

  /** `takenAt` of the newest listing that is known here, accepted or not. */
  function newestAt(): number {
    return Math.max(snapshot?.takenAt ?? 0, sharedAt, changeCheck.heldBackAt);
  }

  /** Continues from a peer's failure, if it is newer than the served snapshot. */
  function adoptPeerState(failure: SharedFailure | undefined): void {
    if (!failure || failure.at <= (snapshot?.takenAt ?? 0)) return;
    failuresInARow = failure.failuresInARow;
    changeCheck.adoptPeerState(failure.heldBack);
  }

  function publish(accepted: Indexed, came: Came, findings: Findings<Row>): Indexed {
    changeCheck.remember(findings);
    logAccepted(log, kind, snapshot, accepted, came, findings.differences);
    const isFirst = snapshot === undefined;
    snapshot = accepted;
    failuresInARow = 0;
    if (came !== 'taken') listing.switchTo?.(accepted.source);
    if (came === 'shared') sharedAt = accepted.takenAt;
    if (came !== 'restored') {
      onRefresh?.(name, came, []);
      disk?.write(kind, { ...accepted, largest: changeCheck.largest(accepted.rows.length) });
    }
    peers.offer(name, kind, accepted);
    options.onPublished?.();
    // Age counts from the request, but a slow upstream is not asked again as soon as it has answered.
    const leastMs = isFirst && came !== 'taken' ? Math.min(LEAST_PAUSE_MS, freshMs) : freshMs / 2;
    schedule(Math.min(Math.max(freshMs - accepted.ageAt(Date.now()), leastMs), freshMs));
    return accepted;
  }

  function recordFailure(
    error: UpstreamError,
    outcome: string,
    pauseMs: number,
    lease?: RefreshLease<Row>,
    heldBackFor: readonly HoldBackReason[] = [],
  ): UpstreamError {
    const at = Date.now();
    const { code, message } = error;
    recorded.add(error);
    lastFailure = { error, at };
    if (stopped) {
      lease?.fail();
      return error;
    }
    const retryInMs = Math.round(Math.min(pauseMs, LONGEST_PAUSE_MS));
    onRefresh?.(name, outcome, heldBackFor);
    lease?.fail({ code, message, at, failuresInARow, heldBack: changeCheck.heldBack }, retryInMs);
    logRejected(log, kind, snapshot, error, retryInMs, heldBackFor);
    schedule(peers === NO_PEERS ? retryInMs : retryInMs + Math.min(STAND_BACK_MS, retryInMs / 2));
    return error;
  }

  /** Leaves the upstream alone after a peer's failure. */
  function backOff({ peerFailure, leftMs }: BackOff): UpstreamError {
    adoptPeerState(peerFailure);
    const { code, message, at } = peerFailure;
    const error = new UpstreamError(code, message, { retryAfterMs: leftMs });
    recorded.add(error);
    if (lastFailure?.at !== at) {
      lastFailure = { error, at };
      const facts = { listing: name, code, retryInMs: leftMs };
      log.info(facts, `Another gateway could not refresh the ${name} listing: ${message}`);
    }
    schedule(leftMs);
    return error;
  }

  async function onPeerUpdate(): Promise<void> {
    if (refreshing || stopped) return;
    try {
      const fetched = await peers.newest(name, kind, newestAt());
      if (fetched && fetched.takenAt > newestAt()) await admit(fetched, 'shared');
    } catch (error) {
      onError(error);
    }
  }
  peers.subscribe(name, onPeerUpdate);

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (stopped) return;
    timer = setTimeout(() => {
      timer = undefined;
      refresh();
    }, delayMs).unref();
  }

  return {
    /** Loads the listing that is on disk. Call it before `start`. */
    async restore(): Promise<void> {
      const fetched = await disk?.read(kind);
      if (!fetched) return;
      try {
        const { largest, ...stored } = fetched;
        if (largest) changeCheck.restore(largest);
        await admit(stored, 'restored');
      } catch (err) {
        log.error({ err, listing: name }, `The ${name} listing on disk cannot be used, and is fetched anew`);
      }
    },
    /** Starts refreshing. A failed refresh is repeated until one succeeds. */
    start(): void {
      if (snapshot) onPeerUpdate();
      else if (!refreshing && !timer) refresh();
    },
    /** Refreshes now, unless a refresh is under way. */
    refreshNow(): void {
      if (!stopped) refresh();
    },
    /** The snapshot that is served; undefined before the first. */
    get snapshot() {
      return snapshot;
    },
    /**
     * The snapshot that is served, or the first one, which is being fetched.
     *
     * @throws UpstreamError by rejection, at once, if there is none and the last refresh failed: clients do not
     *   make the next refresh come sooner
     */
    current(): Indexed | Promise<Indexed> {
      if (snapshot) return snapshot;
      // A retry may take long: clients do not wait for it.
      if (lastFailure) return Promise.reject(lastFailure.error);
      return refreshing ?? refresh();
    },
    /** The last failed refresh, even if a later one succeeded, or why the present one has to wait. */
    get lastFailure() {
      return (requestedAt && delayFailure(name, requestedAt, listing.delay?.())) || lastFailure;
    },
    /** Whether the upstream's last answer is held back, and an older snapshot served in its place. */
    get isHeldBack() {
      return changeCheck.heldBack !== undefined;
    },
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
