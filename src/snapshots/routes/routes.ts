/** The upstream's answers to requests for routes: cached, shared by equal requests, and not asked for again at once after failures. */
import { LRUCache } from 'lru-cache';
import { tokenFilterKey } from '../../domain/addresses.js';
import { GatewayError } from '../../domain/errors.js';
import { fingerprint } from '../../domain/fingerprint.js';
import {
  type Fetched,
  type Listing,
  type RouteClient,
  type RouteClients,
  type RowsAge,
  sentAtOf,
  type Token,
  type TokenFilter,
} from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import type { Logger } from '../../logger.js';
import { growingPause } from '../../scheduling/growing-pause.js';
import { ROUTES } from '../../upstream/listing-kinds.js';
import type { Peers } from '../peers.js';

export interface RoutesOptions {
  readonly listing: Listing;
  /** The gateways to share answers with. */
  readonly peers: Peers;
  /** How long routes are cached, in milliseconds. */
  readonly freshMs: number;
  /** Called with each new answer. */
  readonly onAnswer?: ((filter: TokenFilter, fetched: Fetched<Token>) => void) | undefined;
  readonly log: Logger;
}

/** The routes from one token. */
export interface RouteAnswer extends RowsAge {
  readonly rows: readonly Token[];
}

interface RouteRequest {
  readonly filter: TokenFilter;
  readonly clients: RouteClientGroup;
}

/** Of a request that no client waits for. */
const NOBODY: RouteClients = {
  isListed: true,
  isForNobody: true,
  watch: (listener) => listener({ client: undefined, refuse() {} }),
};

/** How long to wait for a peer that asks for the same routes. */
const MAX_WAIT_MS = 2_000;
/** The bound on the cache, in bytes by estimate. One answer of at most 200,000 tokens may be larger, alone. */
const MAX_BYTES = 24 * 2 ** 20;
/** The size of a token, and of an entry without its key and tokens; measured, with room to spare. */
const TOKEN_BYTES = 600;
const ENTRY_BYTES = 2000;

/** A longer answer takes all of the cache, where it would be refused and each client would ask the upstream again. */
const sizeOf = ({ rows }: RouteAnswer, key: string) =>
  Math.min(MAX_BYTES, ENTRY_BYTES + 2 * key.length + TOKEN_BYTES * rows.length);
/** The pause after a second failure in a row; each further failure doubles it. A first one can be chance. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A longer Retry-After is cut to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** Failures that are remembered, so that one bad request that clients repeat does not use up the rate limit. */
const FAILURES = { max: 1_000, ttl: 2 * MAX_RETRY_AFTER_MS };

interface Failed {
  readonly error: UpstreamError;
  readonly inARow: number;
  /** Until when the upstream is not asked, on the monotonic clock. */
  readonly until: number;
}

export type Routes = ReturnType<typeof createRoutes>;

