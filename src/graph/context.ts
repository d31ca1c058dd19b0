/** The context of an operation: everything that its resolvers may use. */
import type { Config } from '../config/config.js';
import { maxResponseBytes } from '../domain/text-limits.js';
import type { Logger } from '../logger/logger.js';
import { type CostLimits, CostMeter } from './cost.js';
import { DependencyTracker } from './dependencies.js';
import { type LoaderOptions, Loaders, type Waiting } from './loaders.js';

interface ContextOptions extends Config, CostLimits, LoaderOptions {
  readonly log: Logger;
}

export interface OperationFacts extends Waiting {
  /** The id of the request, for log lines; undefined for an operation that does not log. */
  readonly requestId?: string | undefined;
}

export type GatewayContext = ReturnType<typeof createContext>;

export function createContext(options: ContextOptions, operation: OperationFacts) {
  const { snapshots, introspection, log } = options;
  const pinned = snapshots.current();
  const now = snapshots.now();
  const listedTokens = () => pinned.tokens?.rows.length ?? 0;
  const cost = new CostMeter(options, listedTokens);
  const tracker = new DependencyTracker(pinned, cost, now, options.priceMaxAgeMs);
  return {
    loaders: new Loaders(options, tracker, cost, operation),
    cost,
    tracker,
    /** Makes a log that adds the request's id to each line. It is only called for errors. */
    log: () => log.child({ requestId: operation.requestId }),
    /** Limit on the bytes of the response, at the present size of the token listing. */
    maxResponseBytes: () => maxResponseBytes(listedTokens()),
    introspection,
    listings() {
      tracker.note('freshness');
      return snapshots.status(now);
    },
    /** The listings and routes that this operation has read so far and that were stale, as text for `x-stale-listings`. */
    staleListings: () => snapshots.freshness(pinned, tracker.reads, now).staleListings,
  };
}
