import type { Leadership, Peers } from '../peers.js';
import { ROUTE_MAP, type RouteMapRow } from './route-map-record.js';

/** Shorter failures of Redis never make gateways sweep alone, in milliseconds. */
const LEAST_ALONE_MS = 60_000;

/**
 * Decides whether this gateway is the one that sweeps. While Redis does not say who does, nobody goes on: each gateway
 * on its own would multiply the requests. If that lasts for the time of a whole sweep, and at least for a minute, each
 * sweeps alone.
 *
 * @param intervalMs the time of a sweep
 */
export function createSweepLead(peers: Peers, intervalMs: number) {
  let lead: Leadership<RouteMapRow> | undefined;
  /** On the monotonic clock. */
  let unknownSince: number | undefined;
  let isEnded = false;

  return {
    /** The leadership, if it is ours and shared with others. */
    get current(): Leadership<RouteMapRow> | undefined {
      return lead?.isOurs() ? lead : undefined;
    },
    /** `new` if it was not ours before. */
    async ask(): Promise<'ours' | 'new' | 'not ours'> {
      if (lead?.isOurs()) return 'ours';
      lead = undefined;
      const asked = await peers.lead(ROUTE_MAP.name, ROUTE_MAP);
      if (asked === 'unknown') {
        unknownSince ??= performance.now();
        return performance.now() - unknownSince > Math.max(intervalMs, LEAST_ALONE_MS) ? 'ours' : 'not ours';
      }
      unknownSince = undefined;
      if (asked === 'theirs') return 'not ours';
      if (isEnded) {
        asked.end();
        return 'not ours';
      }
      lead = asked;
      return 'new';
    },
    end(): void {
      isEnded = true;
      lead?.end();
    },
  };
}
