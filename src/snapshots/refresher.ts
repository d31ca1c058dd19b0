/** One listing's refresh, from beginning to end: fetch, check, guard, index, publish, store, tell. */
import { type AcceptedBy, EMPTY_GUARD, type GuardRecord } from '../domain/guard-record.js';
import { type Fetched, type GuardedFact, type Listing, sentAtOf } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import { growingPause, withJitter } from '../scheduling/growing-pause.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { GuardedListing, GuardResult } from './changes/guard.js';
import {
  checkFirstListing,
  createListingCheck,
  HeldBackError,
  type HoldBackReason,
  type HoldBackRules,
} from './changes/listing-check.js';
import { asSent, heldBackIn, withKnownFacts } from './changes/unguarded.js';
import type { DiskStore } from './disk-store.js';
import {
  delayFailure,
  type Failure,
  FIRST_PAUSE_MS,
  internalError,
  LEAST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_PAUSE_MS,
  STAND_BACK_MS,
} from './failures.js';
import { type BackOff, NO_PEERS, type Peers, type RefreshLease, type SharedFailure } from './peers.js';
import { type Came, logAccepted, logGuarded, logOlder, logRejected } from './refresh-log.js';
import { isOlder, type Snapshot } from './snapshot.js';

/** What is counted of listings and routes. */
export interface SnapshotMetrics {
  /** The end of a refresh: `taken`, `shared`, `older`, `held_back` with the reasons, or an error's code. */
  refresh(listing: string, outcome: string, heldBackFor?: readonly HoldBackReason[]): void;
  /** A fact of a row whose change was accepted, and by whom. */
  acceptedChange(listing: string, fact: GuardedFact, by: AcceptedBy): void;
  /** The number of keys that an answer has more than once, with unequal guarded facts. */
  contradictoryRows(listing: string, keys: number): void;
  /** The number of routes that were left out because they disagree with the token listing. */
  conflictingRouteRows(count: number): void;
  /** The sweep has asked for a token: `ok`, or the code of the error. */
  readonly sweep: { asked(outcome: string): void };
}

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
  readonly metrics?: Partial<SnapshotMetrics> | undefined;
  readonly log: Logger;
}

export interface RefresherOptions<Row, Indexed extends Snapshot<Row>> extends RefreshOptions {
  readonly kind: ListingKind<Row>;
  /** Asks the upstream; rejects with an UpstreamError. */
  readonly fetch: () => Promise<Fetched<Row>>;
  /**
   * Decides which rows may be served.
   *
   * @param before the listing that is served; undefined for the first one
   * @param peer the listing as the gateway that shared it serves it
   */
  readonly guard: (
    sent: Fetched<Row>,
    before: Fetched<Row> | undefined,
    peer?: Fetched<Row>,
  ) => Promise<GuardResult<Row>>;
  /** The rows that the operator does not hide. */
  readonly select: (rows: readonly Row[], guard: GuardRecord<Row>) => readonly Row[];
  /** Makes a snapshot of the rows to serve. */
  readonly index: (fetched: Fetched<Row>, before: Indexed | undefined) => Indexed | Promise<Indexed>;
  /** The age after which a refresh runs. */
  readonly freshMs: number;
  /** Called after each new snapshot. */
  readonly onPublished?: () => void;
}

export type Refresher<Indexed extends Snapshot<Row>, Row = unknown> = ReturnType<
  typeof createRefresher<Row, Indexed>
>;

