import { LRUCache } from 'lru-cache';
import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * How a client is known that `RATE_LIMIT` refused. `known`: by its connection or a trusted proxy. `forwarded`: the
 * request has `X-Forwarded-For` and came through no trusted proxy, so that the client may be many. `unknown`: the server
 * around the gateway did not name it, so that all such requests are one client.
 */
export type ClientSource = (typeof SOURCES)[number];

const SOURCES = ['known', 'forwarded', 'unknown'] as const;

/** Counts the operations that `RATE_LIMIT` refuses. */
export interface RateLimitMetrics {
  /** @param client as `RATE_LIMIT` counts it; it is no label */
  refused(client: string, source: ClientSource): void;
}

/** How long a client counts as refused after its last refusal. */
const RECENT_MS = 60_000;
/** How many clients the gauge counts at most. They take about 2 MB. */
const MAX_CLIENTS = 10_000;

/** Creates the metrics that tell one client with too many operations from a limit that is too low for all of them. */
export function createRateLimitMetrics(registry: Registry): RateLimitMetrics {
  const registers = [registry];
  const operations = new Counter({
    name: 'gateway_rate_limited_operations_total',
    help: 'Operations refused by RATE_LIMIT, by how their client is known: known, forwarded (has X-Forwarded-For from a proxy that is not trusted) or unknown.',
    labelNames: ['client'],
    registers,
  });
  for (const client of SOURCES) operations.inc({ client }, 0);
  const recent = new LRUCache<string, true>({ max: MAX_CLIENTS, ttl: RECENT_MS });
  new Gauge({
    name: 'gateway_rate_limited_clients',
    help: `Clients of which RATE_LIMIT has refused operations in the last minute; ${MAX_CLIENTS} at most.`,
    registers,
    collect() {
      recent.purgeStale();
      this.set(recent.size);
    },
  });
  return {
    refused(client, source) {
      operations.inc({ client: source });
      recent.set(client, true);
    },
  };
}
