import { expect, it, onTestFinished } from 'vitest';
import type { Fetched, Token } from '../../../src/domain/listing.js';
import { NO_PEERS, type Peers } from '../../../src/snapshots/peers.js';
import { createReverseRoutes } from '../../../src/snapshots/sweep/reverse-routes.js';
import { RouteMap } from '../../../src/snapshots/sweep/route-map.js';
import {
  ROUTE_MAP,
  type RouteMapRow,
  rowsOfRouteMap,
} from '../../../src/snapshots/sweep/route-map-record.js';
import { ROUTES } from '../../../src/upstream/listing-kinds.js';
import { rowOf } from '../../support/sweep.js';
import { createTestLog } from '../../support/test-gateway.js';

const HOUR = 3_600_000;

/** The record of another gateway that knows the routes of so many tokens, all of them to one. */
async function recordOf(count: number): Promise<Fetched<RouteMapRow>> {
  const origin = { source: 'v1', takenAt: Date.now() + count } as const;
  const [row] = (await ROUTES.parse([rowOf('b 0x1')], origin)).rows as readonly [Token];
  const map = new RouteMap();
  for (let nth = 0; nth < count; nth++) {
    map.set({ chainKey: 'a', address: `0x${nth}` }, origin, [['b 0x1', row]]);
  }
  const rows = rowsOfRouteMap(map, { startedAt: 1, failure: null });
  return ROUTE_MAP.parse(JSON.parse(JSON.stringify(rows)), origin);
}

it('a gateway offers the map that it has read from another one, and not only when it stores its own', async () => {
  let shared = await recordOf(1);
  let offered: Fetched<unknown> | undefined;
  let tell = () => {};
  const peers = {
    ...NO_PEERS,
    lead: async () => 'theirs',
    newest: async () => shared,
    subscribe(_topic: string, listener: () => void) {
      tell = listener;
    },
    offer(_topic: string, _kind: unknown, fetched: Fetched<unknown>) {
      offered = fetched;
    },
  } as Peers;
  const { log } = await createTestLog();
  const reverse = createReverseRoutes({
    intervalMs: HOUR,
    listing: { source: 'v1' },
    tokens: () => undefined,
    select: (rows) => rows,
    peers,
    disk: undefined,
    onAsked: undefined,
    log,
  });
  onTestFinished(reverse.close);
  reverse.start({ tokensInBackground: () => Promise.reject(new Error('Expected no request')) });
  const sourcesOffered = () => offered?.rows.filter((row) => (row as RouteMapRow).type === 'source').length;
  for (const count of [1, 2]) {
    shared = await recordOf(count);
    tell();
    await expect.poll(sourcesOffered, { interval: 1 }).toBe(count);
    expect(reverse.status().known).toBe(count);
  }
});