/** Holds the last good snapshot of one listing and refreshes it in the background, one refresh at a time. */
export function createRefresher<Row, Indexed extends Snapshot<Row>>(options: RefresherOptions<Row, Indexed>) {
  const { kind, fetch, guard, select, index, freshMs, listing: upstream } = options;
  const { firstPauseMs = FIRST_PAUSE_MS, peers = NO_PEERS, disk, metrics = {}, log } = options;
  const { name } = kind;
  const maxPauseMs = Math.min(MAX_PAUSE_MS, Math.max(freshMs, firstPauseMs));
  let snapshot: Indexed | undefined;
  let lastFailure: Failure | undefined;
  let failuresInARow = 0;
  /** When the last listing was requested that is from a peer, whose clock may be ahead, or that was not used. */
  let sharedAt = 0;
  const listingCheck = createListingCheck(kind, options);
  /** The listing that is served, before the operator's rules; undefined before the first. */
  let guarded: GuardedListing<Row> | undefined;
  let heldBack = heldBackIn(kind, [], { rows: [], guard: EMPTY_GUARD }, select);
  /** How often the operator's rules have changed. */
  let rulesChanges = 0;
  let refreshing: Promise<Indexed> | undefined;
  /** When the request that is under way was made (milliseconds since 1970), or 0. It may still wait to be sent. */
  let requestedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

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
    const leased = await peers.lease(name, kind, newestAt()).catch((error) => {
      throw onError(error);
    });
    if (leased.is === 'too early') throw backOff(leased);
    const lease = leased.is === 'ours' ? leased : undefined;
    try {
      if (leased.is === 'fetched') return await admit(leased.fetched, 'shared');
      adoptPeerState(leased.peerFailure);
      requestedAt = Date.now();
      const fetched = await fetch().finally(() => {
        requestedAt = 0;
      });
      metrics.contradictoryRows?.(name, fetched.contradictory?.size ?? 0);
      if (!guarded) checkFirstListing(kind, fetched);
      const accepted = await admit(fetched, 'taken');
      leased.succeed(stored(accepted));
      return accepted;
    } catch (error) {
      throw onError(error, lease);
    }
  }

  /**
   * Checks a listing, guards its rows, then indexes and publishes it. A listing of a peer or from disk is guarded as if
   * the upstream had sent it now: the peer may have had nothing to compare it with.
   *
   * @throws HeldBackError
   */
  async function admit(fetched: Fetched<Row>, came: Came): Promise<Indexed> {
    for (;;) {
      const served = guarded;
      const changes = rulesChanges;
      // Rules apply to what is served by now. Its history is that of other rules.
      const isAgain = served !== undefined && came === 'rules';
      const sent = isAgain ? { ...asSent(kind, served), history: undefined } : asSent(kind, fetched);
      if (snapshot && came !== 'rules') {
        if (isOlder(fetched, snapshot)) return keep(snapshot, fetched);
        if (came !== 'taken' && sentAtOf(fetched) <= newestAt()) return snapshot;
      }
      const acceptedLoss = served && !isAgain ? listingCheck.check(served, sent) : undefined;
      // A peer whose record began before ours knows better what was there first.
      const isSenior =
        came === 'shared' && (fetched.guard?.beganAt || fetched.takenAt) < (served?.guard.beganAt ?? 0);
      const own = isSenior ? undefined : served;
      // The first listing of a peer or from disk continues its own record.
      const before = own ?? (await firstKnown(came === 'taken' ? undefined : fetched));
      const result = await guard(sent, before, own && came === 'shared' ? fetched : undefined);
      const { takenAt, guard: record } = result.listing;
      const listing = acceptedLoss
        ? { ...result.listing, guard: { ...record, lossAcceptedAt: takenAt } }
        : result.listing;
      const indexed = await index({ ...listing, rows: select(listing.rows, listing.guard) }, snapshot);
      // A peer's snapshot may have been published meanwhile, or the rules may have changed: then check again.
      if (served !== guarded || changes !== rulesChanges) continue;
      if (acceptedLoss)
        log.warn({ listing: name }, `Taking the ${name} listing that was held back: ${acceptedLoss}`);
      if (came !== 'rules') listingCheck.remember(served, acceptedLoss !== undefined);
      logGuarded(log, kind, result, metrics.acceptedChange);
      return publish(listing, indexed, came);
    }
  }

  /** What a first listing is compared with. @param own the listing that is continued; undefined for a new one */
  async function firstKnown(own: Fetched<Row> | undefined): Promise<Fetched<Row> | undefined> {
    const found = [...((await disk?.readOthers(kind)) ?? []), ...(await peers.readOthers(name, kind))];
    const known = withKnownFacts(own, found);
    if (!known) return own;
    const { newest, rows } = known;
    const facts = { listing: name, source: newest.source, rows };
    log.info(facts, `The first ${name} listing is compared with what earlier gateways have served`);
    return known.listing;
  }

  /** The snapshot as it is stored and shared: with the rows that the operator hides. */
  function stored(indexed: Indexed): Fetched<Row> {
    const { rows = indexed.rows, guard } = guarded ?? {};
    const { source, takenAt, upstreamAgeMs, rejected, history } = indexed;
    return { source, takenAt, upstreamAgeMs, rejected, history, rows, guard };
  }

  /** When the newest listing that is known here was requested, accepted or not. */
  function newestAt(): number {
    return Math.max(snapshot ? sentAtOf(snapshot) : 0, sharedAt, listingCheck.heldBackAt);
  }

  /** Keeps the served snapshot, because the fetched listing is older. That is no failure of the upstream. */
  function keep(served: Indexed, fetched: Fetched<Row>): Indexed {
    sharedAt = sentAtOf(fetched);
    failuresInARow = 0;
    logOlder(log, kind, fetched);
    metrics.refresh?.(name, 'older');
    schedule(freshMs);
    // With the time of this request: peers do not repeat it.
    return { ...served, upstreamAgeMs: Math.max(0, sentAtOf(fetched) - served.takenAt) };
  }

  /** Continues from a peer's failure, if it is newer than the served snapshot. */
  function adoptPeerState(failure: SharedFailure | undefined): void {
    if (!failure || failure.at <= (snapshot ? sentAtOf(snapshot) : 0)) return;
    failuresInARow = failure.failuresInARow;
    listingCheck.adoptPeerState(failure.heldBack);
  }

  function publish(listing: GuardedListing<Row>, accepted: Indexed, came: Came): Indexed {
    logAccepted(log, kind, snapshot, accepted, came, freshMs);
    const isFirst = snapshot === undefined;
    guarded = listing;
    snapshot = accepted;
    heldBack = heldBackIn(kind, accepted.rows, listing, select);
    if (came !== 'rules') failuresInARow = 0;
    if (came !== 'taken') upstream.switchTo?.(accepted.source);
    if (came === 'shared') sharedAt = sentAtOf(accepted);
    if (came === 'taken' || came === 'shared') metrics.refresh?.(name, came);
    const record = stored(accepted);
    if (came !== 'restored')
      disk?.write(kind, { ...record, largest: listingCheck.largest(record.rows.length) });
    peers.offer(name, kind, record);
    options.onPublished?.();
    if (came === 'rules') return accepted;
    // The interval counts from the request, but a slow upstream is not asked again as soon as it has answered.
    const leastMs = isFirst && came !== 'taken' ? Math.min(LEAST_PAUSE_MS, freshMs) : freshMs / 2;
    const sinceSentMs = accepted.ageAt(Date.now()) - (accepted.upstreamAgeMs ?? 0);
    schedule(Math.min(Math.max(freshMs - sinceSentMs, leastMs), freshMs));
    return accepted;
  }

  /** Records that a refresh failed or is held back, and schedules the next one. */
  function onError(reason: unknown, lease?: RefreshLease<Row>): UpstreamError {
    const error = reason instanceof UpstreamError ? reason : internalError(reason);
    const isHeldBack = error instanceof HeldBackError;
    const { code, message } = error;
    const pauseMs = isHeldBack
      ? freshMs
      : withJitter(growingPause(firstPauseMs, maxPauseMs, failuresInARow++));
    const at = Date.now();
    lastFailure = { error, at };
    if (stopped) {
      lease?.fail();
      return error;
    }
    const retryInMs = Math.round(Math.min(Math.max(pauseMs, error.retryAfterMs ?? 0), LONGEST_PAUSE_MS));
    const heldBackFor = isHeldBack ? error.reasons : [];
    metrics.refresh?.(name, isHeldBack ? 'held_back' : code, heldBackFor);
    lease?.fail({ code, message, at, failuresInARow, heldBack: listingCheck.heldBack }, retryInMs);
    logRejected(log, kind, snapshot, error, retryInMs, heldBackFor);
    schedule(peers === NO_PEERS ? retryInMs : retryInMs + Math.min(STAND_BACK_MS, retryInMs / 2));
    return error;
  }

  /** Leaves the upstream alone after a peer's failure. */
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

  async function onPeerUpdate(): Promise<void> {
    if (refreshing || stopped) return;
    try {
      const fetched = await peers.newest(name, kind, newestAt());
      if (fetched && sentAtOf(fetched) > newestAt()) await admit(fetched, 'shared');
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
    freshMs,
    /** Loads the listing that is on disk. Call it before `start`. */
    async restore(): Promise<void> {
      const fetched = await disk?.read(kind);
      if (!fetched) return;
      try {
        const { largest, ...earlier } = fetched;
        if (largest) listingCheck.restore(largest);
        await admit(earlier, 'restored');
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
      return (requestedAt && delayFailure(name, requestedAt, upstream.delay?.())) || lastFailure;
    },
    /** Applies changed rules of the operator to the listing that is served. */
    async applyRules(): Promise<void> {
      rulesChanges++;
      if (!guarded || stopped) return;
      await admit(guarded, 'rules').catch(onError);
    },
    /** The listing that is served, before the operator's rules. */
    get guarded() {
      return guarded;
    },
    /** What is held back of the rows that are served. */
    get heldBack() {
      return heldBack;
    },
    /** Whether the upstream's last answer is held back, and an older snapshot served in its place. */
    get isHeldBack() {
      return listingCheck.heldBack !== undefined;
    },
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
