import type { Token } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import type { Logger } from '../../logger.js';
import { internalError } from '../failures.js';
import { type Routes, WithdrawnError } from '../routes/routes.js';
import type { TokenSnapshot } from '../snapshot.js';
import { ROUTE_MAP } from './route-map-record.js';
import { createRouteMapStore, type RouteMapStoreOptions } from './route-map-store.js';
import { createSweepLead } from './sweep-lead.js';
import { createSweepQueue } from './sweep-queue.js';
import type { SweptRoutes } from './swept-routes.js';

/** Times are in milliseconds. `intervalMs` is the time in which each bridgeable token is asked once. */
export interface SweepOptions extends Omit<RouteMapStoreOptions, 'map'> {
  readonly swept: SweptRoutes;
  /** The token listing that is served; undefined before the first. */
  readonly tokens: () => TokenSnapshot | undefined;
  /** Called when a token was asked: `ok`, or the code of the error. */
  readonly onAsked: ((outcome: string) => void) | undefined;
  readonly log: Logger;
}

/** How often the sweep looks whether there is something to do. */
const IDLE_MS = 5_000;
/** How often a gateway tries to become the one that sweeps. */
const FOLLOW_MS = 2_500;
/** The shortest pause while there is nothing to ask. */
const LEAST_PAUSE_MS = 50;
/** The pause after an answer with status 429 that does not say how long. */
const RATE_LIMITED_MS = 60_000;
/** A longer Retry-After is cut to this. */
const MAX_PAUSE_MS = 3_600_000;

export type Sweep = ReturnType<typeof createSweep>;

/**
 * Asks for the routes of all bridgeable tokens again and again, one token at a time, evenly in the interval. Of the
 * gateways that share, one sweeps, and the others get what it learns.
 */
