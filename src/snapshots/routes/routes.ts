import { LRUCache } from 'lru-cache';
import { tokenFilterKey } from '../../domain/addresses.js';
import { GatewayError } from '../../domain/errors.js';
import { fingerprint } from '../../domain/fingerprint.js';
import {
  type Fetched,
  type Listing,
  type RowsAge,
  sentAtOf,
  type Token,
  type TokenFilter,
} from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import type { Logger } from '../../logger.js';
import { ROUTES } from '../../upstream/listing-kinds.js';
import type { Peers } from '../peers.js';
import { createRouteClients, type RouteClientGroup } from './route-clients.js';
import { createRouteFailures } from './route-failures.js';

export interface RoutesOptions {
  readonly listing: Listing;
  /** The gateways to share answers with. */
  readonly peers: Peers;
  /** How long routes are cached, in milliseconds. */
  readonly freshMs: number;
  /** The answers that are kept beyond that time; none unless given. */
  readonly known?: KnownRoutes | undefined;
  readonly log: Logger;
}

/** The routes from one token. */
export interface RouteAnswer extends RowsAge {
  readonly rows: readonly Token[];
}

/** Answers that are kept for longer, in less memory. */
export interface KnownRoutes {
  /** The last answer, however old. */
  find(filter: TokenFilter): (RowsAge & { rows(): readonly Token[] }) | undefined;
  enter(filter: TokenFilter, fetched: Fetched<Token>): void;
}

/** A request that no client waits for. */
interface BackgroundRequest {
  readonly answer: Promise<Fetched<Token>>;
  isSent: boolean;
  /** Gives it up before it is sent. */
  withdraw(): void;
}

interface RouteRequest {
  readonly filter: TokenFilter;
  readonly clients: RouteClientGroup;
}

/** How long to wait for a peer that asks for the same routes. */
const MAX_WAIT_MS = 2_000;
/** The bound on the cache, in bytes by estimate. One answer of at most 200,000 tokens may be larger, alone. */
const MAX_BYTES = 24 * 2 ** 20;
/** The size of a token, and of an entry without its key and tokens; measured, with room to spare. */
const TOKEN_BYTES = 600;
const ENTRY_BYTES = 2000;

export type Routes = ReturnType<typeof createRoutes>;

