import type { Fetched, ListingSource, UnreadableRows } from '../domain/listing.js';
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
import { type Differences, NO_DIFFERENCES } from './changes/comparison.js';
import type { DiskStore } from './disk-store.js';
import { type Failure, internalError } from './failure.js';
import {
  FIRST_PAUSE_MS,
  growingPause,
  LEAST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_PAUSE_MS,
  STAND_BACK_MS,
} from './pauses.js';
import { NO_PEERS, type Peers, type SharedFailure, type Turn } from './peers.js';
import { type Came, logAccepted, logRejected } from './refresh-log.js';
import type { Snapshot } from './snapshot.js';

/** What {@link createRefresher} takes. Times are in milliseconds. */
export interface RefresherOptions<Row, Kept extends Snapshot<Row>> {
  readonly kind: ListingKind<Row>;
  /** Asks the upstream; rejects with an UpstreamError. */
  readonly fetch: () => Promise<Fetched<Row>>;
  /** Makes it ready to be served. */
  readonly index: (taken: Fetched<Row>, before: Kept | undefined) => Kept | Promise<Kept>;
  /** The age after which a refresh runs. */
  readonly freshMs: number;
  /** The pause after a first failed refresh; each further one doubles it. */
  readonly firstPauseMs?: number;
  readonly rules: HoldBackRules;
  readonly peers: Peers;
  readonly disk: DiskStore | undefined;
  /** Called with the source of each snapshot that this process has not taken itself. */
  readonly onSource: (source: ListingSource) => void;
  /** Called at the end of each refresh: `taken`, `shared`, `held_back` and for what, or an error's code. */
  readonly onRefresh: (outcome: string, heldBackFor: readonly HoldBackReason[]) => void;
  readonly log: Logger;
}

/** Keeps one listing at hand: the last good snapshot, refreshed behind the requests, one refresh at a time. */
export interface Refresher<Kept> {
  /** Takes up what was kept on disk. To be called before `start`. */
  restore(): Promise<void>;
  /** Starts refreshing; a failed refresh is repeated until one succeeds. */
  start(): void;
  /** Refreshes now, unless it does already. */
  refreshNow(): void;
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
  /** Whether the upstream's last answer is held back, and an older snapshot served in its place. */
  readonly isHeldBack: boolean;
  /** Ends the refreshing. */
  stop(): void;
}

type OurTurn<Row> = Extract<Turn<Row>, { is: 'ours' }>;
type TooEarly = Extract<Turn<never>, { is: 'too early' }>;