export function createSweep(options: SweepOptions) {
  const { intervalMs, swept, listing, tokens, peers, onAsked, log } = options;
  const { map } = swept;
  const store = createRouteMapStore({ ...options, map });
  const lead = createSweepLead(peers, intervalMs);
  const queue = createSweepQueue(swept);
  /** When the present sweep began (milliseconds since 1970); 0 before the first. */
  let startedAt = 0;
  let phase: 'new' | 'under way' | 'ended' = 'new';
  let counts = { asked: 0, failed: 0 };
  /** When the next token may be asked, on the monotonic clock. */
  let nextAt = 0;
  /** Why no token is asked: until when on the monotonic clock, and the service that was asked. */
  let stop: { readonly until: number; readonly source: string } | undefined;
  let lastError: UpstreamError | undefined;
  /** The indexes of the listing that the map was cleaned with; they change with its tokens. */
  let followed: TokenSnapshot['indexes'] | undefined;
  let routes: Pick<Routes, 'tokensInBackground'> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStepping = false;
  let isClosed = false;

  function state() {
    const failure = lastError && { code: lastError.code, message: lastError.message };
    return { startedAt, failure: failure ?? null };
  }

  async function readPeers(): Promise<void> {
    const stored = await store.newest();
    if (!stored) return;
    await swept.adopt(stored);
    startedAt = Math.max(startedAt, stored.startedAt);
    const { failure } = stored;
    if (failure) lastError = new UpstreamError(failure.code, failure.message);
    store.offer(state());
  }

  function begin(listed: TokenSnapshot): void {
    startedAt = Date.now();
    phase = 'under way';
    counts = { asked: 0, failed: 0 };
    queue.clear();
    const facts = { tokens: swept.bridgeableIn(listed), intervalMs };
    log.info(facts, 'A sweep of the routes of all bridgeable tokens begins');
  }

  function goOn(): void {
    phase = 'under way';
    log.info({ known: map.size }, 'This gateway goes on with the sweep of routes');
  }

  function end(): void {
    phase = 'ended';
    const facts = { ...counts, known: map.size, pairs: map.pairs, tookMs: Date.now() - startedAt };
    log.info(facts, 'The sweep of routes has asked every bridgeable token');
    store.save(state(), lead.current);
  }

  function stopFor(ms: number, reason: string, facts: object): void {
    stop = { until: performance.now() + ms, source: listing.source };
    const howLong = Number.isFinite(ms)
      ? `for ${Math.ceil(ms / 1000)} seconds`
      : 'until a restart or a change of service';
    log.warn({ ...facts, ...counts }, `The sweep of routes stops ${howLong}; what is known stays. ${reason}`);
    store.save(state(), lead.current);
  }

  function onFailure(token: Token, error: UpstreamError): void {
    const { code, status, detail, retryAfterMs, notSent, message } = error;
    lastError = error;
    if (!notSent) {
      counts.failed++;
      onAsked?.(code);
    }
    if (code === 'UPSTREAM_GONE') {
      stopFor(Number.POSITIVE_INFINITY, message, { code, detail });
    } else if (status === 429) {
      queue.putBack(token);
      stopFor(Math.min(retryAfterMs ?? RATE_LIMITED_MS, MAX_PAUSE_MS), message, { code, detail });
    } else if (notSent) {
      // A circuit breaker is open, or too many requests wait.
      queue.putBack(token);
      nextAt = performance.now() + Math.min(retryAfterMs ?? IDLE_MS, MAX_PAUSE_MS);
    } else {
      queue.fail(token);
      log.debug(
        { ...token, price: undefined, code, detail },
        'The sweep could not have the routes of a token',
      );
    }
  }

  async function ask(token: Token, routes: Pick<Routes, 'tokensInBackground'>): Promise<void> {
    const filter = { srcChainKey: token.chainKey, srcToken: token.address };
    try {
      const fetched = await routes.tokensInBackground(filter);
      counts.asked++;
      onAsked?.('ok');
      if (!swept.enter(filter, fetched)) {
        stopFor(Number.POSITIVE_INFINITY, 'The map of routes is full.', { pairs: map.pairs });
      }
    } catch (thrown) {
      if (isClosed) return;
      if (thrown instanceof WithdrawnError) {
        // The client's answer enters the map.
        nextAt = Math.max(nextAt, performance.now() + LEAST_PAUSE_MS);
        return;
      }
      if (!(thrown instanceof UpstreamError)) {
        log.error({ ...filter, err: thrown }, 'Internal error while routes were swept');
      }
      onFailure(token, thrown instanceof UpstreamError ? thrown : internalError(thrown));
    }
  }

  /** Does one thing. @returns how long to wait before the next, in milliseconds */
  async function step(): Promise<number> {
    const listed = tokens();
    if (!listed || !routes) return IDLE_MS;
    if (followed !== listed.indexes) {
      followed = listed.indexes;
      await swept.removeUnlisted(listed);
      queue.refill();
    }
    const leads = await lead.ask();
    // A message about news may have been missed.
    if (leads !== 'ours') await readPeers();
    if (leads === 'new') {
      queue.refill();
      phase = 'new';
    }
    store.saveIfDue(state(), lead.current);
    if (leads === 'not ours') return FOLLOW_MS;
    const now = performance.now();
    if (stop && (now >= stop.until || stop.source !== listing.source)) stop = undefined;
    if (stop) return Math.min(IDLE_MS, stop.until - now);
    if (nextAt > now) return Math.min(IDLE_MS, nextAt - now);
    // A clock that was set back counts as time that has passed.
    const isDue = Math.abs(Date.now() - startedAt) >= intervalMs;
    if (isDue && phase !== 'under way') begin(listed);
    const token = await queue.next(listed, startedAt);
    if (!token) {
      if (phase === 'under way') end();
      phase = 'ended';
      return Math.min(IDLE_MS, Math.max(LEAST_PAUSE_MS, startedAt + intervalMs - Date.now()));
    }
    if (phase === 'new') goOn();
    nextAt = now + intervalMs / Math.max(1, swept.bridgeableIn(listed));
    await ask(token, routes);
    return Math.max(0, nextAt - performance.now());
  }

  async function run(): Promise<void> {
    isStepping = true;
    const indexes = tokens()?.indexes;
    let waitMs = IDLE_MS;
    try {
      waitMs = await step();
    } catch (err) {
      log.error({ err }, 'Internal error in the sweep of routes');
    }
    isStepping = false;
    // A listing that came meanwhile is looked at now.
    schedule(tokens()?.indexes === indexes ? waitMs : 0);
  }

  function schedule(ms: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(run, Math.min(ms, IDLE_MS)).unref();
  }

  function wake(): void {
    if (routes && !isStepping) schedule(0);
  }

  return {
    /** Loads the map that is on disk. Call it before `start`. */
    async restore(): Promise<void> {
      try {
        const stored = await store.restore();
        if (!stored) return;
        await swept.adopt(stored);
        startedAt = stored.startedAt;
        log.info({ known: map.size, pairs: map.pairs }, 'Restored the map of routes');
      } catch (err) {
        log.error({ err }, 'The map of routes on disk cannot be used, and is swept anew');
      }
    },
    /** Starts to sweep, by these routes. */
    start(by: Pick<Routes, 'tokensInBackground'>): void {
      if (routes) return;
      routes = by;
      peers.subscribe(ROUTE_MAP.name, async () => {
        if (lead.current || isClosed) return;
        // It may be that nobody leads any more.
        wake();
        await readPeers().catch((err) =>
          log.error({ err }, 'The map of routes of another gateway cannot be used'),
        );
      });
      wake();
    },
    /** Call it when there is another token listing. */
    wake,
    /** The last failed request; while nothing is known, the reason for that. */
    get lastError() {
      return lastError;
    },
    /** When the present sweep began (milliseconds since 1970); 0 before the first. */
    get startedAt() {
      return startedAt;
    },
    /** Stops asking, and stores what is not stored yet. */
    close(): void {
      isClosed = true;
      clearTimeout(timer);
      store.save(state(), lead.current).finally(lead.end);
    },
  };
}
