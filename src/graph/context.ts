/** The context of an operation: everything that its resolvers may use. */
import { maxResponseBytes } from '../domain/text-limits.js';
import type { Logger } from '../logger/logger.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { type CostLimits, CostMeter } from './cost.js';
import { DependencyTracker, dependenciesOf } from './dependencies.js';
import { Loaders, type Waiting } from './loaders.js';

/** The part of a context that all operations share. */
export interface ContextOptions extends CostLimits {
  readonly snapshots: Snapshots;
  readonly maxRoutesPerOperation: number;
  /** A price that is older than this (in milliseconds) is shown as null. */
  readonly priceMaxAgeMs: number;
  readonly introspection: boolean;
  readonly log: Logger;
}

/** The part of a context that differs between operations. */
export interface OperationFacts extends Waiting {
  readonly client: string | undefined;
  /** At this time of the monotonic clock the operation stops waiting for the upstream. `Snapshots.view` has the default. */
  readonly waitsUntil?: number | undefined;
  /** The id of the request, for log lines; undefined for an operation that does not log. */
  readonly requestId?: string | undefined;
}

export type GatewayContext = ReturnType<typeof createContext>;

export function createContext(options: ContextOptions, operation: OperationFacts) {
  const { snapshots, priceMaxAgeMs, introspection, log } = options;
  const { requestId } = operation;
  const view = snapshots.view(operation.client, operation.waitsUntil);
  const now = snapshots.now();
  const listedTokens = () => view.snapshot('tokens')?.rows.length ?? 0;
  const cost = new CostMeter(options, listedTokens);
  const tracker = new DependencyTracker(view, cost, now);
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. Notes the dependency. */
  const isPriceFresh = (asOf: number): boolean => {
    const isFresh = asOf >= now - priceMaxAgeMs;
    if (isFresh) tracker.notePriceGoodUntil(asOf + priceMaxAgeMs);
    else tracker.note('priceTimes');
    return isFresh;
  };
  return {
    loaders: new Loaders({ view, tracker, isPriceFresh, cost }, options.maxRoutesPerOperation, operation),
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
    staleListings: () => view.staleOf(tracker.listings, tracker.reads.routesTakenAt, now),
    /** The dependencies of the finished response; undefined if it must not be cached. */
    dependencies: () => dependenciesOf(view, tracker),
  };
}