/** Makes the refresher of one listing. */
export function createRefresher<Row, Kept extends Snapshot<Row>>(
  options: RefresherOptions<Row, Kept>,
): Refresher<Kept> {
  const { kind, fetch, index, freshMs, rules, peers, disk, onSource, onRefresh, log } = options;
  const { firstPauseMs = FIRST_PAUSE_MS } = options;
  const { name } = kind;
  const maxPauseMs = Math.min(MAX_PAUSE_MS, Math.max(freshMs, firstPauseMs));
  let snapshot: Kept | undefined;
  let lastFailure: Failure | undefined;
  let failuresInARow = 0;
  /** Of when the last snapshot was that another gateway took: its clock may be ahead of ours. */
  let sharedAt = 0;
  const changeCheck = createChangeCheck(kind, rules);
  let refreshing: Promise<Kept> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** The failures that are in the log and in the status already. */
  const recorded = new WeakSet<UpstreamError>();

  function refresh(): Promise<Kept> {
    refreshing ??= runRefresh().finally(() => {
      refreshing = undefined;
      // Every end of a round sets the time of the next; one that nobody foresaw must not be the last.
      if (timer === undefined) schedule(maxPauseMs);
    });
    // Whoever waits for it sees the failure; if nobody does, it is in the log and in the status.
    refreshing.catch(() => {});
    return refreshing;
  }

  async function runRefresh(): Promise<Kept> {
    let turn: OurTurn<Row> | undefined;
    try {
      const found = await peers.turn(name, kind, newestAt());
      if (found.is === 'taken') return await admit(await index(found.taken, snapshot), 'shared');
      if (found.is === 'too early') throw backOff(found);
      turn = found;
      adoptPeerState(turn.setback);
      const { unreadable, ...taken } = await fetch();
      if (!snapshot) checkFirstListing(kind, taken, unreadable);
      const kept = await admit(await index(taken, snapshot), 'taken', turn, unreadable);
      turn.succeed(kept);
      return kept;
    } catch (error) {
      throw onError(error, turn);
    }
  }

  /** Takes it or holds it back, by what is served here: whoever else has taken it may have had less to go by. */
  async function admit(
    kept: Kept,
    outcome: 'taken' | 'shared',
    turn?: OurTurn<Row>,
    unreadable?: UnreadableRows,
  ): Promise<Kept> {
    const findings = await examine(kept, unreadable);
    if (outcome === 'shared' && snapshot && kept.takenAt <= snapshot.takenAt) return snapshot;
    const result = changeCheck.check(findings);
    if (!result.isAccepted) throw recordFailure(result.error, 'held_back', freshMs, turn, result.reasons);
    if (result.change)
      log.warn({ listing: name }, `Taking the ${name} listing that was held back: ${result.change}`);
    return publish(kept, outcome, findings.differences);
  }

  async function examine(kept: Kept, unreadable: UnreadableRows | undefined): Promise<Findings<Row>> {
    for (;;) {
      const findings = await changeCheck.examine(snapshot, { ...kept, unreadable });
      // Requests have had their turn meanwhile, and so may have had another snapshot.
      if (findings.served === snapshot) return findings;
    }
  }

  /** Records a failure, unless it is; one that nobody foresaw is told from the others only by the log. */
  function onError(reason: unknown, turn?: OurTurn<Row>): UpstreamError {
    if (reason instanceof UpstreamError && recorded.has(reason)) return reason;
    const error = reason instanceof UpstreamError ? reason : internalError(reason);
    const pauseMs = growingPause(firstPauseMs, maxPauseMs, failuresInARow++);
    return recordFailure(error, error.code, Math.max(pauseMs, error.retryAfterMs ?? 0), turn);
  }

  /** Of when the newest is that is known here, taken or not (milliseconds since 1970). */
  function newestAt(): number {
    return Math.max(snapshot?.takenAt ?? 0, sharedAt, changeCheck.heldBackAt);
  }

  /** Goes on from what others have met since the snapshot that is served. */
  function adoptPeerState(setback: SharedFailure | undefined): void {
    if (!setback || setback.at <= (snapshot?.takenAt ?? 0)) return;
    failuresInARow = setback.failuresInARow;
    changeCheck.adoptPeerState(setback.heldBack);
  }

  function publish(kept: Kept, came: Came, differences: Differences): Kept {
    logAccepted(log, kind, snapshot, kept, came, differences);
    const isFirst = snapshot === undefined;
    snapshot = kept;
    failuresInARow = 0;
    if (came !== 'taken') onSource(kept.source);
    if (came === 'shared') sharedAt = kept.takenAt;
    if (came !== 'restored') {
      onRefresh(came, []);
      disk?.write(kind, { ...kept, largest: changeCheck.largest(kept.rows.length) });
    }
    peers.holds(name, kind, kept);
    // Age counts from when it was asked for; but a slow upstream is not asked again as soon as it has answered.
    const leastMs = isFirst && came !== 'taken' ? Math.min(LEAST_PAUSE_MS, freshMs) : freshMs / 2;
    schedule(Math.min(Math.max(freshMs - kept.ageAt(Date.now()), leastMs), freshMs));
    return kept;
  }

  function recordFailure(
    error: UpstreamError,
    outcome: string,
    pauseMs: number,
    turn?: OurTurn<Row>,
    heldBackFor: readonly HoldBackReason[] = [],
  ): UpstreamError {
    const at = Date.now();
    const { code, message } = error;
    recorded.add(error);
    lastFailure = { error, at };
    if (stopped) {
      turn?.fail();
      return error;
    }
    const retryInMs = Math.round(Math.min(pauseMs, LONGEST_PAUSE_MS));
    onRefresh(outcome, heldBackFor);
    turn?.fail({ code, message, at, failuresInARow, heldBack: changeCheck.heldBack }, retryInMs);
    logRejected(log, kind, snapshot, error, retryInMs, heldBackFor);
    schedule(peers === NO_PEERS ? retryInMs : retryInMs + Math.min(STAND_BACK_MS, retryInMs / 2));
    return error;
  }

  /** Leaves the upstream alone after a failure that another gateway has met. */
  function backOff({ setback, leftMs }: TooEarly): UpstreamError {
    adoptPeerState(setback);
    const { code, message, at } = setback;
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
      const taken = await peers.newest(name, kind, newestAt());
      if (!taken || taken.takenAt <= newestAt()) return;
      const kept = await index(taken, snapshot);
      if (kept.takenAt > newestAt()) await admit(kept, 'shared');
    } catch (error) {
      onError(error);
    }
  }
  peers.onNews(name, onPeerUpdate);

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (stopped) return;
    timer = setTimeout(() => {
      timer = undefined;
      refresh();
    }, delayMs);
    timer.unref();
  }

  return {
    async restore() {
      const taken = await disk?.read(kind);
      if (!taken) return;
      try {
        const { largest, ...kept } = taken;
        if (largest) changeCheck.restore(largest);
        const indexed = await index(kept, undefined);
        if (!snapshot) publish(indexed, 'restored', NO_DIFFERENCES);
      } catch (err) {
        log.error({ err, listing: name }, `The kept ${name} listing cannot be used, and is fetched anew`);
      }
    },
    start() {
      if (snapshot) onPeerUpdate();
      else if (!refreshing && !timer) refresh();
    },
    refreshNow() {
      if (!stopped) refresh();
    },
    get snapshot() {
      return snapshot;
    },
    current() {
      if (snapshot) return snapshot;
      // A try that follows a failed one may take long: whoever asks is not to wait for it.
      if (lastFailure) return Promise.reject(lastFailure.error);
      return refreshing ?? refresh();
    },
    get lastFailure() {
      return lastFailure;
    },
    get isHeldBack() {
      return changeCheck.heldBack !== undefined;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
