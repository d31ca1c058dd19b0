/** Refreshes one listing: fetch, check, guard, index, publish, store, share. Then it schedules the next refresh. */
import type { Config } from '../config/config.js';
import {
  type Fetched,
  type GuardedFact,
  type ListingRow,
  MAX_CLOCK_DIFFERENCE_MS,
  type Service,
  sentAtOf,
} from '../domain/listing.js';
import { type AcceptedBy, EMPTY_GUARD_MEMORY, type HeldRow } from '../domain/listing-memory.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { asUpstreamError, UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';
import { growingPause, LONGEST_PAUSE_MS, withJitter } from '../scheduling/growing-pause.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { createEarlierGateways } from './earlier-gateways.js';
import type { ListingState } from './freshness.js';
import { type GuardedListing, type GuardResult, heldBackIn } from './guard.js';
import { asSent } from './known-rows.js';
import {
  checkFirstListing,
  createListingCheck,
  HeldBackError,
  type HoldBackReason,
} from './listing-check.js';
import { withLaterPeriods, withRestartedPeriods } from './periods.js';
import { logHeldBackAndAccepted, logNewSnapshot, logRejected, type SnapshotOrigin } from './refresh-log.js';
import { isOlder, type Snapshot } from './snapshot.js';
import type { BackOff, DiskStore, Peers, RefreshLease, SharedFailure } from './stores.js';
import { withHigherVersion } from './token-list-state.js';

/** The metrics of listings and routes. */
export interface SnapshotMetrics {
  /** The outcome is `upstream`, `peer`, `older`, `held_back` (with reasons) or an error's code. */
  refresh(listing: string, outcome: string, heldBackFor?: readonly HoldBackReason[]): void;
  acceptedChange(listing: string, fact: GuardedFact, by: AcceptedBy): void;
  /** How many keys of an answer have several rows with different guarded facts. */
  contradictoryRows(listing: string, keys: number): void;
  /** How many rows of routes were left out because the token listing has other decimals. */
  conflictingRouteRows(count: number): void;
}

export interface RefreshOptions extends Config {
  readonly service: Service;
  readonly firstPauseMs?: number | undefined;
  readonly peers: Peers;
  readonly disk?: DiskStore | undefined;
  readonly metrics: SnapshotMetrics;
  readonly log: Logger;
}

/** The pause after a first failed refresh (ms): enough for a short fault. Each further failure in a row doubles it. */
const FIRST_PAUSE_MS = 1_000;
/**
 * A pause after a failed refresh (ms) is at most this long, and at most `freshMs` or the first pause, whichever is longer.
 * The error can ask for more.
 */
const MAX_PAUSE_MS = 30_000;
/**
 * The pause (ms) before the next refresh after a snapshot of a peer that has guarded for a shorter time than this gateway,
 * or of a service that gets no requests any more; and the shortest one after a first snapshot from a peer or from disk.
 */
const LEAST_PAUSE_MS = 100;

export interface RefresherOptions<Row, Indexed extends Snapshot<Row>> extends RefreshOptions {
  readonly kind: ListingKind<Row>;
  readonly fetch: () => Promise<Fetched<Row>>;
  /** Decides which rows may be served: see `guardListing`. */
  readonly guard: (sent: Fetched<Row>, before: Fetched<Row> | undefined) => Promise<GuardResult<Row>>;
  /** Indexes a listing without the rows that `rules` hide. */
  readonly index: (
    shown: Fetched<Row>,
    before: Indexed | undefined,
    rules: ResolvedRules,
  ) => Promise<Indexed>;
  readonly onPublished: () => void;
}

/** The status of one listing. */
export type ListingStatus = ReturnType<ReturnType<typeof createRefresher>['status']>;

