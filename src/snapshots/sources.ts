/** Finds the tokens with a route to a token: a sweep requests the routes from all bridgeable tokens, to invert them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenKey } from '../domain/addresses.js';
import { keyedRows } from '../domain/keyed-rows.js';
import { type RouteRequest, sentAtOf, type Token } from '../domain/listing.js';
import { asUpstreamError, UpstreamError } from '../domain/upstream-error.js';
import { growingPause, LONGEST_PAUSE_MS } from '../scheduling/growing-pause.js';
import { TOKENS } from '../upstream/listing-kinds.js';
import { decimalsOfRoutes, type RouteParts, type Routes, type RoutesOfToken } from './routes.js';
import type { TokenSnapshot } from './snapshot.js';

/** The sweep checks at least this often (ms) whether a token is due. */
const IDLE_MS = 1_000;
/** The shortest pause between two requests (ms), also after an answer of a peer, and the first pause after a failure. */
const LEAST_PAUSE_MS = 10;
/** The longest pause after a failure (ms), unless the error asks for more. */
const MAX_FAILURE_PAUSE_MS = 5_000;
/** After "gone", or HTTP 429 without Retry-After, the sweep stops this long (ms). Each further "gone" doubles it. */
const FIRST_STOP_MS = 60_000;

const NOTHING_YET =
  'The gateway has begun to ask for the routes of all tokens, and has no answer of the upstream yet. Try again in a few seconds.';

export type Sources = ReturnType<typeof createSources>;
export type TokenSources = ReturnType<Sources['sourcesOf']>;

