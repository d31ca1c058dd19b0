import type { Logger } from '../logger.js';
import { UpstreamError } from './errors.js';
import { ALONE, type Fleet, type Setback, type Turn } from './fleet.js';
import { createJudge, type HoldBackRules } from './hold-back.js';
import type { Kind } from './kinds.js';
import type { ListingSource, Taken } from './listing.js';
import { type Came, tellRefused, tellTaken } from './refresh-log.js';
import type { Snapshot } from './snapshot.js';
import type { DiskStore } from './store-disk.js';

/** What {@link createKeeper} takes. Times are in milliseconds. */
export interface KeeperOptions<Row, Kept extends Snapshot<Row>> {
  readonly kind: Kind<Row>;
  /** Asks the upstream; rejects with an UpstreamError. */
  readonly take: () => Promise<Taken<Row>>;
  /** Makes it ready to be served. */
  readonly index: (taken: Taken<Row>, before: Kept | undefined) => Kept | Promise<Kept>;
  /** The age after which a refresh runs. */
  readonly freshMs: number;
  /** The pause after a first failed refresh; each further one doubles it. */
  readonly firstPauseMs?: number;
  readonly rules: HoldBackRules;
  readonly fleet: Fleet;
  readonly disk: DiskStore | undefined;
  /** Called with the source of each snapshot that this process has not taken itself. */
  readonly onSource: (source: ListingSource) => void;
  /** Called at the end of each refresh: `taken`, `shared`, `held_back`, or an error's code. */
  readonly onRefresh: (outcome: string) => void;
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
  /** Takes up what was kept on disk. To be called before `start`. */
  restore(): Promise<void>;
  /** Starts refreshing; a failed refresh is repeated until one succeeds. */
  start(): void;
  /** Refreshes now, unless it does already. */
  hurry(): void;
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

const FIRST_PAUSE_MS = 1_000;
/** The longest pause after a failed refresh, where the listing is fresh for longer than that. */
const MAX_PAUSE_MS = 30_000;
/** However long the upstream asks to be left alone, it is asked again after this. */
const LONGEST_PAUSE_MS = 3_600_000;
/** Where gateways share, who has failed leaves the next try to the others by so much at most. */
const STAND_BACK_MS = 1_000;
/** What another shares is asked for anew no sooner than this. */
const LEAST_PAUSE_MS = 100;

type OurTurn<Row> = Extract<Turn<Row>, { is: 'ours' }>;
type TooEarly = Extract<Turn<never>, { is: 'too early' }>;

/** Makes the keeper of one listing. */
export function createKeeper<Row, Kept extends Snapshot<Row>>(
  options: KeeperOptions<Row, Kept>,
): Keeper<Kept> {
  const { kind, take, index, freshMs, rules, fleet, disk, onSource, onRefresh, log } = options;
  const { firstPauseMs = FIRST_PAUSE_MS } = options;
  const { name } = kind;
  const maxPauseMs = Math.min(MAX_PAUSE_MS, Math.max(freshMs, firstPauseMs));
  let snapshot: Kept | undefined;
  let lastFailure: Failure | undefined;
  let failuresInARow = 0;
  /** Of when the last snapshot was that another gateway took: its clock may be ahead of ours. */
  let sharedAt = 0;
  const judge = createJudge(kind, rules);
  let refreshing: Promise<Kept> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function refresh(): Promise<Kept> {
    refreshing ??= round().finally(() => {
      refreshing = undefined;
      // Every end of a round sets the time of the next; one that nobody foresaw must not be the last.
      if (timer === undefined) schedule(maxPauseMs);
    });
    // Whoever waits for it sees the failure; if nobody does, it is in the log and in the status.
    refreshing.catch((error) => {
      if (!(error instanceof UpstreamError))
        log.error({ err: error, listing: name }, 'A refresh met an error of our own');
    });
    return refreshing;
  }

  async function round(): Promise<Kept> {
    const turn = await fleet.turn(name, kind, newestAt());
    if (turn.is === 'taken') return weigh(await index(turn.taken, snapshot), 'shared');
    if (turn.is === 'too early') throw putOff(turn);
    learn(turn.setback);
    try {
      const kept = await index(await ask(turn), snapshot);
      weigh(kept, 'taken', turn);
      turn.succeed(kept);
      return kept;
    } catch (error) {
      // All that is foreseen has ended the turn.
      if (!(error instanceof UpstreamError)) turn.fail();
      throw error;
    }
  }

  async function ask(turn: OurTurn<Row>): Promise<Taken<Row>> {
    try {
      return await take();
    } catch (reason) {
      const error = reason instanceof UpstreamError ? reason : unusable(reason);
      const pauseMs = Math.min(firstPauseMs * 2 ** failuresInARow++, maxPauseMs) * (0.5 + Math.random() / 2);
      throw refuse(error, error.code, Math.max(pauseMs, error.retryAfterMs ?? 0), turn);
    }
  }

  /** Takes it or holds it back, by what is served here: whoever else has taken it may have had less to go by. */
  function weigh(kept: Kept, outcome: 'taken' | 'shared', turn?: OurTurn<Row>): Kept {
    const verdict = judge.weigh(snapshot, kept);
    if (!verdict.isTaken) throw refuse(verdict.error, 'held_back', freshMs, turn);
    if (verdict.change)
      log.warn({ listing: name }, `Taking the ${name} listing that was held back: ${verdict.change}`);
    return accept(kept, outcome);
  }

  /** Of when the newest is that is known here, taken or not (milliseconds since 1970). */
  function newestAt(): number {
    return Math.max(snapshot?.takenAt ?? 0, sharedAt, judge.heldBackAt);
  }

  /** Goes on from what others have met since the snapshot that is served. */
  function learn(setback: Setback | undefined): void {
    if (!setback || setback.at <= (snapshot?.takenAt ?? 0)) return;
    failuresInARow = setback.failuresInARow;
    judge.learn(setback.heldBack);
  }

  function accept(kept: Kept, came: Came): Kept {
    tellTaken(log, kind, snapshot, kept, came);
    const isFirst = snapshot === undefined;
    snapshot = kept;
    failuresInARow = 0;
    if (came !== 'taken') onSource(kept.source);
    if (came === 'shared') sharedAt = kept.takenAt;
    if (came !== 'restored') {
      onRefresh(came);
      disk?.write(kind, kept);
    }
    fleet.holds(name, kind, kept);
    // Age counts from when it was asked for; but a slow upstream is not asked again as soon as it has answered.
    const leastMs = isFirst && came !== 'taken' ? Math.min(LEAST_PAUSE_MS, freshMs) : freshMs / 2;
    schedule(Math.min(Math.max(freshMs - kept.ageAt(Date.now()), leastMs), freshMs));
    return kept;
  }

  function refuse(
    error: UpstreamError,
    outcome: string,
    pauseMs: number,
    turn?: OurTurn<Row>,
  ): UpstreamError {
    const at = Date.now();
    const { code, message } = error;
    lastFailure = { error, at };
    if (stopped) {
      turn?.fail();
      return error;
    }
    const retryInMs = Math.round(Math.min(pauseMs, LONGEST_PAUSE_MS));
    onRefresh(outcome);
    turn?.fail({ code, message, at, failuresInARow, heldBack: judge.heldBack }, retryInMs);
    tellRefused(log, kind, snapshot, error, retryInMs);
    schedule(fleet === ALONE ? retryInMs : retryInMs + Math.min(STAND_BACK_MS, retryInMs / 2));
    return error;
  }

  /** Leaves the upstream alone after a failure that another gateway has met. */
  function putOff({ setback, leftMs }: TooEarly): UpstreamError {
    learn(setback);
    const { code, message, at } = setback;
    const error = new UpstreamError(code, message, { retryAfterMs: leftMs });
    if (lastFailure?.at !== at) {
      lastFailure = { error, at };
      const facts = { listing: name, code, retryInMs: leftMs };
      log.info(facts, `Another gateway could not refresh the ${name} listing: ${message}`);
    }
    schedule(leftMs);
    return error;
  }

  async function hear(): Promise<void> {
    if (refreshing || stopped) return;
    try {
      const taken = await fleet.newest(name, kind, newestAt());
      if (!taken || taken.takenAt <= newestAt()) return;
      const kept = await index(taken, snapshot);
      if (kept.takenAt > newestAt()) weigh(kept, 'shared');
    } catch (err) {
      if (err instanceof UpstreamError) return;
      log.error({ err, listing: name }, 'What another gateway shares could not be taken');
    }
  }
  fleet.onNews(name, hear);

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
      const kept = await index(taken, undefined);
      if (!snapshot) accept(kept, 'restored');
    },
    start() {
      if (snapshot) hear();
      else if (!refreshing && !timer) refresh();
    },
    hurry() {
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
      return judge.heldBack !== undefined;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function unusable(cause: unknown): UpstreamError {
  return new UpstreamError('UPSTREAM_MALFORMED', "The upstream's answer cannot be used.", { cause });
}
