import { tokenKey } from '../../domain/addresses.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched, Token, TokenFilter } from '../../domain/listing.js';
import { forEachChunk } from '../../scheduling/chunks.js';
import { TOKENS } from '../../upstream/listing-kinds.js';
import type { KnownRoutes } from '../routes/routes.js';
import type { TokenSnapshot } from '../snapshot.js';
import { RouteMap, type RouteMapLimits } from './route-map.js';
import type { StoredRouteMap } from './route-map-record.js';

export interface SweptRoutesOptions {
  /** The token listing that is served; undefined before the first. */
  readonly listing: () => TokenSnapshot | undefined;
  readonly limits?: RouteMapLimits | undefined;
}

/** How many tokens are bridgeable, by the indexes of the listing. */
const bridgeableCounts = new WeakMap<TokenSnapshot['indexes'], number>();

export type SweptRoutes = ReturnType<typeof createSweptRoutes>;

/**
 * The map of routes beside the token listing: only listed tokens that are bridgeable are sources. The answers come
 * from the sweep, from clients' requests and from other gateways.
 */
export function createSweptRoutes({ listing, limits }: SweptRoutesOptions) {
  const map = new RouteMap(limits);
  /** The keys of the bridgeable tokens without an answer, for the listing with these indexes. */
  let missing: { readonly indexes: TokenSnapshot['indexes']; readonly keys: Set<string> } | undefined;

  /** Only prices differ between listings with the same indexes. */
  function missingIn(tokens: TokenSnapshot): Set<string> {
    if (missing?.indexes === tokens.indexes) return missing.keys;
    const keys = new Set<string>();
    for (const [key, { isBridgeable }] of keyedRows(tokens.rows, TOKENS.keyOf)) {
      if (isBridgeable && !map.get(key)) keys.add(key);
    }
    missing = { indexes: tokens.indexes, keys };
    return keys;
  }

  const known: KnownRoutes = {
    find({ srcChainKey, srcToken }) {
      if (srcChainKey === undefined || srcToken === undefined) return undefined;
      const source = map.get(tokenKey(srcChainKey, srcToken));
      return source && { takenAt: source.takenAt, rows: () => map.rowsOf(source) };
    },
    enter(filter, fetched) {
      enter(filter, fetched);
    },
  };

  /** Enters an answer. @returns false if it does not fit into the map */
  function enter({ srcChainKey, srcToken }: TokenFilter, { rows, takenAt }: Fetched<Token>): boolean {
    if (srcChainKey === undefined || srcToken === undefined) return true;
    const token = listing()?.byAddress(srcChainKey, srcToken);
    // Nobody would ask for it again: it would stay as it is.
    if (!token?.isBridgeable) return true;
    if (!map.set(token, takenAt, [...keyedRows(rows, TOKENS.keyOf)])) return false;
    missing?.keys.delete(TOKENS.keyOf(token));
    return true;
  }

  return {
    map,
    known,
    enter,
    /** How many bridgeable tokens the listing has. */
    bridgeableIn({ indexes, rows }: TokenSnapshot): number {
      const known = bridgeableCounts.get(indexes);
      if (known !== undefined) return known;
      const count = rows.reduce((sum, { isBridgeable }) => sum + Number(isBridgeable), 0);
      bridgeableCounts.set(indexes, count);
      return count;
    },
    /** How many bridgeable tokens have no answer since this time (milliseconds since 1970). */
    countDue({ rows }: TokenSnapshot, since: number): number {
      let count = 0;
      for (const [key, { isBridgeable }] of keyedRows(rows, TOKENS.keyOf)) {
        if (isBridgeable && (map.get(key)?.takenAt ?? -1) < since) count++;
      }
      return count;
    },
    /** Whether every bridgeable token of the listing has an answer. */
    isComplete: (tokens: TokenSnapshot) => missingIn(tokens).size === 0,
    /** Adds the answers of another gateway, or from disk, that are newer than those here. It yields to requests. */
    async adopt({ destinations, sources }: StoredRouteMap): Promise<void> {
      await forEachChunk(sources, (chunk) => {
        for (const { chainKey, address, takenAt, places } of chunk) {
          const key = tokenKey(chainKey, address);
          if ((map.get(key)?.takenAt ?? -1) >= takenAt) continue;
          const rows = Array.from(places, (place) => destinations[place]).filter((row) => row !== undefined);
          if (map.set({ chainKey, address }, takenAt, rows)) missing?.keys.delete(key);
        }
      });
    },
    /** Removes the sources that the listing does not have as bridgeable. It yields to requests. */
    async removeUnlisted(tokens: TokenSnapshot): Promise<void> {
      const listed = keyedRows(tokens.rows, TOKENS.keyOf);
      await forEachChunk([...map.all()], (chunk) => {
        for (const { key } of chunk) {
          if (!listed.get(key)?.isBridgeable) map.delete(key);
        }
      });
      // The listing may have changed meanwhile.
      missing = undefined;
    },
    /**
     * The listed tokens with a route to this token, in the order of their chain keys and addresses. A row of a route
     * that gives a listed token other decimals is no route, as for destinations.
     */
    sourcesOf(tokens: TokenSnapshot, chainKey: string, address: string): readonly Token[] {
      const listed = keyedRows(tokens.rows, TOKENS.keyOf);
      const found: Token[] = [];
      const { decimals } = tokens.byAddress(chainKey, address) ?? {};
      for (const { key } of map.sourcesOf(tokenKey(chainKey, address), decimals)) {
        const token = listed.get(key);
        if (token?.isBridgeable) found.push(token);
      }
      return found.sort(byPlace);
    },
    /**
     * The bridgeable tokens whose answers are older than this, those without one first, then the oldest. It yields to
     * requests.
     *
     * @param since milliseconds since 1970
     */
    async due(tokens: TokenSnapshot, since: number): Promise<readonly Token[]> {
      const due: { readonly token: Token; readonly takenAt: number }[] = [];
      await forEachChunk([...keyedRows(tokens.rows, TOKENS.keyOf)], (chunk) => {
        for (const [key, token] of chunk) {
          const takenAt = map.get(key)?.takenAt ?? 0;
          if (token.isBridgeable && takenAt < since) due.push({ token, takenAt });
        }
      });
      return due.sort((one, other) => one.takenAt - other.takenAt).map(({ token }) => token);
    },
  };
}

function byPlace(one: Token, other: Token): number {
  if (one.chainKey !== other.chainKey) return one.chainKey < other.chainKey ? -1 : 1;
  return one.address < other.address ? -1 : 1;
}
