/** Finds the tokens that can be moved to a token: a sweep requests the routes from all tokens, to invert them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenKey } from '../domain/addresses.js';
import { keyedRows } from '../domain/keyed-rows.js';
import {
  type Fetched,
  type RowsAge,
  type Service,
  sentAtOf,
  type Token,
  type TokenRequest,
} from '../domain/listing.js';
import { internalError, UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';
import { growingPause } from '../scheduling/growing-pause.js';
import { TOKENS } from '../upstream/listing-kinds.js';
import type { Routes } from './routes.js';
import type { TokenSnapshot } from './snapshot.js';

export interface SourcesOptions {
  readonly service: Pick<Service, 'source'>;
  readonly tokens: () => TokenSnapshot | undefined;
  /** The rows that the operator does not hide, in the operator's order of chains. */
  readonly select: (rows: readonly Token[]) => readonly Token[];
  /** Called after each request with `ok`, or with the code of the error. */
  readonly onAsked: (outcome: string) => void;
  readonly log: Logger;
}

/** The tokens that can be moved to one token, by the answers so far. Times are in milliseconds since 1970. */
export interface TokenSources {
  /** Whether the routes from every bridgeable token are known. Otherwise there may be more sources. */
  readonly isComplete: boolean;
  /** `takenAt` of the oldest answer; null if there is no bridgeable token. */
  readonly asOf: number | null;
  /** How many pairs of source and destination `rows` searches. */
  readonly pairs: number;
  /** The listed tokens with a route to it, in the operator's order of chains, then by chain key and address. */
  rows(): readonly Token[];
  /** `takenAt` of the oldest answer for these sources; null without one. */
  oldestOf(sources: readonly Token[]): number | null;
}

/** The state of the map of routes. */
export interface RouteMapState {
  /** How often the routes have changed. */
  readonly changes: number;
  /** How often an answer was entered or removed, which can change the time of the oldest one. */
  readonly answers: number;
}

/** How often the sweep checks whether a token is due, in milliseconds. */
const IDLE_MS = 1_000;
/** The shortest pause between the requests for two tokens, and the longest pause after failures. */
const LEAST_PAUSE_MS = 10;
const MAX_FAILURE_PAUSE_MS = 5_000;
/** How long the sweep stops after HTTP 429 without Retry-After, or "gone". Each further "gone" in a row doubles it. */
const FIRST_STOP_MS = 60_000;
const MAX_PAUSE_MS = 3_600_000;

const NOTHING_YET =
  'The gateway has begun to ask for the routes of all tokens, and has no answer of the upstream yet. Try again in a few seconds.';

type SweptRoutes = Pick<Routes, 'askInBackground'>;

export type Sources = ReturnType<typeof createSources>;