/** Creates a bounded cache of routes. All operations share one. */
export function createRoutes({ listing, peers, freshMs, onAnswer, log }: RoutesOptions) {
  const failures = new LRUCache<string, Failed>(FAILURES);
  /** The clients that wait for requests under way, by the keys of the filters. */
  const waiting = new Map<string, RouteClientGroup>();
  /** The requests under way that no client waits for, by the keys of the filters. */
  const background = new Map<string, Promise<RouteAnswer>>();

  /** Asks a peer or the upstream. @param maxAgeMs answers that are older are of no use */
  async function fetch(
    key: string,
    filter: TokenFilter,
    clients: RouteClients,
    maxAgeMs: number,
  ): Promise<{ readonly fetched: Fetched<Token>; readonly isFromPeer: boolean }> {
    const newerThan = Date.now() - maxAgeMs;
    const lease = await peers.lease(`route:${fingerprint(key)}`, ROUTES, newerThan, MAX_WAIT_MS);
    if (lease.is === 'fetched') return { fetched: lease.fetched, isFromPeer: true };
    try {
      const fetched = await listing.tokens(filter, clients);
      if (lease.is === 'ours') lease.succeed(fetched, freshMs);
      return { fetched, isFromPeer: false };
    } catch (error) {
      // A peer may be luckier.
      if (lease.is === 'ours') lease.fail();
      throw error;
    }
  }

  /** A request that was not sent is no failure of the upstream. It is logged at debug level: clients could fill the log. */
  function noteFailure(key: string, filter: TokenFilter, error: unknown): void {
    if (!(error instanceof UpstreamError)) {
      log.error({ ...filter, err: error }, 'Internal error while routes were fetched');
      return;
    }
    const { code, detail, notSent, retryAfterMs = 0 } = error;
    if (notSent) {
      log.debug({ ...filter, code, detail }, 'A request for routes was not sent');
      return;
    }
    log.warn({ ...filter, code, detail }, 'The routes from a token could not be had');
    const before = failures.get(key)?.inARow ?? 0;
    const pauseMs = before === 0 ? 0 : growingPause(FIRST_PAUSE_MS, MAX_PAUSE_MS, before - 1);
    const until = performance.now() + Math.max(pauseMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
    failures.set(key, { error, inARow: before + 1, until });
  }

  /** How many answers left the cache for lack of room, most of them before their time. */
  let evictions = 0;
  /** How long routes stay cached, counted from their request. Those from a peer are as old as they are there. */
  const ttlOf = (age: RowsAge) => Math.min(freshMs, sentAtOf(age) + freshMs - Date.now());

  /** Notes a new answer. @returns what is cached of it, and for how long in milliseconds */
  function received(key: string, filter: TokenFilter, fetched: Fetched<Token>) {
    const { rows, rejected, takenAt, upstreamAgeMs } = fetched;
    failures.delete(key);
    onAnswer?.(filter, fetched);
    if (rejected.count > 0) {
      const counts = { ...filter, rows: rows.length, rejectedRows: rejected.count };
      log.warn({ ...counts, rejected: rejected.first }, 'Left out bad rows of the routes from a token');
    }
    return { answer: { rows, takenAt, upstreamAgeMs }, ttl: Math.max(1, ttlOf(fetched)) };
  }

  const cache = new LRUCache<string, RouteAnswer, RouteRequest>({
    maxSize: MAX_BYTES,
    sizeCalculation: sizeOf,
    ttl: freshMs,
    dispose(_answer, _key, reason) {
      if (reason === 'evict') evictions++;
    },
    // An entry that is evicted while it is fetched is still awaited by clients.
    ignoreFetchAbort: true,
    async fetchMethod(key, old, { context, options: entry }) {
      const { filter } = context;
      const failed = failures.get(key);
      if (failed && performance.now() < failed.until) {
        if (old) return old;
        throw failed.error;
      }
      waiting.set(key, context.clients);
      try {
        const { fetched } = await fetch(key, filter, context.clients, freshMs);
        const { answer, ttl } = received(key, filter, fetched);
        entry.ttl = ttl;
        return answer;
      } catch (error) {
        // The client has to change an unsupported filter; old routes would hide that.
        if (error instanceof GatewayError && error.code === 'BAD_USER_INPUT') throw error;
        noteFailure(key, filter, error);
        if (old) return old;
        throw error;
      } finally {
        if (waiting.get(key) === context.clients) waiting.delete(key);
      }
    },
  });

  /** Not `get` alone, which drops routes that are no longer fresh. They are served if the upstream fails. */
  const freshRoutes = (key: string) => (cache.has(key) ? cache.get(key) : undefined);

  return {
    /** The routes if they are cached, so that they cost the upstream nothing. */
    cached: (filter: TokenFilter) => freshRoutes(tokenFilterKey(filter)),
    /** Until when the routes stay cached (milliseconds since 1970); now, if they are not. */
    goodUntil: (filter: TokenFilter) => Date.now() + cache.getRemainingTTL(tokenFilterKey(filter)),
    /** While it is the same, cached routes are replaced only when they cease to be good. */
    evictions: () => evictions,
    /**
     * The upstream's own answer to the filter. Equal calls at the same time share one request. Cached routes that are
     * no longer fresh and cannot be refreshed are served for as long again: `takenAt` says how old they are. After
     * several failures in a row the error is returned for a while, and the upstream is not asked.
     *
     * @param client the address of its connection; undefined if unknown
     * @param isListed whether the token listing has the token that the routes start from
     * @throws UpstreamError, or GatewayError BAD_USER_INPUT for a filter that the service does not support
     */
    async tokens(filter: TokenFilter, client: string | undefined, isListed: boolean): Promise<RouteAnswer> {
      const key = tokenFilterKey(filter);
      // It is sent at once or not at all, so a client need not go before it.
      const shared = await background.get(key)?.catch(() => undefined);
      const cached = shared ?? freshRoutes(key);
      if (cached) return cached;
      const clients = waiting.get(key) ?? createRouteClients(isListed);
      const fetched = cache.fetch(key, { context: { filter, clients } });
      const answer = await clients.join(client, fetched);
      if (!answer) throw new Error('Expected routes or an error from the cache of routes, got neither');
      return answer;
    },
    /**
     * Asks for routes that no client waits for, whether they are cached or not. It is sent only if no other request
     * waits, and once.
     *
     * @param maxAgeMs the age up to which the answer of a peer will do, in milliseconds
     * @returns whether the upstream was asked; no if a peer has the answer, or a client's request is under way
     * @throws UpstreamError
     */
    async askInBackground(filter: TokenFilter, maxAgeMs: number): Promise<boolean> {
      const key = tokenFilterKey(filter);
      if (waiting.has(key)) return false;
      let isSent = false;
      const asked = fetch(key, filter, NOBODY, Math.min(freshMs, maxAgeMs)).then(
        ({ fetched, isFromPeer }) => {
          isSent = !isFromPeer;
          const { answer, ttl } = received(key, filter, fetched);
          // Cached routes are replaced only when they cease to be good, and those of clients are not evicted for these.
          const hasRoom = cache.calculatedSize + sizeOf(answer, key) <= MAX_BYTES;
          if (hasRoom && !cache.has(key)) cache.set(key, answer, { ttl });
          return answer;
        },
      );
      background.set(key, asked);
      await asked.finally(() => background.delete(key));
      return isSent;
    },
  };
}

type RouteClientGroup = ReturnType<typeof createRouteClients>;

/** Makes the clients that share one request, which others can join. */
function createRouteClients(isListed: boolean) {
  const waiting = new Map<string | undefined, RouteClient & { readonly refused: Promise<never> }>();
  const listeners: ((client: RouteClient) => void)[] = [];

  function enter(client: string | undefined): Promise<never> {
    const known = waiting.get(client);
    if (known) return known.refused;
    let refuse: (error: Error) => void = () => {};
    const refused = new Promise<never>((_resolve, reject) => {
      refuse = (error) => {
        waiting.delete(client);
        reject(error);
      };
    });
    // The client may have its answer before it is refused: that must not be an unhandled rejection.
    refused.catch(() => {});
    const entered = { client, refused, refuse };
    waiting.set(client, entered);
    for (const listener of listeners) listener(entered);
    return refused;
  }

  return {
    isListed,
    /** Calls the listener with each client that waits, and with each client that joins later. */
    watch(listener: (client: RouteClient) => void): void {
      listeners.push(listener);
      for (const client of waiting.values()) listener(client);
    },
    /**
     * Lets a client wait for the answer, in its own place in the queue: a client that joins one with many requests is
     * not delayed by them.
     *
     * @throws by rejection the error of the answer, or the error with which this client is refused before
     */
    join: <Answer>(client: string | undefined, answer: Promise<Answer>): Promise<Answer> =>
      Promise.race([answer, enter(client)]),
  };
}