/** Holds the last good snapshot of one listing, and refreshes it in the background, one refresh at a time. */
export function createRefresher<Row extends ListingRow, Indexed extends Snapshot<Row>>(
  options: RefresherOptions<Row, Indexed>,
) {
  const { kind, fetch, guard, index, service } = options;
  const { firstPauseMs = FIRST_PAUSE_MS, peers, disk, metrics, log } = options;
  const { name } = kind;
  const freshMs = options[`${name}FreshMs`];
  const maxPauseMs = Math.min(MAX_PAUSE_MS, Math.max(freshMs, firstPauseMs));
  const listingCheck = createListingCheck(kind, options.holdBackShrink, options.holdBackTimes);
  const earlierGateways = createEarlierGateways(kind, options);
  let snapshot: Indexed | undefined;
  /** The listing behind `snapshot`, with the rows that the operator hides; undefined before the first. */
  let guarded: GuardedListing<Row> | undefined;
  let heldBackCounts: ReturnType<typeof heldBackIn> = { rows: 0, facts: [] };
  /** The held-back facts of the present listing that were logged: a change of the rules does not log them again. */
  const loggedFacts = new Set<string>();
  let lastFailure: { readonly error: UpstreamError; readonly at: number } | undefined;
  let failuresInARow = 0;
  /** When the newest known listing, accepted or not, was requested (milliseconds since 1970). */
  let newestAt = 0;
  let refreshing: Promise<Indexed> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  /** Runs a refresh, or joins the one that is in progress. */
  function refresh(): Promise<Indexed> {
    refreshing ??= runRefresh().finally(() => {
      refreshing = undefined;
      // The refresh has scheduled the next one, unless an unexpected error prevented that.
      if (timer === undefined) schedule(maxPauseMs);
    });
    // If no caller waits, a failure must not become an unhandled rejection.
    refreshing.catch(() => {});
    return refreshing;
  }

  /** Corrects `newestAt` if the clock was set back: else the listings of peers would seem older for hours. */
  function newestByPresentClock(): number {
    const now = Date.now();
    if (snapshot && newestAt > now + MAX_CLOCK_DIFFERENCE_MS) newestAt = now - snapshot.ageAt(now);
    return newestAt;
  }

  async function runRefresh(): Promise<Indexed> {
    if (!guarded) await earlierGateways.readRows();
    const leased = await peers.lease(name, kind, newestByPresentClock());
    if (leased.is === 'too early') throw backOff(leased);
    try {
      if (leased.is === 'fetched') return await accept('peer', leased.fetched);
      adoptPeerState(leased.peerFailure);
      const fetched = await fetch();
      metrics.contradictoryRows(name, fetched.contradictory?.size ?? 0);
      const accepted = await accept('upstream', fetched);
      if (earlierGateways.mustAskAgain) leased.fail();
      else leased.succeed(stored(accepted));
      return accepted;
    } catch (error) {
      throw onError(error, leased.is === 'ours' ? leased : undefined);
    }
  }

  let lastAccept: Promise<unknown> = Promise.resolve();
  /**
   * Checks and serves a listing, one at a time, since each is compared with the one that is served.
   *
   * @param listing the new listing; undefined to guard the listing that is served again, with other rules or periods
   * @throws UpstreamError by rejection
   */
  function accept(origin: SnapshotOrigin, listing?: Fetched<Row>): Promise<Indexed> {
    const accepted = lastAccept.then(() => (listing ? acceptNew(origin, listing) : guardAgain()));
    lastAccept = accepted.catch(() => {});
    return accepted;
  }

  async function acceptNew(origin: SnapshotOrigin, fetched: Fetched<Row>): Promise<Indexed> {
    const [served, last] = [guarded, snapshot];
    if (last && isOlder(fetched, last.ageAt)) return keep(last, fetched);
    if (last && origin !== 'upstream' && sentAtOf(fetched) <= newestByPresentClock()) return last;
    if (!served && origin === 'upstream') checkFirstListing(kind, fetched);
    newestAt = Math.max(newestAt, sentAtOf(fetched));
    const sent = asSent(kind, fetched);
    const acceptedLoss = served && checkWholeListing(sent, served);
    listingCheck.remember(served, acceptedLoss !== undefined);
    const earlier = await listingOfEarlierGateways(origin, fetched);
    const before = earlier ?? (isFromSenior(origin, fetched) ? fetched : served);
    // The rows of an accepted loss no longer count as lost.
    const memory = { ...EMPTY_GUARD_MEMORY, ...before?.guard, lossAcceptedAt: fetched.takenAt };
    const continued = before && acceptedLoss ? { ...before, guard: memory } : before;
    loggedFacts.clear();
    const toGuard = earlier ? { ...sent, history: earlier.history } : sent;
    const indexed = await guardAndServe(origin, toGuard, continued, earlier);
    failuresInARow = 0;
    if (acceptedLoss)
      log.warn({ listing: name }, `The ${name} listing that was held back is accepted: ${acceptedLoss}`);
    if (origin === 'upstream' || origin === 'peer') metrics.refresh(name, origin);
    scheduleAfter(indexed, last === undefined && origin !== 'upstream');
    // The peer may serve values that are held back here: the listing of an early refresh corrects it.
    const beganAt = guarded?.guard.beganAt ?? 0;
    if (origin === 'peer' && beganAt < (fetched.guard?.beganAt ?? 0)) schedule(LEAST_PAUSE_MS);
    leaveOldService();
    return indexed;
  }

  function guardAgain(): Promise<Indexed> {
    // The history of the served listing is left out: it was made with the earlier rules.
    const again = { ...(guarded as GuardedListing<Row>), history: undefined };
    return guardAndServe('rules', asSent(kind, again), guarded);
  }

  /**
   * Guards the rows of a listing, indexes and serves it.
   *
   * @param before the listing whose memory is continued
   * @param earlier a listing of earlier gateways, whose history is continued in place of that of the served listing
   */
  async function guardAndServe(
    origin: SnapshotOrigin,
    sent: Fetched<Row>,
    before: Fetched<Row> | undefined,
    earlier?: Fetched<Row>,
  ): Promise<Indexed> {
    const last = snapshot;
    const result = await guard(sent, before);
    const { listing } = result;
    const { rules } = listing;
    const indexOf = (each: Fetched<Row>, previous?: Indexed) =>
      index({ ...each, rows: rules.select(each.rows) }, previous, rules);
    const indexed = await indexOf(listing, last && earlier ? await indexOf(earlier) : last);
    heldBackCounts = heldBackIn(kind, indexed.rows, listing);
    publish(listing, indexed, origin);
    logHeldBackAndAccepted(log, kind, result, metrics.acceptedChange, loggedFacts);
    logNewSnapshot(log, kind, last, indexed, origin, freshMs);
    options.onPublished();
    return indexed;
  }

  /**
   * Checks a whole listing.
   *
   * @returns a text about a large loss that is accepted now; undefined without one
   * @throws HeldBackError, after which hold-back periods that `sent` interrupts begin anew
   */
  function checkWholeListing(sent: Fetched<Row>, served: GuardedListing<Row>): string | undefined {
    try {
      return listingCheck.check(served, sent);
    } catch (error) {
      servePeriodsOf(served, withRestartedPeriods(kind, served, sent));
      throw error;
    }
  }

  /**
   * True if the memory of a peer's guard is at least as old as that of this gateway. Then it is continued, so that all
   * gateways agree. The first listing of a younger memory may have been compared with nothing.
   */
  const isFromSenior = (origin: SnapshotOrigin, { guard, takenAt }: Fetched<Row>) =>
    origin === 'peer' && guarded !== undefined && (guard?.beganAt || takenAt) <= guarded.guard.beganAt;

  /** The listing to compare a first one with, if there is one; undefined if the served listing was compared already. */
  async function listingOfEarlierGateways(origin: SnapshotOrigin, fetched: Fetched<Row>) {
    const isFromUpstream = origin === 'upstream';
    if (guarded && !(isFromUpstream && earlierGateways.mustAskAgain)) return undefined;
    const known = await earlierGateways.listing(isFromUpstream ? undefined : fetched);
    return known && { ...known, history: withHigherVersion(known.history, snapshot?.history.tokenList) };
  }

  /** Serves the snapshot, stores it on disk, and offers it to peers. */
  function publish(listing: GuardedListing<Row>, accepted: Indexed, origin: SnapshotOrigin): void {
    const before = snapshot?.history;
    guarded = listing;
    snapshot = accepted;
    earlierGateways.forgetRows();
    if (origin !== 'upstream') service.switchTo?.(accepted.source);
    if (origin === 'peer') service.forgetGone?.();
    const toStore = stored(accepted);
    // A new version of the token list is stored at once: the next start must not give this version to another list.
    const isStored = origin === 'disk' && toStore.history?.tokenList === listing.history?.tokenList;
    if (!isStored) disk?.write(kind, { ...toStore, largest: listingCheck.largest(toStore.rows.length) });
    const isRevised = origin === 'rules' && toStore.history?.tokenList !== before?.tokenList;
    if (!earlierGateways.mustAskAgain) peers.offer(name, kind, toStore, isRevised);
  }

  /** The listing as it is stored and shared: including the rows that the operator hides. */
  function stored(indexed: Indexed): Fetched<Row> {
    const { rows = indexed.rows, guard } = guarded ?? {};
    return { ...indexed, rows, guard };
  }

  /** Keeps the served snapshot, because the fetched listing is older. This does not count as a failure. */
  function keep(served: Indexed, fetched: Fetched<Row>): Indexed {
    newestAt = Math.max(newestAt, sentAtOf(fetched));
    failuresInARow = 0;
    const age = Math.floor((fetched.upstreamAgeMs ?? 0) / 1000);
    const text = `Kept the ${name} listing: the upstream's answer carries "Age: ${age}" and is older`;
    log.info({ listing: name, upstreamAgeSeconds: age }, text);
    metrics.refresh(name, 'older');
    schedule(freshMs);
    // Peers get the snapshot with the time of this request, so that they do not repeat the request.
    return { ...served, upstreamAgeMs: Math.max(0, sentAtOf(fetched) - served.takenAt) };
  }

  /**
   * Continues the peer's count of failures, its count of listings with missing rows, and its hold-back periods, if they
   * are newer than the served snapshot.
   */
  function adoptPeerState(failure: SharedFailure | undefined): void {
    if (!failure || (snapshot && failure.at <= sentAtOf(snapshot))) return;
    failuresInARow = failure.failuresInARow;
    listingCheck.adoptPeerState(failure.heldBack);
    const periods = new Map(failure.periods);
    // The clock of the peer may be ahead.
    const beganAt = ({ key }: HeldRow<Row>) => Math.min(periods.get(key) ?? 0, Date.now());
    // In its turn: a listing that is being checked now would bring back the earlier times.
    lastAccept = lastAccept.then(
      () => guarded && servePeriodsOf(guarded, withLaterPeriods(guarded, beganAt)),
    );
  }

  /** Records a failed refresh or a held-back listing, tells peers, and schedules the next attempt. */
  function onError(reason: unknown, lease?: RefreshLease<Row>): UpstreamError {
    const error = asUpstreamError(reason);
    const { code, message } = error;
    const heldBackFor = error instanceof HeldBackError ? error.reasons : undefined;
    const pauseMs = heldBackFor
      ? freshMs
      : withJitter(growingPause(firstPauseMs, maxPauseMs, failuresInARow++));
    const at = Date.now();
    lastFailure = { error, at };
    if (isStopped) {
      lease?.fail();
      return error;
    }
    const retryInMs = Math.round(Math.min(Math.max(pauseMs, error.retryAfterMs ?? 0), LONGEST_PAUSE_MS));
    metrics.refresh(name, heldBackFor ? 'held_back' : code, heldBackFor);
    const { pendingLoss: heldBack } = listingCheck;
    const periods = guarded?.guard.held.map(({ key, since }): [string, number] => [key, since]);
    lease?.fail({ code, message, at, failuresInARow, heldBack, periods }, retryInMs);
    logRejected(log, name, snapshot, service, error, retryInMs, heldBackFor);
    schedule(retryInMs);
    return error;
  }

  /** Adopts the failure of a peer, with its pause. @returns the error of the peer */
  function backOff({ peerFailure, leftMs }: BackOff): UpstreamError {
    adoptPeerState(peerFailure);
    const { code, message, at } = peerFailure;
    const error = new UpstreamError(code, message, { retryAfterMs: leftMs });
    if (lastFailure?.at !== at) {
      lastFailure = { error, at };
      const facts = { listing: name, code, retryInMs: leftMs };
      log.info(facts, `Another gateway could not refresh the ${name} listing: ${message}`);
    }
    schedule(leftMs);
    return error;
  }

  /** Replaces the served listing by one with other periods, and guards it again if they differ. */
  function servePeriodsOf(served: GuardedListing<Row>, changed: GuardedListing<Row>): void {
    guarded = changed;
    if (changed !== served) void applyRules();
  }

  /** Guards the served listing again: with the present rules, and with the present times of its held-back rows. */
  async function applyRules(): Promise<void> {
    if (guarded && !isStopped) await accept('rules').catch(onError);
  }

  /** Serves the newest listing of peers, if there is one that is not known yet. */
  async function adoptNewest(): Promise<void> {
    try {
      const fetched = await peers.newest(name, kind, newestByPresentClock());
      if (fetched) await accept('peer', fetched);
    } catch (error) {
      onError(error);
    }
  }

  async function onPeerUpdate(): Promise<void> {
    if (refreshing || isStopped) return;
    if (earlierGateways.mustAskAgain) refresh();
    else await adoptNewest();
  }

  /**
   * Schedules the next refresh `freshMs` after the request for this listing, but not earlier than in half of
   * `freshMs`: the answer may have been slow. After a first listing from a peer or from disk, it may be due
   * in `LEAST_PAUSE_MS`.
   */
  function scheduleAfter(accepted: Indexed, isFirstFromStore: boolean): void {
    const leastMs = isFirstFromStore ? Math.min(LEAST_PAUSE_MS, freshMs) : freshMs / 2;
    const sinceSentMs = accepted.ageAt(Date.now()) - (accepted.upstreamAgeMs ?? 0);
    schedule(Math.min(Math.max(freshMs - sinceSentMs, leastMs), freshMs));
  }

  /** Refreshes soon if a late answer or listing of the service before the failover is served. */
  function leaveOldService(): void {
    if (snapshot && snapshot.source !== service.source) schedule(LEAST_PAUSE_MS);
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(async () => {
      timer = undefined;
      // If a listing of a peer is being checked now, its acceptance schedules the next refresh.
      await lastAccept;
      if (!timer && !isStopped) refresh();
    }, delayMs).unref();
  }

  return {
    async restore(): Promise<void> {
      const fetched = await disk?.read(kind);
      // Until now, listings of peers are ignored: their history can be older than that on disk.
      peers.subscribe(name, onPeerUpdate);
      if (!fetched) return;
      try {
        const { largest, ...earlier } = fetched;
        if (largest) listingCheck.restore(largest);
        await accept('disk', earlier);
      } catch (err) {
        log.error({ err, listing: name }, `The ${name} listing on disk cannot be used, and is fetched anew`);
      }
    },
    start(): void {
      leaveOldService();
      if (snapshot) onPeerUpdate();
      else if (!refreshing && !timer) refresh();
    },
    refreshNow(): void {
      if (!isStopped) refresh();
    },
    /**
     * Refreshes for the operator. A Retry-After and the breaker still apply; with Redis also the shared pause after a
     * failure, except after UPSTREAM_GONE. Rejects with an UpstreamError.
     */
    async refreshOnRequest(): Promise<Indexed> {
      if (lastFailure?.error.code === 'UPSTREAM_GONE') await peers.endPause(name);
      return refresh();
    },
    get snapshot() {
      return snapshot;
    },
    /** Waits for the first snapshot, or gives the served one. Rejects with an UpstreamError. */
    async current(): Promise<Indexed> {
      if (snapshot) return snapshot;
      // The next refresh can be far away, and requests of clients do not make it run sooner.
      if (lastFailure) throw lastFailure.error;
      return refreshing ?? refresh();
    },
    applyRules,
    adoptNewest,
    get guarded() {
      return guarded;
    },
    /** The row that was last accepted at another upstream. Undefined once a listing is served: its memory has the row. */
    earlier: earlierGateways.row,
    /** Times are milliseconds since 1970. */
    status(now: number) {
      const ageMs = snapshot?.ageAt(now) ?? null;
      const state: ListingState = ageMs === null ? 'EMPTY' : ageMs > freshMs ? 'STALE' : 'FRESH';
      const { error, at = 0 } = lastFailure ?? {};
      return {
        name,
        /** The service that the snapshot is from; without a snapshot, the service that gets the requests now. */
        source: snapshot?.source ?? service.source,
        state,
        takenAt: snapshot?.takenAt ?? null,
        ageMs,
        rows: snapshot?.rows.length ?? 0,
        rejectedRows: snapshot?.rejected.count ?? 0,
        /** Listed rows with held-back facts, and new rows that wait, except those that wait to replace a listed row. */
        heldBackRows: heldBackCounts.rows,
        /** The held-back facts on which no `keep` rule decides. */
        openFacts: heldBackCounts.facts,
        version: snapshot?.digest ?? null,
        /** Whether a new listing is held back as a whole, so that an older snapshot is served. */
        isHeldBack: listingCheck.pendingLoss !== undefined,
        /** Whether the last refresh failed because the upstream says that it is gone. */
        isGone: failuresInARow > 0 && error?.code === 'UPSTREAM_GONE',
        /** The last failed refresh, even if a later one succeeded. */
        lastFailure: error ? { code: error.code, message: error.message, at } : null,
      };
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