/** Creates the sources. Nothing is requested before `start`. A sweep takes `intervalMs` milliseconds. */
export function createSources(intervalMs: number, parts: RouteParts) {
  const { service, tokens, baseline, log } = parts;
  const map = createRouteMap();
  /** By token: when its last request failed (milliseconds since 1970), and whether the request is repeated early. */
  const failures = new Map<string, { readonly at: number; readonly isRepeatedEarly: boolean }>();
  let lastError: UpstreamError | undefined;
  /** When the next token may be requested, on the monotonic clock. */
  let nextAt = 0;
  /**
   * Undefined while the sweep runs. `until` is when the stop ends, on the monotonic clock; infinite if the map is full.
   * The stop also ends if another service than `source` gets the requests.
   */
  let stop: { readonly until: number; readonly source: string } | undefined;
  let goneInARow = 0;
  let failedInARow = 0;
  let isClosed = false;

  /**
   * Of the bridgeable tokens that are due, finds the one whose last request was the longest ago. A failed request is
   * repeated once before the interval is over; after "gone", each failed one is.
   */
  function nextOf(bridgeable: readonly (readonly [key: string, token: Token])[]): Token | undefined {
    const now = Date.now();
    let due: Token | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const [key, token] of bridgeable) {
      const [known, failure] = [map.get(key), failures.get(key)];
      const askedAt = Math.max(known?.sentAt ?? 0, failure?.at ?? 0);
      // After the clock was set back, `askedAt` can be in the future. If it is a whole interval ahead, the token is due.
      const isDue = failure?.isRepeatedEarly || Math.abs(now - askedAt) >= intervalMs;
      if (!isDue || askedAt >= earliest) continue;
      earliest = askedAt;
      due = token;
    }
    return due;
  }

  const missingIn = (listed: TokenSnapshot) => bridgeableIn(listed).filter(([key]) => !map.get(key)).length;

  function stopFor(ms: number, reason: string, facts: object): void {
    stop = { until: performance.now() + ms, source: service.source };
    const howLong = Number.isFinite(ms) ? `for ${Math.ceil(ms / 1000)} seconds` : 'until a restart';
    const counts = { known: map.size, pairs: map.pairs };
    log.warn({ ...facts, ...counts }, `The sweep of routes stops ${howLong}; known routes stay. ${reason}`);
  }

  function onFailure(key: string, error: UpstreamError): void {
    const { code, status, detail, retryAfterMs, notSent, message } = error;
    lastError = error;
    if (notSent) {
      // Other requests go first, the upstream has asked for a pause, or a circuit breaker is open.
      nextAt = performance.now() + Math.min(retryAfterMs ?? MAX_FAILURE_PAUSE_MS, LONGEST_PAUSE_MS);
      return;
    }
    const pauseMs = growingPause(LEAST_PAUSE_MS, MAX_FAILURE_PAUSE_MS, failedInARow++);
    nextAt = Math.max(nextAt, performance.now() + pauseMs);
    const isGone = code === 'UPSTREAM_GONE';
    // A failed token is requested again after all others, so that one token that stays "gone" does not stop the sweep.
    if (status !== 429)
      failures.set(key, { at: Date.now(), isRepeatedEarly: isGone || !failures.get(key)?.isRepeatedEarly });
    if (isGone)
      stopFor(growingPause(FIRST_STOP_MS, LONGEST_PAUSE_MS, goneInARow++), message, { code, detail });
    else if (status === 429 || retryAfterMs)
      stopFor(Math.min(retryAfterMs ?? FIRST_STOP_MS, LONGEST_PAUSE_MS), message, { code, detail });
  }

  /**
   * Requests the routes from the next token, if one is due. The cache of routes passes the answer to `enter`, like all
   * answers. @returns the wait until the next step (ms)
   */
  async function step(by: Pick<Routes, 'askInBackground'>): Promise<number> {
    const listed = tokens();
    if (!listed) return IDLE_MS;
    const rows = keyedRows(listed.rows, TOKENS.keyOf);
    map.removeUnless((key) => rows.get(key)?.isBridgeable === true);
    for (const key of failures.keys()) if (!rows.has(key)) failures.delete(key);
    const now = performance.now();
    if (stop && (now >= stop.until || stop.source !== service.source)) stop = undefined;
    const waitMs = Math.max(nextAt, stop?.until ?? 0) - now;
    if (waitMs > 0) return waitMs;
    const bridgeable = bridgeableIn(listed);
    const due = nextOf(bridgeable);
    if (!due) return IDLE_MS;
    const request = { srcChainKey: due.chainKey, srcToken: due.address };
    nextAt = now + Math.max(LEAST_PAUSE_MS, intervalMs / bridgeable.length);
    try {
      if (!(await by.askInBackground(request, intervalMs))) nextAt = now + LEAST_PAUSE_MS;
    } catch (thrown) {
      if (isClosed) return IDLE_MS;
      const error = asUpstreamError(thrown);
      if (error !== thrown) log.error({ ...request, err: thrown }, 'Internal error while routes were swept');
      onFailure(TOKENS.keyOf(due), error);
    }
    return nextAt - performance.now();
  }

  return {
    /**
     * Enters an answer into the map, whether a client or the sweep has requested it. Ignores answers for tokens that are
     * not listed as bridgeable, since the sweep would never renew them, and all answers while the map is full.
     */
    enter({ srcChainKey, srcToken }: RouteRequest, answer: RoutesOfToken): void {
      const isFull = stop?.until === Number.POSITIVE_INFINITY && stop.source === service.source;
      if (isFull || srcChainKey === undefined) return;
      const token = tokens()?.byAddress(srcChainKey, srcToken);
      if (!token?.isBridgeable) return;
      const key = TOKENS.keyOf(token);
      failures.delete(key);
      goneInARow = 0;
      failedInARow = 0;
      if (!map.set(key, answer)) stopFor(Number.POSITIVE_INFINITY, 'The map of routes is full.', {});
    },
    async start(by: Pick<Routes, 'askInBackground'>): Promise<void> {
      // The wait is limited, because tokens can become due during it.
      const longestMs = Math.max(LEAST_PAUSE_MS, Math.min(IDLE_MS, intervalMs));
      while (!isClosed) {
        const waitMs = await step(by).catch((err: unknown) => {
          log.error({ err }, 'Internal error in the sweep of routes');
          return IDLE_MS;
        });
        await sleep(Math.max(0, Math.min(waitMs, longestMs)), undefined, { ref: false });
      }
    },
    /** The tokens that can be moved to one token, by the answers so far. @throws UpstreamError while there is no answer */
    sourcesOf(listed: TokenSnapshot, chainKey: string, address: string) {
      const isComplete = missingIn(listed) === 0;
      const asOf = map.oldestAt() ?? null;
      if (asOf === null && !isComplete)
        throw lastError ?? new UpstreamError('UPSTREAM_TIMEOUT', NOTHING_YET, { notSent: true });
      return {
        /** Whether the routes from every bridgeable token are known. Otherwise there may be more sources. */
        isComplete,
        /** `takenAt` of the oldest answer; null if there is no bridgeable token. */
        asOf,
        /** How many routes (pairs of source and destination) `rows` reads. */
        pairs: map.pairs,
        /** The bridgeable tokens with a route to this token, in the operator's order of chains. */
        rows(): readonly Token[] {
          const { rules } = listed;
          if (rules.hides({ chainKey, address })) return [];
          const rows = keyedRows(listed.rows, TOKENS.keyOf);
          const key = tokenKey(chainKey, address);
          const found = map
            .sourcesOf(key, decimalsOfRoutes(key, rows.get(key), listed, rules, baseline))
            .flatMap((source) => rows.get(source) ?? []);
          return rules.select(found.filter(({ isBridgeable }) => isBridgeable).sort(byPlace));
        },
        /** `takenAt` of the oldest answer for these sources; null without one. */
        oldestOf: (sources: readonly Token[]) => map.oldestAt(sources.map(TOKENS.keyOf)) ?? null,
      };
    },
    status() {
      const listed = tokens();
      const oldestAt = map.oldestAt();
      const ageMs = oldestAt === undefined ? undefined : Date.now() - oldestAt;
      const left = listed ? missingIn(listed) : 0;
      return { known: map.size, left, ageMs, intervalMs, isStopped: stop !== undefined };
    },
    close(): void {
      isClosed = true;
    },
  };
}