/** Creates a bounded cache of routes. All operations share one. */
export function createRoutes({ listing, peers, freshMs, known, log }: RoutesOptions) {
  const failures = createRouteFailures();
  /** The clients that wait for requests under way, by the keys of the filters. */
  const waiting = new Map<string, RouteClientGroup>();
  /** The requests under way that no client waits for, by the keys of the filters. */
  const background = new Map<string, BackgroundRequest>();

  async function fetch(key: string, { filter, clients }: RouteRequest): Promise<Fetched<Token>> {
    const inBackground = background.get(key);
    // A client's request goes before it, and brings the answer for both.
    if (!inBackground?.isSent) inBackground?.withdraw();
    else {
      const answer = await inBackground.answer.catch(() => undefined);
      if (answer) return answer;
    }
    const lease = await peers.lease(`route:${fingerprint(key)}`, ROUTES, Date.now() - freshMs, MAX_WAIT_MS);
    if (lease.is === 'fetched') return lease.fetched;
    try {
      const fetched = await listing.tokens(filter, clients);
      if (lease.is === 'ours') lease.succeed(fetched, freshMs);
      return fetched;
    } catch (error) {
      // A peer may be luckier.
      if (lease.is === 'ours') lease.fail();
      throw error;
    }
  }

  /** A request that was not sent is logged at debug level only: clients could fill the log with those. */
  function logFailure(filter: TokenFilter, error: unknown): void {
    if (!(error instanceof UpstreamError)) {
      log.error({ ...filter, err: error }, 'Internal error while routes were fetched');
      return;
    }
    const { code, detail, notSent } = error;
    if (notSent) log.debug({ ...filter, code, detail }, 'A request for routes was not sent');
    else log.warn({ ...filter, code, detail }, 'The routes from a token could not be had');
  }

  /** How many answers left the cache for lack of room, most of them before their time. */
  let evictions = 0;
  /** How long routes stay cached, counted from their request. Those from a peer are as old as they are there. */
  const ttlOf = (age: RowsAge) => Math.min(freshMs, sentAtOf(age) + freshMs - Date.now());

  const cache = new LRUCache<string, RouteAnswer, RouteRequest>({
    maxSize: MAX_BYTES,
    // A longer answer takes all of the cache, where it would be refused and each client would ask the upstream again.
    sizeCalculation: ({ rows }, key) =>
      Math.min(MAX_BYTES, ENTRY_BYTES + 2 * key.length + TOKEN_BYTES * rows.length),
    ttl: freshMs,
    dispose(_answer, _key, reason) {
      if (reason === 'evict') evictions++;
    },
    // An entry that is evicted while it is fetched is still awaited by clients.
    ignoreFetchAbort: true,
    async fetchMethod(key, old, { context, options: entry }) {
      const { filter } = context;
      const failed = failures.find(key);
      if (failed && old) return old;
      if (failed) throw failed;
      waiting.set(key, context.clients);
      try {
        const fetched = await fetch(key, context);
        const { rows, rejected, takenAt, upstreamAgeMs } = fetched;
        failures.delete(key);
        known?.enter(filter, fetched);
        entry.ttl = Math.max(1, ttlOf(fetched));
        if (rejected.count > 0) {
          const counts = { ...filter, rows: rows.length, rejectedRows: rejected.count };
          log.warn({ ...counts, rejected: rejected.first }, 'Left out bad rows of the routes from a token');
        }
        return { rows, takenAt, upstreamAgeMs };
      } catch (error) {
        // The client has to change an unsupported filter; old routes would hide that.
        if (error instanceof GatewayError && error.code === 'BAD_USER_INPUT') throw error;
        if (error instanceof UpstreamError && !error.notSent) failures.add(key, error);
        logFailure(filter, error);
        if (old) return old;
        throw error;
      } finally {
        if (waiting.get(key) === context.clients) waiting.delete(key);
      }
    },
  });

  /** Not `get` alone, which drops routes that are no longer fresh. They are served if the upstream fails. */
  function freshRoutes(key: string, filter: TokenFilter): RouteAnswer | undefined {
    if (cache.has(key)) return cache.get(key);
    const kept = known?.find(filter);
    const ttl = kept ? ttlOf(kept) : 0;
    if (!kept || ttl < 1) return undefined;
    const { takenAt, upstreamAgeMs } = kept;
    const answer = { rows: Object.freeze(kept.rows()), takenAt, upstreamAgeMs };
    cache.set(key, answer, { ttl });
    return answer;
  }

  /** Sends a request after those of all clients. */
  async function fetchInBackground(key: string, filter: TokenFilter): Promise<Fetched<Token>> {
    const withdrawal = new AbortController();
    const withdrawn = new Promise<never>((_resolve, reject) => {
      withdrawal.signal.addEventListener('abort', () => reject(new WithdrawnError()));
    });
    const request: BackgroundRequest = {
      isSent: false,
      withdraw: () => withdrawal.abort(),
      answer: Promise.race([
        withdrawn,
        listing.tokens(filter, {
          isListed: true,
          isForNobody: true,
          watch: (listener) => listener({ client: undefined, refuse() {} }),
          onSend() {
            if (withdrawal.signal.aborted) return false;
            request.isSent = true;
            return true;
          },
        }),
      ]),
    };
    background.set(key, request);
    try {
      return await request.answer;
    } finally {
      background.delete(key);
    }
  }

  return {
    /** The routes if they are cached, so that they cost the upstream nothing. */
    cached: (filter: TokenFilter) => freshRoutes(tokenFilterKey(filter), filter),
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
      const cached = freshRoutes(key, filter);
      if (cached) return cached;
      const clients = waiting.get(key) ?? createRouteClients(isListed);
      const fetched = cache.fetch(key, { context: { filter, clients } });
      const answer = await clients.join(client, fetched);
      if (!answer) throw new Error('Expected routes or an error from the cache of routes, got neither');
      return answer;
    },
    /**
     * Asks the upstream after all clients have their answers, without a further attempt.
     *
     * @throws UpstreamError; WithdrawnError if a client asks for the same before it is sent
     */
    async tokensInBackground(filter: TokenFilter): Promise<Fetched<Token>> {
      const key = tokenFilterKey(filter);
      if (waiting.has(key)) throw new WithdrawnError();
      return fetchInBackground(key, filter);
    },
  };
}

/** A request in the background is not sent, because a client's request for the same is under way. */
export class WithdrawnError extends Error {
  override readonly name = 'WithdrawnError';

  constructor() {
    super('A client asks for the same routes');
  }
}
