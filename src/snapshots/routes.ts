/** The cache of routes, and the functions that make the rows of routes agree with the token listing. */
import { LRUCache } from 'lru-cache';
import { rowName } from '../domain/addresses.js';
import { fingerprint } from '../domain/digests.js';
import { GatewayError } from '../domain/errors.js';
import { keyedRows } from '../domain/keyed-rows.js';
import {
  type Fetched,
  type RouteClient,
  type RouteClients,
  type RouteRequest,
  type Service,
  sentAtOf,
  type Token,
} from '../domain/listing.js';
import type { GuardMemory } from '../domain/listing-memory.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { memoized } from '../domain/memoized.js';
import { causedByClient, UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';
import { LONGEST_PAUSE_MS } from '../scheduling/growing-pause.js';
import { ROUTES, TOKENS } from '../upstream/listing-kinds.js';
import { mediansBySymbol, withComparedPrice } from './cross-checks.js';
import type { FreshMs } from './freshness.js';
import type { SnapshotMetrics } from './refresher.js';
import type { Baseline } from './row-guard.js';
import { agingFrom, isOlder, type TokenSnapshot } from './snapshot.js';
import type { Peers } from './stores.js';

/** The parts that the cache of routes, the sweep, and the routes of each operation share. */
export interface RouteParts {
  readonly service: Service;
  readonly peers: Peers;
  readonly freshMs: FreshMs;
  /** The token listing that is served now. */
  readonly tokens: () => TokenSnapshot | undefined;
  /** The operator's rules that apply to routes beside this token listing. */
  readonly rulesOf: (tokens: TokenSnapshot | undefined) => ResolvedRules;
  readonly baseline: Baseline;
  /** The hold-back period in milliseconds. */
  readonly holdBackMs: number;
  /** Before the first token listing: the row that was last accepted at another upstream. */
  readonly earlier: (key: string) => Token | undefined;
  readonly metrics: SnapshotMetrics;
  readonly log: Logger;
}

export interface RouteAnswer {
  readonly rows: readonly Token[];
  /** When the request was sent, minus the age of the answer, as in snapshots. Infinite without an answer. */
  readonly takenAt: number;
  /** The age of the answer, as in snapshots. Absent if there is no answer of the upstream. */
  readonly ageAt?: (now: number) => number;
  /** Set if there are no rows, and the token that the routes start from is not listed or is hidden. */
  readonly isUnlisted?: true;
}

/** An answer to a request for routes, as the sweep notes it. */
export type RoutesOfToken = Pick<Fetched<Token>, 'takenAt' | 'upstreamAgeMs' | 'rows'>;

/** The longest wait for a peer that fetches the same routes, in milliseconds. */
const MAX_WAIT_MS = 2_000;
/** The limit on the estimated size of the cache: about 40,000 tokens. */
const MAX_BYTES = 24 * 2 ** 20;
/** The estimated bytes of a token with short texts, and of an entry without its key and tokens. */
const TOKEN_BYTES = 600;
const ENTRY_BYTES = 2000;
/** An answer that is larger than the cache counts as if it filled the cache: then it is cached, alone. */
const sizeOf = ({ rows }: RouteAnswer, key: string) => {
  const texts = rows.reduce((length, { symbol, name }) => length + symbol.length + name.length, 0);
  return Math.min(MAX_BYTES, ENTRY_BYTES + TOKEN_BYTES * rows.length + 2 * (key.length + texts));
};

/** After a failed request, and its retries, the same routes are not requested for at least this time (milliseconds). */
const FAILURE_PAUSE_MS = 5_000;
/** At most this many failures are remembered. */
const MAX_FAILURES = 1_000;

/** A smaller difference (ms) does not show that a clock was set back: the two clocks of a machine drift apart. */
const SET_BACK_MS = 1_000;

/** The key of a request as it is sent, because the upstream may compare addresses exactly. */
const keyOf = ({ srcChainKey, srcToken }: RouteRequest) => JSON.stringify([srcChainKey ?? null, srcToken]);

/** A request in progress. All clients that ask for the same routes share it. */
interface Asked {
  readonly clients: ReturnType<typeof createRouteClients>;
  readonly answer: Promise<{ readonly routes: RouteAnswer; readonly isFromPeer: boolean }>;
}

export type Routes = ReturnType<typeof createRoutes>;

/**
 * Creates a bounded cache of routes. All operations share one.
 *
 * @param onAnswer called with each new answer
 */
export function createRoutes(
  parts: RouteParts,
  onAnswer: ((request: RouteRequest, answer: RoutesOfToken) => void) | undefined,
) {
  const { service, peers, log } = parts;
  const freshMs = parts.freshMs.routes;
  /** The last failure of each request, as long as the request must not be repeated. */
  const failures = new LRUCache<string, UpstreamError>({ max: MAX_FAILURES, ttl: FAILURE_PAUSE_MS });
  const inProgress = new Map<string, Asked>();
  const cache = new LRUCache<string, RouteAnswer>({
    maxSize: MAX_BYTES,
    sizeCalculation: sizeOf,
    ttl: freshMs,
    // Routes that are no longer fresh stay: they are served if the upstream fails.
    noDeleteOnStaleGet: true,
  });

  /** Joins the request for these routes that is in progress, or begins a new one. */
  function ask(request: RouteRequest, client: RouteClient, isListed: boolean, maxAgeMs: number) {
    const key = keyOf(request);
    let asked = inProgress.get(key);
    if (!asked) {
      const clients = createRouteClients(isListed, client);
      const answer = answerTo(key, request, clients, maxAgeMs).finally(() => inProgress.delete(key));
      asked = { clients, answer };
      inProgress.set(key, asked);
    } else asked.clients.join(client);
    return asked.answer;
  }

  async function answerTo(key: string, request: RouteRequest, clients: RouteClients, maxAgeMs: number) {
    try {
      const { fetched, isFromPeer } = await fetchOnce(key, request, clients, maxAgeMs);
      return { routes: received(key, request, fetched, clients.isForSweepOnly), isFromPeer };
    } catch (error) {
      // The client has to change an unsupported request, so it must get the error and not old routes.
      const isUnsupported = error instanceof GatewayError && error.code === 'BAD_USER_INPUT';
      if (clients.isForSweepOnly || isUnsupported) throw error;
      noteFailure(key, request, error);
      const routes = oldRoutes(key);
      if (routes) return { routes, isFromPeer: false };
      throw error;
    }
  }

  /** Fetches routes from a peer, if they are not older than `maxAgeMs`, or from the upstream. */
  async function fetchOnce(key: string, request: RouteRequest, clients: RouteClients, maxAgeMs: number) {
    const topic = `route:${fingerprint(key)}`;
    const lease = await peers.lease(topic, ROUTES, Date.now() - maxAgeMs, MAX_WAIT_MS);
    if (lease.is === 'fetched') return { fetched: lease.fetched, isFromPeer: true };
    try {
      const fetched = await service.routes(request, clients);
      if (lease.is === 'ours') lease.succeed(fetched, freshMs);
      return { fetched, isFromPeer: false };
    } catch (error) {
      // The failure is not shared, because a peer may succeed.
      if (lease.is === 'ours') lease.fail();
      throw error;
    }
  }

  /** Notes a new answer, and caches it until `freshMs` after its request was sent, even if a peer sent the request. */
  function received(key: string, request: RouteRequest, fetched: Fetched<Token>, isForSweepOnly: boolean) {
    const { rows, rejected, takenAt } = fetched;
    failures.delete(key);
    const known = cache.peek(key, { allowStale: true });
    // If a cache of the upstream gave an older answer, the cached routes stay. They count as requested now.
    const isKept = known?.ageAt !== undefined && isOlder(fetched, known.ageAt);
    const answer = isKept ? known : { rows, takenAt, ageAt: agingFrom(takenAt) };
    const sentAt = sentAtOf(fetched);
    onAnswer?.(request, { ...answer, upstreamAgeMs: Math.max(0, sentAt - answer.takenAt) });
    if (rejected.count > 0) {
      const facts = { rows: rows.length, rejectedRows: rejected.count, rejected: rejected.first };
      log.warn({ ...request, ...facts }, 'Left out bad rows of the routes from a token');
    }
    const ttl = Math.max(1, Math.min(freshMs, sentAt + freshMs - Date.now()));
    // An answer for the sweep alone is cached only if there is room without removing other routes, and if these routes
    // are not cached yet, or are out of date.
    const hasRoom = cache.calculatedSize + sizeOf(answer, key) <= MAX_BYTES;
    const isDue = answer.takenAt - (cache.peek(key)?.takenAt ?? 0) > freshMs;
    if (!isForSweepOnly || (hasRoom && isDue)) cache.set(key, answer, { ttl });
    return answer;
  }

  /**
   * Notes and logs a failure. A request that was not sent is no failure, and is logged at debug level: clients could
   * fill the log.
   */
  function noteFailure(key: string, request: RouteRequest, error: unknown): void {
    if (!(error instanceof UpstreamError)) {
      log.error({ ...request, err: error }, 'Internal error while routes were fetched');
      return;
    }
    const { code, detail, notSent, retryAfterMs = 0 } = error;
    if (notSent) {
      log.debug({ ...request, code, detail }, 'A request for routes was not sent');
      return;
    }
    log.warn({ ...request, code, detail }, 'The routes from a token could not be fetched');
    const ttl = Math.max(FAILURE_PAUSE_MS, Math.min(retryAfterMs, LONGEST_PAUSE_MS));
    failures.set(key, error, { ttl });
  }

  /** Returns cached routes, even if they are no longer fresh, and caches them for another `freshMs`. */
  function oldRoutes(key: string): RouteAnswer | undefined {
    const old = cache.get(key, { allowStale: true });
    if (old) cache.set(key, old);
    return old;
  }

  return {
    /** The cached routes; undefined if a request would be needed. */
    cached: (request: RouteRequest) => cache.get(keyOf(request)),
    /** Until when the routes stay cached (milliseconds since 1970); the present time if they are not cached. */
    goodUntil: (request: RouteRequest) => Date.now() + cache.getRemainingTTL(keyOf(request)),
    /**
     * Requests routes that are not cached, and gives them as the upstream sends them. If cached routes cannot be
     * refreshed, the old ones are served for another `freshMs`, and again after each further failure. After a failure,
     * no request is sent for a while.
     *
     * @param isListed whether the routes start from a listed token. If not, the client may have made up the token, so a
     *   failure counts as caused by the client
     * @throws UpstreamError, or GatewayError BAD_USER_INPUT for a request that the service does not support
     */
    async fetch(request: RouteRequest, client: string | undefined, isListed: boolean): Promise<RouteAnswer> {
      const key = keyOf(request);
      const failed = failures.get(key);
      if (failed && !inProgress.has(key)) {
        const old = oldRoutes(key);
        if (old) return old;
        throw causedByClient(failed);
      }
      try {
        return (await ask(request, client, isListed, freshMs)).routes;
      } catch (error) {
        throw error instanceof UpstreamError && !isListed ? causedByClient(error) : error;
      }
    },
    /**
     * Requests routes with the lowest priority, even if they are cached. A peer's answer may be `maxAgeMs` old.
     *
     * @returns whether a request was sent: not if a peer has the answer, or a request of a client is in progress
     */
    async askInBackground(request: RouteRequest, maxAgeMs: number): Promise<boolean> {
      if (inProgress.has(keyOf(request))) return false;
      return !(await ask(request, null, true, Math.min(freshMs, maxAgeMs))).isFromPeer;
    },
    reconcile: createReconcile(parts),
  };
}

/** Corrects the times of routes if the clock was set back: by the present clock, the times would be too late. */
export function byPresentClock(routes: RouteAnswer): RouteAnswer {
  const now = Date.now();
  const takenAt = Math.floor(now - (routes.ageAt?.(now) ?? 0));
  if (routes.takenAt - takenAt < SET_BACK_MS) return routes;
  const rows = routes.rows.map((row) => TOKENS.withPrice(row, row.price?.usd ?? null, takenAt));
  return { rows: Object.freeze(rows), takenAt, ageAt: agingFrom(takenAt) };
}

/** Creates the group of clients that share one request. Others can join it. */
function createRouteClients(isListed: boolean, first: RouteClient) {
  const waiting = new Set([first]);
  const listeners: ((client: RouteClient) => void)[] = [];
  return {
    isListed,
    get isForSweepOnly() {
      return waiting.size === 1 && waiting.has(null);
    },
    watch(listener: (client: RouteClient) => void): void {
      listeners.push(listener);
      waiting.forEach(listener);
    },
    /** Adds a client, which gets its own place in the queue: so the many requests of another client do not delay it. */
    join(client: RouteClient): void {
      if (waiting.has(client)) return;
      waiting.add(client);
      for (const listener of listeners) listener(client);
    },
  };
}

/** The rows of an answer as they are served, with the rules that were applied, and the rows that the listing lacks. */
interface ReconciledRows {
  readonly rows: readonly Token[];
  readonly unlisted: ReadonlyMap<string, Token>;
  readonly rules: object;
}

/** A log line names at most this many rows: usually all have one cause. */
const MAX_NAMED = 5;

/**
 * Creates the function that makes the rows of routes consistent with the token listing, so that a response never shows
 * one token in two forms. Its result is cached as long as rows and listing are in memory and the rules do not change.
 *
 * For a listed token, the row of the listing is served. A row with other decimals is left out, counted and logged: one
 * of the two is wrong, the gateway cannot know which, and an amount calculated with the wrong decimals loses money. A
 * listed token with held-back facts is not left out for its decimals: its row shows the contradiction.
 */
function createReconcile({ rulesOf, baseline, holdBackMs, earlier, metrics, log }: RouteParts) {
  /**
   * The chains and symbols that no token at a new address may have yet, as in the guard: those of removed and renamed
   * tokens, and of listed ones that the upstream no longer sends with this symbol.
   */
  const protectedLookalikes = memoized(({ rows, guard, takenAt, rules }: TokenSnapshot) => {
    const { lookalikeOf, keyOf } = TOKENS;
    const waits = ({ row, at }: GuardMemory<Token>['gone'][number]) =>
      (at > 0 && takenAt - at < holdBackMs) || rules.keptFacts(keyOf(row))?.has('address');
    const { gone = [], former = [], held: heldRows = [] } = guard ?? {};
    const lost = [...gone, ...former].filter(waits).map(({ row }) => lookalikeOf(row));
    const listed = keyedRows(rows, keyOf);
    const held = heldRows.flatMap(({ key, rows: sent }) => {
      const row = listed.get(key);
      const lookalike = row && lookalikeOf(row);
      return sent.some((each) => lookalikeOf(each) === lookalike) ? [] : [lookalike];
    });
    return new Set([...lost, ...held]);
  });
  // The outer key is the listing: cached routes outlive many listings, and must not keep them in memory.
  const remembered = new WeakMap<object, WeakMap<readonly Token[], ReconciledRows>>();
  /** By rows: the `rowsDigest` of the last listing whose conflicts with these rows were logged. */
  const logged = new WeakMap<readonly Token[], string>();

  return function reconcile(
    rows: readonly Token[],
    listed: TokenSnapshot | undefined,
    request: RouteRequest,
  ): ReconciledRows {
    const besideListing = remembered.get(listed ?? NO_LISTING) ?? new WeakMap();
    remembered.set(listed ?? NO_LISTING, besideListing);
    const known = besideListing.get(rows);
    const rules = rulesOf(listed);
    if (known?.rules === rules) return known;
    const listedRows = listed && keyedRows(listed.rows, TOKENS.keyOf);
    const unlisted = new Map<string, Token>();
    const conflicts: string[] = [];
    const sent = keyedRows(rows, TOKENS.keyOf);
    /** Computed only for an unlisted row: most answers have none. */
    let medians: ReturnType<typeof mediansBySymbol>[] | undefined;
    const compared = (key: string, row: Token, removed: Token | undefined) => {
      medians ??= [mediansBySymbol(rows), ...(listed?.medians ? [listed.medians] : [])];
      const others = medians.flatMap((each) => each.get(row.symbol.toLowerCase()) ?? []);
      // A removed token of another upstream still has its last price.
      const last = removed?.price?.usd ?? (listed?.guard && lastPricesOf(listed.guard).get(key));
      return withComparedPrice(row, last == null ? others : [...others, last]);
    };
    const served: Token[] = [];
    for (const [key, row] of sent) {
      const ofListing = listedRows?.get(key);
      const removed = listed?.unlisted.get(key) ?? earlier(key);
      const symbol = rules.keptFacts(key)?.get('symbol') ?? removed?.symbol;
      // No row of a token that is known by another symbol: unlike a listed row, it could not show the contradiction.
      if (!ofListing && symbol !== undefined && symbol !== row.symbol) continue;
      const lookalike = ofListing || removed ? undefined : TOKENS.lookalikeOf(row);
      if (listed && lookalike !== undefined && protectedLookalikes(listed).has(lookalike)) continue;
      const decimals = decimalsOfRoutes(key, ofListing, listed, rules, baseline);
      if (decimals === undefined || decimals === row.decimals) {
        const shown = ofListing ?? compared(key, row, removed);
        if (!ofListing) unlisted.set(key, shown);
        served.push(shown);
      } else if (ofListing) {
        conflicts.push(`${rowName(key)}: ${row.decimals}, listed with ${ofListing.decimals}`);
      }
    }
    // Logged once for the same rows and listing. A change of prices does not change the conflicts.
    if (listed && conflicts.length > 0 && logged.get(rows) !== listed.rowsDigest) {
      logged.set(rows, listed.rowsDigest);
      metrics.conflictingRouteRows(conflicts.length);
      const facts = { ...request, rows: conflicts.length, first: conflicts.slice(0, MAX_NAMED) };
      log.warn(facts, 'Left out routes to tokens that have other decimals in the token listing');
    }
    const reconciled = { rows: Object.freeze(rules.select(served)), unlisted, rules };
    besideListing.set(rows, reconciled);
    return reconciled;
  };
}

const NO_LISTING = {};

/** The last prices of removed tokens, by key. */
const lastPricesOf = memoized(
  ({ prices }: Pick<GuardMemory<Token>, 'prices'>) => new Map(prices.map(({ key, before }) => [key, before])),
);

/**
 * Finds the decimals that a token must have in a row of routes. Rows with other decimals are left out. Undefined allows
 * any decimals: for a listed token with held-back facts, and for an unknown token. NaN allows none: for a new token
 * that is held back or has contradictory rows.
 *
 * @param row the token in the listing. If it is undefined, the decimals are those of a `keep` rule, else the last ones
 *   of the removed token, else those of `baseline`
 */
export function decimalsOfRoutes(
  key: string,
  row: Token | undefined,
  listed: TokenSnapshot | undefined,
  rules: ResolvedRules,
  baseline: Baseline,
): number | undefined {
  if (row) return row.heldBack.length > 0 ? undefined : row.decimals;
  const removed = listed?.unlisted.get(key);
  if (removed === null) return Number.NaN;
  const kept = rules.keptFacts(key)?.get('decimals');
  if (kept !== undefined) return Number(kept);
  return removed?.decimals ?? baseline(key);
}

/**
 * Creates a function for the routes of one operation, which shows each unlisted token in one form: its first row is
 * served everywhere, and rows with other decimals are left out.
 */
export function createAgreement(): (reconciled: ReconciledRows) => readonly Token[] {
  const first = new Map<string, Token>();
  return ({ rows, unlisted }) => {
    /** For each row that is not the first of its token: the first row, or undefined if their decimals differ. */
    const replaced = new Map<Token, Token | undefined>();
    for (const [key, row] of unlisted) {
      const before = first.get(key);
      if (before === undefined) first.set(key, row);
      else if (before !== row) replaced.set(row, before.decimals === row.decimals ? before : undefined);
    }
    if (replaced.size === 0) return rows;
    return rows.flatMap((row) => (replaced.has(row) ? (replaced.get(row) ?? []) : row));
  };
}
