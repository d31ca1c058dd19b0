import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';
import type { Logger } from '../logger.js';
import { tokenFilterKey } from './address.js';
import { UpstreamError } from './errors.js';
import type { Fleet } from './fleet.js';
import { ROUTES } from './kinds.js';
import type { Listing, Taken, Token, TokenFilter } from './listing.js';
import { markOf } from './record.js';

/** What {@link createRoutes} takes. */
export interface RoutesOptions {
  readonly listing: Listing;
  /** The gateways to share answers with. */
  readonly fleet: Fleet;
  /** How long an answer is given without asking again, in milliseconds. */
  readonly freshMs: number;
  /** The bound on what is kept, in bytes as far as they can be told. */
  readonly maxBytes?: number;
  readonly log: Logger;
}

/** The answers to questions for routes, kept for a while each. */
export interface Routes {
  /** Whether the answer is at hand, so that asking costs the upstream nothing. */
  isKept(filter: TokenFilter): boolean;
  /** Until when the kept answer is given (milliseconds since 1970); now, where there is none. */
  goodUntil(filter: TokenFilter): number;
  /**
   * The upstream's own answer to the filter. Equal questions under way share one request. A kept answer that
   * is no longer fresh and cannot be had anew is given for as long again: its prices say how old it is.
   *
   * @throws UpstreamError, and GatewayError BAD_USER_INPUT where the service cannot be asked that
   */
  tokens(filter: TokenFilter): Promise<readonly Token[]>;
}

/** How long the answer to another gateway's question is waited for, before asking oneself. */
const MAX_WAIT_MS = 2_000;
const MAX_BYTES = 64 * 2 ** 20;
/** What a token takes, and an entry beside its key and tokens; found by measuring, with room to spare. */
const TOKEN_BYTES = 600;
const ENTRY_BYTES = 2000;

/** Makes the keeper of routes: bounded, and shared by all operations. */
export function createRoutes(options: RoutesOptions): Routes {
  const { listing, fleet, freshMs, maxBytes = MAX_BYTES, log } = options;

  async function take(key: string, filter: TokenFilter): Promise<Taken<Token>> {
    const turn = await fleet.turn(`route:${markOf(key)}`, ROUTES, Date.now() - freshMs, MAX_WAIT_MS);
    if (turn.is === 'taken') return turn.taken;
    try {
      const taken = await listing.tokens(filter);
      if (turn.is === 'ours') turn.succeed(taken, freshMs);
      return taken;
    } catch (error) {
      // Another may be luckier.
      if (turn.is === 'ours') turn.fail();
      throw error;
    }
  }

  const kept = new LRUCache<string, readonly Token[], TokenFilter>({
    maxSize: maxBytes,
    sizeCalculation: (tokens, key) => ENTRY_BYTES + 2 * key.length + TOKEN_BYTES * tokens.length,
    ttl: freshMs,
    // An answer that is pushed out while it is fetched is still owed to those who wait for it.
    ignoreFetchAbort: true,
    async fetchMethod(key, old, { context: filter, options: kept }) {
      try {
        const { rows, rejected, takenAt } = await take(key, filter);
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
        const { code, detail } = error instanceof UpstreamError ? error : {};
        log.warn({ ...filter, code, detail, err: error }, 'The routes from a token could not be had');
        if (old) return old;
        throw error;
      }
    },
  });
  return {
    isKept: (filter) => kept.has(tokenFilterKey(filter)),
    goodUntil: (filter) => Date.now() + kept.getRemainingTTL(tokenFilterKey(filter)),
    async tokens(filter) {
      const tokens = await kept.fetch(tokenFilterKey(filter), { context: filter });
      if (!tokens) throw new Error('Expected routes or an error from the cache of routes, got neither');
      return tokens;
    },
  };
}