const bridgeableIn = ({ rows }: TokenSnapshot) =>
  [...keyedRows(rows, TOKENS.keyOf)].filter(([, { isBridgeable }]) => isBridgeable);

function byPlace(one: Token, other: Token): number {
  if (one.chainKey !== other.chainKey) return one.chainKey < other.chainKey ? -1 : 1;
  return one.address < other.address ? -1 : 1;
}

/** Limits on memory: about 8 MB for pairs of source and destination, and about as much for destinations. */
const MAX_PAIRS = 2_000_000;
const MAX_DESTINATIONS = 50_000;

/**
 * Creates the map of the last answer for each source token, by its key. Destinations are numbered, so that a pair takes
 * four bytes, and a scan of 800,000 pairs takes a millisecond. A number is never used again: every destination of any
 * answer so far counts towards the limit. Rows of one token with different decimals are different destinations.
 */
export function createRouteMap() {
  /** `sentAt`: when it was requested, in milliseconds since 1970, like `takenAt`. */
  type Answer = { readonly takenAt: number; readonly sentAt: number; readonly destinations: Uint32Array };
  const answers = new Map<string, Answer>();
  const numbers = new Map<string, number>();
  /** The name of a destination. Addresses have no spaces, so only names of this key begin with `${key} `. */
  const nameOf = (key: string, decimals: number | '') => `${key} ${decimals}`;
  return {
    pairs: 0,
    get size() {
      return answers.size;
    },
    get: (key: string): Pick<Answer, 'sentAt'> | undefined => answers.get(key),
    /** `takenAt` of the oldest of these answers, or of all; undefined without an answer. */
    oldestAt(keys: Iterable<string> = answers.keys()): number | undefined {
      let oldest = Number.POSITIVE_INFINITY;
      for (const key of keys) oldest = Math.min(oldest, answers.get(key)?.takenAt ?? oldest);
      return Number.isFinite(oldest) ? oldest : undefined;
    },
    /** Enters an answer, unless the known one was requested later. @returns false, with no change, if there is no room */
    set(key: string, fetched: RoutesOfToken): boolean {
      const known = answers.get(key);
      const sentAt = sentAtOf(fetched);
      // A known answer from the future is replaced: after a clock was set back, it would keep out all new answers.
      if (known && known.sentAt >= sentAt && known.sentAt <= Date.now()) return true;
      const rows = keyedRows(fetched.rows, TOKENS.keyOf);
      const names = Array.from(rows, ([destination, { decimals }]) => nameOf(destination, decimals));
      const added = names.filter((name) => !numbers.has(name));
      const pairs = this.pairs - (known?.destinations.length ?? 0) + names.length;
      if (pairs > MAX_PAIRS || numbers.size + added.length > MAX_DESTINATIONS) return false;
      for (const name of added) numbers.set(name, numbers.size);
      const destinations = Uint32Array.from(names, (name) => numbers.get(name) ?? 0);
      answers.set(key, { takenAt: fetched.takenAt, sentAt, destinations });
      this.pairs = pairs;
      return true;
    },
    removeUnless(isKept: (key: string) => boolean): void {
      for (const [key, { destinations }] of answers) {
        if (isKept(key)) continue;
        answers.delete(key);
        this.pairs -= destinations.length;
      }
    },
    /**
     * The keys of the source tokens with a route to this destination; with `decimals`, only to a row that has these.
     */
    sourcesOf(key: string, decimals: number | undefined): readonly string[] {
      const name = nameOf(key, decimals ?? '');
      const wanted = decimals === undefined ? [] : [numbers.get(name) ?? -1];
      if (decimals === undefined)
        for (const [each, number] of numbers) if (each.startsWith(name)) wanted.push(number);
      return wanted.flatMap((number) =>
        [...answers].flatMap(([source, { destinations }]) => (destinations.includes(number) ? [source] : [])),
      );
    },
  };
}