/** Creates the sources. Nothing is requested before `start`. A sweep takes `intervalMs` milliseconds. */
export function createSources(intervalMs: number, options: SourcesOptions) {
  const { service, tokens, select, onAsked, log } = options;
  const map = new RouteMap();
  /** By token: when its last request failed (milliseconds since 1970), and whether the request is repeated early. */
  const failures = new Map<string, { readonly at: number; readonly isFirst: boolean }>();
  let lastError: UpstreamError | undefined;
  /** When the next token may be requested, on the monotonic clock. */
  let nextAt = 0;
  /** Set while the sweep is stopped: until when (monotonic clock; infinite if the map is full), and at which service. */
  let stop: { readonly until: number; readonly source: string } | undefined;
  let goneInARow = 0;
  let failedInARow = 0;
  let hasBegun = false;
  let wasComplete = false;
  let isClosed = false;

  /**
   * Finds the bridgeable token to request now, if one is due: the token whose last request is the longest ago. Counts
   * all bridgeable tokens, and those without an answer. A failed request is repeated once within the interval; a request
   * that was answered with "gone" is repeated each time.
   */
  function survey({ rows }: TokenSnapshot) {
    const now = Date.now();
    let due: Token | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    let count = 0;
    let missing = 0;
    for (const [key, row] of keyedRows(rows, TOKENS.keyOf)) {
      if (!row.isBridgeable) continue;
      count++;
      const [known, failure] = [map.get(key), failures.get(key)];
      if (!known) missing++;
      const askedAt = Math.max(known?.sentAt ?? 0, failure?.at ?? 0);
      // If the clock was set back, `askedAt` can be in the future. The difference counts as passed time then, too.
      const isDue = failure?.isFirst || Math.abs(now - askedAt) >= intervalMs;
      if (!isDue || askedAt >= earliest) continue;
      earliest = askedAt;
      due = row;
    }
    return { due, count, missing };
  }

  function stopFor(ms: number, reason: string, facts: object): void {
    stop = { until: performance.now() + ms, source: service.source };
    const howLong = Number.isFinite(ms) ? `for ${Math.ceil(ms / 1000)} seconds` : 'until a restart';
    const counts = { known: map.size, pairs: map.pairs };
    log.warn({ ...facts, ...counts }, `The sweep of routes stops ${howLong}; what is known stays. ${reason}`);
  }

  /** Requests the routes from a token. The cache of routes passes the answer to `enter`, like all answers. */
  async function ask(token: Token, by: SweptRoutes, pauseMs: number): Promise<void> {
    const request = { srcChainKey: token.chainKey, srcToken: token.address };
    const from = performance.now();
    nextAt = from + Math.max(LEAST_PAUSE_MS, pauseMs);
    try {
      if (await by.askInBackground(request, intervalMs)) onAsked('ok');
      else nextAt = from + LEAST_PAUSE_MS;
    } catch (thrown) {
      if (isClosed) return;
      const isKnown = thrown instanceof UpstreamError;
      if (!isKnown) log.error({ ...request, err: thrown }, 'Internal error while routes were swept');
      onFailure(request, TOKENS.keyOf(token), isKnown ? thrown : internalError(thrown));
    }
  }

  function onFailure(request: TokenRequest, key: string, error: UpstreamError): void {
    const { code, status, detail, retryAfterMs, notSent, message } = error;
    lastError = error;
    if (notSent) {
      // Other requests go first, the upstream has asked for a pause, or a circuit breaker is open.
      nextAt = performance.now() + Math.min(retryAfterMs ?? MAX_FAILURE_PAUSE_MS, MAX_PAUSE_MS);
      return;
    }
    onAsked(code);
    const pauseMs = growingPause(LEAST_PAUSE_MS, MAX_FAILURE_PAUSE_MS, failedInARow++);
    nextAt = Math.max(nextAt, performance.now() + pauseMs);
    const isGone = code === 'UPSTREAM_GONE';
    if (status !== 429) {
      // A failed token is requested after all others, so that one token that is always "gone" does not stop the sweep.
      failures.set(key, { at: Date.now(), isFirst: isGone || !failures.get(key)?.isFirst });
      log.debug({ ...request, code, detail }, 'The sweep could not fetch the routes of a token');
    }
    if (isGone) stopFor(growingPause(FIRST_STOP_MS, MAX_PAUSE_MS, goneInARow++), message, { code, detail });
    else if (status === 429 || retryAfterMs)
      stopFor(Math.min(retryAfterMs ?? FIRST_STOP_MS, MAX_PAUSE_MS), message, { code, detail });
  }

  /** Requests the routes from the next token that is due, if one is. @returns the wait until the next step (ms) */
  async function step(by: SweptRoutes): Promise<number> {
    const listed = tokens();
    if (!listed) return IDLE_MS;
    const rows = keyedRows(listed.rows, TOKENS.keyOf);
    map.removeUnless((key) => rows.get(key)?.isBridgeable === true);
    for (const key of failures.keys()) if (!rows.has(key)) failures.delete(key);
    const now = performance.now();
    if (stop && (now >= stop.until || stop.source !== service.source)) stop = undefined;
    const waitMs = Math.max(nextAt, stop?.until ?? 0) - now;
    if (waitMs > 0) return waitMs;
    const { due, count } = survey(listed);
    if (!due) return IDLE_MS;
    if (!hasBegun)
      log.info({ tokens: count, intervalMs }, 'A sweep of the routes of all bridgeable tokens begins');
    hasBegun = true;
    await ask(due, by, intervalMs / count);
    if (!wasComplete && survey(listed).missing === 0) {
      wasComplete = true;
      log.info({ known: map.size, pairs: map.pairs }, 'The routes of all bridgeable tokens are known');
    }
    return nextAt - performance.now();
  }

  return {
    /**
     * Enters an answer into the map, whether a client or the sweep has requested it. Ignores answers for
     * tokens that are not listed as bridgeable, and all answers once the map was full.
     */
    enter({ srcChainKey, srcToken }: TokenRequest, fetched: Fetched<Token>): void {
      const isFull = stop?.until === Number.POSITIVE_INFINITY && stop.source === service.source;
      if (isFull || srcChainKey === undefined || srcToken === undefined) return;
      const token = tokens()?.byAddress(srcChainKey, srcToken);
      // The sweep requests only bridgeable tokens, so the answers of other tokens would never be renewed.
      if (!token?.isBridgeable) return;
      const key = TOKENS.keyOf(token);
      failures.delete(key);
      goneInARow = 0;
      failedInARow = 0;
      if (!map.set(key, fetched, keyedRows(fetched.rows, TOKENS.keyOf)))
        stopFor(Number.POSITIVE_INFINITY, 'The map of routes is full.', {});
    },
    /** Sweeps until `close`. */
    async start(by: SweptRoutes): Promise<void> {
      while (!isClosed) {
        const waitMs = await step(by).catch((err: unknown) => {
          log.error({ err }, 'Internal error in the sweep of routes');
          return IDLE_MS;
        });
        // The wait is limited, because tokens can become due during it.
        const longestMs = Math.max(LEAST_PAUSE_MS, Math.min(IDLE_MS, intervalMs));
        await sleep(Math.max(0, Math.min(waitMs, longestMs)), undefined, { ref: false });
      }
    },
    state: (): RouteMapState => ({ changes: map.changeCount, answers: map.answerCount }),
    /** @throws UpstreamError while there is no answer: the error of the last failed request, if any */
    sourcesOf(listed: TokenSnapshot, chainKey: string, address: string): TokenSources {
      const isComplete = survey(listed).missing === 0;
      const asOf = map.oldestAt() ?? null;
      if (asOf === null && !isComplete)
        throw lastError ?? new UpstreamError('UPSTREAM_TIMEOUT', NOTHING_YET, { notSent: true });
      return {
        isComplete,
        asOf,
        pairs: map.pairs,
        rows() {
          const rows = keyedRows(listed.rows, TOKENS.keyOf);
          // A route counts only if it has the decimals of the listed token, as when clients ask for destinations.
          const { decimals } = listed.byAddress(chainKey, address) ?? {};
          const found = map
            .sourcesOf(tokenKey(chainKey, address), decimals)
            .flatMap((key) => rows.get(key) ?? []);
          return select(found.filter(({ isBridgeable }) => isBridgeable).sort(byPlace));
        },
        oldestOf: (sources) => map.oldestAt(sources.map(TOKENS.keyOf)) ?? null,
      };
    },
    /** How many bridgeable tokens have an answer (`known`) or none (`left`), and the age of the oldest answer. */
    status() {
      const listed = tokens();
      const { size: known, pairs } = map;
      const oldestAt = map.oldestAt();
      const ageMs = oldestAt === undefined ? undefined : Date.now() - oldestAt;
      const left = listed ? survey(listed).missing : 0;
      return { known, left, pairs, ageMs, intervalMs, isStopped: stop !== undefined };
    },
    close(): void {
      isClosed = true;
    },
  };
}

