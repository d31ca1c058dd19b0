import { LRUCache } from 'lru-cache';
import { tokenFilterKey } from '../../domain/addresses.js';
import { GatewayError } from '../../domain/errors.js';
import { fingerprint } from '../../domain/fingerprint.js';
import type { Fetched, Listing, Token, TokenFilter } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import type { Logger } from '../../logger.js';
import { ROUTES } from '../../upstream/listing-kinds.js';
import type { Peers } from '../peers.js';
import { createRouteClients, type RouteClientGroup } from './route-clients.js';
import { createRouteFailures } from './route-failures.js';

/** What {@link createRoutes} takes. */
export interface RoutesOptions {
  readonly listing: Listing;
  /** The gateways to share answers with. */
  readonly peers: Peers;
  /** How long an answer is given without asking again, in milliseconds. */
  readonly freshMs: number;
  /** The bound on what is kept, in bytes as far as they can be told. */
  readonly maxBytes?: number;
  readonly log: Logger;
}

/** Who asks for routes. */
export interface RouteAsker {
  /** The address of the connection; undefined where that is not known. */
  readonly client: string | undefined;
  /** Whether the token listing has the token that they are asked from. */
  readonly isListed: boolean;
}

/** The answers to questions for routes, kept for a while each. */
export interface Routes {
  /** Whether the answer is at hand, so that asking costs the upstream nothing. */
  isKept(filter: TokenFilter): boolean;
  /** Until when the kept answer is given (milliseconds since 1970); now, where there is none. */
  goodUntil(filter: TokenFilter): number;
  /**
   * The upstream's own answer to the filter. Equal questions under way share one request. A kept answer that
   * is no longer fresh and cannot be had anew is given for as long again: its prices say how old it is. A
   * question that has failed several times in a row is answered with its error for a while, without asking.
   *
   * @throws UpstreamError, and GatewayError BAD_USER_INPUT where the service cannot be asked that
   */
  tokens(filter: TokenFilter, asker: RouteAsker): Promise<readonly Token[]>;
}

interface Asked {
  readonly filter: TokenFilter;
  readonly clients: RouteClientGroup;
}

/** How long the answer to another gateway's question is waited for, before asking oneself. */
const MAX_WAIT_MS = 2_000;
const MAX_BYTES = 24 * 2 ** 20;
/** What a token takes, and an entry beside its key and tokens; found by measuring, with room to spare. */
const TOKEN_BYTES = 600;
const ENTRY_BYTES = 2000;

/** Makes the keeper of routes: bounded, and shared by all operations. */
export function createRoutes(options: RoutesOptions): Routes {
  const { listing, peers, freshMs, maxBytes = MAX_BYTES, log } = options;

  const failures = createRouteFailures();
  /** Who waits for the answers that are under way, by the keys of the questions. */
  const waiting = new Map<string, RouteClientGroup>();

  async function fetch(key: string, { filter, clients }: Asked): Promise<Fetched<Token>> {
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

  /** Refusals come as often as clients ask; a failure comes as often as the upstream is asked. */
  function tell(filter: TokenFilter, error: unknown): void {
    if (!(error instanceof UpstreamError)) {
      log.error({ ...filter, err: error }, 'Internal error while routes were fetched');
      return;
    }
    const { code, detail, notSent } = error;
    if (notSent) log.debug({ ...filter, code, detail }, 'A question for routes was not sent');
    else log.warn({ ...filter, code, detail }, 'The routes from a token could not be had');
  }

  const kept = new LRUCache<string, readonly Token[], Asked>({
    maxSize: maxBytes,
    sizeCalculation: (tokens, key) => ENTRY_BYTES + 2 * key.length + TOKEN_BYTES * tokens.length,
    ttl: freshMs,
    // An answer that is pushed out while it is fetched is still owed to those who wait for it.
    ignoreFetchAbort: true,
    async fetchMethod(key, old, { context, options: kept }) {
      const { filter } = context;
      const failed = failures.find(key);
      if (failed && old) return old;
      if (failed) throw failed;
      waiting.set(key, context.clients);
      try {
        const { rows, rejected, takenAt } = await fetch(key, context);
        failures.delete(key);
        // One that another gateway has had for a while is fresh for no longer there than here.
        kept.ttl = Math.min(freshMs, Math.max(1, takenAt + freshMs - Date.now()));
        if (rejected.count > 0) {
          const counts = { ...filter, rows: rows.length, rejectedRows: rejected.count };
          log.warn({ ...counts, rejected: rejected.first }, 'Left out bad rows of the routes from a token');
        }
        return rows;
      } catch (error) {
        // A question that the service cannot be asked is the client's to mend, which an old answer would hide.
        if (error instanceof GatewayError && error.code === 'BAD_USER_INPUT') throw error;
        if (error instanceof UpstreamError && !error.notSent) failures.add(key, error);
        tell(filter, error);
        if (old) return old;
        throw error;
      } finally {
        if (waiting.get(key) === context.clients) waiting.delete(key);
      }
    },
  });
  return {
    isKept: (filter) => kept.has(tokenFilterKey(filter)),
    goodUntil: (filter) => Date.now() + kept.getRemainingTTL(tokenFilterKey(filter)),
    async tokens(filter, { client, isListed }) {
      const key = tokenFilterKey(filter);
      if (kept.has(key)) return kept.get(key) ?? [];
      const clients = waiting.get(key) ?? createRouteClients(isListed);
      const fetched = kept.fetch(key, { context: { filter, clients } });
      const tokens = await clients.join(client, fetched);
      if (!tokens) throw new Error('Expected routes or an error from the cache of routes, got neither');
      return tokens;
    },
  };
}
