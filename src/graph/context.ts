/** The context of an operation: everything that its resolvers may use. */
import { maxResponseBytes } from '../domain/text-limits.js';
import type { Logger } from '../logger/logger.js';
import { type CostLimits, CostMeter } from './cost.js';
import { DependencyTracker, dependenciesOf } from './dependencies.js';
import { type LoaderOptions, Loaders, type Waiting } from './loaders.js';

/** The part of a context that all operations share. */
export interface ContextOptions extends CostLimits, LoaderOptions {
  /** A price that is older than this (in milliseconds) is shown as null. */
  readonly priceMaxAgeMs: number;
  readonly introspection: boolean;
  readonly log: Logger;
}

/** The part of a context that differs between operations. */
export interface OperationFacts extends Waiting {
  /** The id of the request, for log lines; undefined for an operation that does not log. */
  readonly requestId?: string | undefined;
}

export type GatewayContext = ReturnType<typeof createContext>;

export function createContext(options: ContextOptions, operation: OperationFacts) {
  const { snapshots, priceMaxAgeMs, introspection, log } = options;
  const { requestId } = operation;
  const pinned = snapshots.current();
  const now = snapshots.now();
  const listedTokens = () => pinned.tokens?.rows.length ?? 0;
  const cost = new CostMeter(options, listedTokens);
  const tracker = new DependencyTracker(pinned, cost, now);
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. Notes the dependency. */
  const isPriceFresh = (asOf: number): boolean => {
    const isFresh = asOf >= now - priceMaxAgeMs;
    if (isFresh) tracker.notePriceGoodUntil(asOf + priceMaxAgeMs);
    else tracker.note('priceTimes');
    return isFresh;
  };
  return {
    loaders: new Loaders(options, { pinned, tracker, isPriceFresh, cost }, operation),
    cost,
    tracker,
    isPriceFresh,
    /** Makes a log that adds the request's id to each line. It is only called for errors. */
    log: () => log.child({ requestId }),
    /** Limit on the bytes of the response, at the present size of the token listing. */
    maxResponseBytes: () => maxResponseBytes(listedTokens()),
    introspection,
    /** The status of both listings at the time of this operation. */
    listings() {
      tracker.note('freshness');
      return snapshots.status(now);
    },
    /** The snapshots and routes read so far that were stale at the time of this operation. */
    staleListings() {
      const read = { listings: tracker.listings, routesTakenAt: tracker.reads.routesTakenAt };
      return snapshots.freshness(pinned, read, now).stale;
    },
    /** The dependencies of the finished response; undefined if it must not be cached. */
    dependencies: () => dependenciesOf(pinned, tracker),
  };
}