function byPlace(one: Token, other: Token): number {
  if (one.chainKey !== other.chainKey) return one.chainKey < other.chainKey ? -1 : 1;
  return one.address < other.address ? -1 : 1;
}

/** Bounds on memory: 8 MB for the pairs of source and destination, and about the same for all destinations ever known. */
const LIMITS = { pairs: 2_000_000, destinations: 50_000 };

/** Times are in milliseconds since 1970. */
interface Answer {
  readonly takenAt: number;
  /** When it was requested. */
  readonly sentAt: number;
  /** The numbers of its destinations. */
  readonly destinations: Uint32Array;
}

/**
 * The last answer for each source token, by its key. Destinations are numbered, so that a pair takes four bytes, and a
 * scan of 800,000 pairs a millisecond. Rows of one token with different decimals are different destinations.
 */
export class RouteMap {
  private readonly answers = new Map<string, Answer>();
  private readonly numbers = new Map<string, number>();
  pairs = 0;
  /** How often a source token was added or removed, or its destinations or their order changed. */
  changeCount = 0;
  /** How many answers were entered or removed, even if the routes stayed the same. */
  answerCount = 0;

  constructor(private readonly limits = LIMITS) {}

  /** How many source tokens have an answer. */
  get size(): number {
    return this.answers.size;
  }

