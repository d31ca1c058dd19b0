import type { Fetched, Listing } from '../../domain/listing.js';
import type { DiskStore } from '../disk-store.js';
import type { Leadership, Peers } from '../peers.js';
import type { RouteMap } from './route-map.js';
import {
  ROUTE_MAP,
  type RouteMapRow,
  rowsOfRouteMap,
  type StoredRouteMap,
  storedRouteMap,
} from './route-map-record.js';

export interface RouteMapStoreOptions {
  readonly map: RouteMap;
  /** The time of a sweep, in milliseconds. */
  readonly intervalMs: number;
  readonly listing: Pick<Listing, 'source'>;
  readonly peers: Peers;
  readonly disk: DiskStore | undefined;
}

/** The state of the sweep that is stored with the map. */
export type SweepState = Pick<StoredRouteMap, 'startedAt' | 'failure'>;

/** How often the map is stored at most, in milliseconds. */
const SAVE_EVERY_MS = 20_000;
/** In short sweeps it is stored this many times. */
const SAVES_IN_A_SWEEP = 20;
/** A larger map is stored less often, in proportion: two megabytes are worth writing and reading that often. */
const PAIRS_OF_A_SAVE = 250_000;

export type RouteMapStore = ReturnType<typeof createRouteMapStore>;

/** Keeps the map on disk and in Redis, where there is one. */
export function createRouteMapStore({ map, intervalMs, listing, peers, disk }: RouteMapStoreOptions) {
  const everyMs = Math.min(SAVE_EVERY_MS, intervalMs / SAVES_IN_A_SWEEP);
  /** When the last record was made that was written here (milliseconds since 1970), */
  let writtenAt = 0;
  /** and the last one of another gateway that was read. */
  let readAt = 0;
  let saved = '';
  let savedAt = Number.NEGATIVE_INFINITY;

  /** The map as it is now. */
  function recordOf(state: SweepState): Fetched<RouteMapRow> {
    // The clock of the gateway that led before may be ahead.
    writtenAt = Math.max(Date.now(), writtenAt + 1, readAt + 1);
    const rows = rowsOfRouteMap(map, state);
    return { source: listing.source, takenAt: writtenAt, rows, rejected: { count: 0, first: [] } };
  }

  /** Stores the map if it differs from what was stored last. @returns settles when other gateways have it */
  async function save(state: SweepState, lead: Leadership<RouteMapRow> | undefined): Promise<void> {
    const stamp = JSON.stringify([map.answers, state]);
    if (stamp === saved || (map.size === 0 && !state.failure)) return;
    saved = stamp;
    savedAt = performance.now();
    const fetched = recordOf(state);
    disk?.write(ROUTE_MAP, fetched);
    peers.offer(ROUTE_MAP.name, ROUTE_MAP, fetched);
    await lead?.share(fetched);
  }

  return {
    save,
    /** As `save`, but not more often than is worth it. */
    saveIfDue(state: SweepState, lead: Leadership<RouteMapRow> | undefined): void {
      const dueMs = everyMs * Math.max(1, map.pairs / PAIRS_OF_A_SAVE);
      if (performance.now() - savedAt >= dueMs) save(state, lead);
    },
    /**
     * Lets other gateways have the map as it is now, if Redis loses it. Call it after what they shared was added: who
     * leads shares it again only when it has changed, and would not replace an older one.
     */
    offer(state: SweepState): void {
      peers.offer(ROUTE_MAP.name, ROUTE_MAP, recordOf(state));
    },
    /** What is on disk. */
    async restore(): Promise<StoredRouteMap | undefined> {
      const fetched = await disk?.read(ROUTE_MAP);
      return fetched && storedRouteMap(fetched);
    },
    /** What another gateway has shared since the last call. */
    async newest(): Promise<StoredRouteMap | undefined> {
      const fetched = await peers.newest(ROUTE_MAP.name, ROUTE_MAP, readAt);
      if (!fetched || fetched.takenAt <= readAt) return undefined;
      readAt = fetched.takenAt;
      return storedRouteMap(fetched);
    },
  };
}
