import { tokenKey } from '../../domain/addresses.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import { type Fetched, type RowsAge, sentAtOf, type Token, type TokenFilter } from '../../domain/listing.js';
import { forEachChunk } from '../../scheduling/chunks.js';
import { TOKENS } from '../../upstream/listing-kinds.js';
import type { KnownRoutes } from '../routes/routes.js';
import type { TokenSnapshot } from '../snapshot.js';
import { RouteMap, type RouteMapLimits } from './route-map.js';
import type { StoredRouteMap } from './route-map-record.js';

export interface SweptRoutesOptions {
  /** The token listing that is served; undefined before the first. */
  readonly listing: () => TokenSnapshot | undefined;
  /** The rows that the operator does not hide, in the operator's order of chains. */
  readonly select: (rows: readonly Token[]) => readonly Token[];
  readonly limits?: RouteMapLimits | undefined;
}

/** How many tokens are bridgeable, by the indexes of the listing. */
const bridgeableCounts = new WeakMap<TokenSnapshot['indexes'], number>();

export type SweptRoutes = ReturnType<typeof createSweptRoutes>;

/**
 * The map of routes beside the token listing: only listed tokens that are bridgeable are sources. The answers come
 * from the sweep, from clients' requests and from other gateways.
 */
export function createSweptRoutes({ listing, select, limits }: SweptRoutesOptions) {
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
      if (!source) return undefined;
      const { takenAt, upstreamAgeMs } = source;
      return { takenAt, upstreamAgeMs, rows: () => map.rowsOf(source) };
    },
    enter(filter, fetched) {
      enter(filter, fetched);
    },
  };

  /** Enters an answer. @returns false if it does not fit into the map */
  function enter({ srcChainKey, srcToken }: TokenFilter, fetched: Fetched<Token>): boolean {
    if (srcChainKey === undefined || srcToken === undefined) return true;
    const token = listing()?.byAddress(srcChainKey, srcToken);
    // Nobody would ask for it again: it would stay as it is.
    if (!token?.isBridgeable) return true;
    if (!map.set(token, fetched, [...keyedRows(fetched.rows, TOKENS.keyOf)])) return false;
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
    /** How many bridgeable tokens were not asked since this time (milliseconds since 1970). */
    countDue({ rows }: TokenSnapshot, since: number): number {
      let count = 0;
      for (const [key, { isBridgeable }] of keyedRows(rows, TOKENS.keyOf)) {
        if (isBridgeable && sentAt(map.get(key)) < since) count++;
      }
      return count;
    },
    /** Whether every bridgeable token of the listing has an answer. */
    isComplete: (tokens: TokenSnapshot) => missingIn(tokens).size === 0,
    /** Adds the answers of another gateway, or from disk, that are newer than those here. It yields to requests. */
    async adopt({ destinations, sources }: StoredRouteMap): Promise<void> {
      await forEachChunk(sources, (chunk) => {
        for (const source of chunk) {
          const key = tokenKey(source.chainKey, source.address);
          if (sentAt(map.get(key)) >= sentAtOf(source)) continue;
          const rows = Array.from(source.places, (place) => destinations[place]).filter(
            (row) => row !== undefined,
          );
          if (map.set(source, source, rows)) missing?.keys.delete(key);
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
     * The listed tokens with a route to this token, in the operator's order of chains, then in the order of their
     * chain keys and addresses. A row of a route
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
      return select(found.sort(byPlace));
    },
    /** When the oldest answer for these sources was taken (milliseconds since 1970); null if there is none. */
    oldestOf(sources: readonly Token[]): number | null {
      const times = sources.map(
        (source) => map.get(TOKENS.keyOf(source))?.takenAt ?? Number.POSITIVE_INFINITY,
      );
      const oldest = times.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
      return Number.isFinite(oldest) ? oldest : null;
    },
    /**
     * The bridgeable tokens that were not asked since this time, those without an answer first, then in the order in
     * which they were asked. It yields to requests.
     *
     * @param since milliseconds since 1970
     */
    async due(tokens: TokenSnapshot, since: number): Promise<readonly Token[]> {
      const due: { readonly token: Token; readonly askedAt: number }[] = [];
      await forEachChunk([...keyedRows(tokens.rows, TOKENS.keyOf)], (chunk) => {
        for (const [key, token] of chunk) {
          const askedAt = sentAt(map.get(key));
          if (token.isBridgeable && askedAt < since) due.push({ token, askedAt });
        }
      });
      return due.sort((one, other) => one.askedAt - other.askedAt).map(({ token }) => token);
    },
  };
}

/** When the routes of a token were asked for; before all times if there is no answer. */
function sentAt(age: RowsAge | undefined): number {
  return age ? sentAtOf(age) : -1;
}

function byPlace(one: Token, other: Token): number {
  if (one.chainKey !== other.chainKey) return one.chainKey < other.chainKey ? -1 : 1;
  return one.address < other.address ? -1 : 1;
}