  get(key: string): Pick<Answer, 'sentAt'> | undefined {
    return this.answers.get(key);
  }

  /** `takenAt` of the oldest of these answers (milliseconds since 1970); undefined without an answer. */
  oldestAt(keys: Iterable<string> = this.answers.keys()): number | undefined {
    let oldest: number | undefined;
    for (const key of keys) {
      const { takenAt } = this.answers.get(key) ?? {};
      if (takenAt !== undefined && takenAt < (oldest ?? Number.POSITIVE_INFINITY)) oldest = takenAt;
    }
    return oldest;
  }

  /**
   * Enters the answer for a source token, unless a known one was requested later.
   *
   * @param rows the destinations, by key
   * @returns false if it does not fit within the limits; the map is unchanged then
   */
  set(key: string, age: RowsAge, rows: ReadonlyMap<string, Pick<Token, 'decimals'>>): boolean {
    const known = this.answers.get(key);
    const sentAt = sentAtOf(age);
    // A known answer from the future does not count: after a clock was set back it would keep out all new answers.
    if (known && known.sentAt >= sentAt && known.sentAt <= Date.now()) return true;
    const before = known?.destinations ?? new Uint32Array(0);
    const pairs = this.pairs - before.length + rows.size;
    const names = Array.from(rows, ([destination, { decimals }]) => nameOf(destination, decimals));
    const added = names.filter((name) => !this.numbers.has(name));
    if (pairs > this.limits.pairs || this.numbers.size + added.length > this.limits.destinations)
      return false;
    for (const name of added) this.numbers.set(name, this.numbers.size);
    const destinations = Uint32Array.from(names, (name) => this.numbers.get(name) ?? 0);
    this.answers.set(key, { takenAt: age.takenAt, sentAt, destinations });
    this.pairs = pairs;
    this.answerCount++;
    if (!known || String(before) !== String(destinations)) this.changeCount++;
    return true;
  }

  removeUnless(isKept: (key: string) => boolean): void {
    for (const [key, { destinations }] of this.answers) {
      if (isKept(key)) continue;
      this.answers.delete(key);
      this.pairs -= destinations.length;
      this.changeCount++;
      this.answerCount++;
    }
  }

  /** The keys of the source tokens with a route to this destination: to a row with these decimals, if given. */
  sourcesOf(key: string, decimals: number | undefined): readonly string[] {
    const name = nameOf(key, decimals ?? '');
    const numbers =
      decimals === undefined
        ? [...this.numbers].flatMap(([each, number]) => (each.startsWith(name) ? [number] : []))
        : [this.numbers.get(name) ?? -1];
    const answers = [...this.answers];
    return numbers.flatMap((number) =>
      answers.flatMap(([source, { destinations }]) => (destinations.includes(number) ? [source] : [])),
    );
  }
}

/** The name of a destination. An address has no space: so only names of this key begin with `key` and a space. */
function nameOf(key: string, decimals: number | ''): string {
  return `${key} ${decimals}`;
}
