/** The context of an operation: everything that its resolvers may use. */
import { maxResponseBytes } from '../domain/text-limits.js';
import type { Logger } from '../logger/logger.js';
import type { ListingStatus, StaleListing } from '../snapshots/freshness.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { type CostLimits, CostMeter } from './cost.js';
import { type Dependencies, dependenciesOf } from './dependencies.js';
import { DependencyTracker } from './dependency-tracker.js';
import { Loaders, type LoadersOptions } from './loaders.js';

/** Everything that resolvers may use. Each operation has its own. */
export interface GatewayContext {
  readonly loaders: Loaders;
  /** The cost of the operation so far. */
  readonly cost: CostMeter;
  /** Makes a log that adds the request's id to each line. It is only called for errors. */
  readonly log: () => Logger;
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  /** Limit on the bytes of the response, at the present size of the token listing. */
  readonly maxResponseBytes: () => number;
  /** Notes what the response depends on besides rows. */
  readonly tracker: DependencyTracker;
  /** Whether clients may read the schema. */
  readonly introspection: boolean;
  /** The status of both listings at the time of this operation. */
  readonly listings: () => readonly ListingStatus[];
  /** The snapshots and routes read so far that were stale at the time of this operation. */
  readonly staleListings: () => readonly StaleListing[];
  /** The dependencies of the finished response; undefined if it must not be cached. */
  readonly dependencies: () => Dependencies | undefined;
}

/** The part of a context that all operations share. */
export interface ContextOptions extends Pick<CostLimits, 'maxRows' | 'maxCost' | 'unitsOfWholeToken'> {
  readonly snapshots: Snapshots;
  /** Maximum age of a price in milliseconds; an older one is shown as null. */
  readonly priceMaxAgeMs: number;
  readonly maxRoutesPerOperation: number;
  readonly introspection: boolean;
  readonly log: Logger;
}

/** The part of a context that differs between operations. */
export interface OperationFacts {
  /** The address of the client; undefined if unknown. */
  readonly client: string | undefined;
  /** Until when the operation waits for the upstream, on the monotonic clock; undefined: the maximum wait from now. */
  readonly waitsUntil?: number | undefined;
  /** The id of the operation's request; undefined for an operation that does not log. */
  readonly requestId?: string | undefined;
  /** See {@link LoadersOptions.yieldToQueue}. */
  readonly yieldToQueue: () => Promise<void>;
  readonly refuseToWait?: LoadersOptions['refuseToWait'];
}

/** Makes the context of one operation. */
export function createContext(options: ContextOptions, operation: OperationFacts): GatewayContext {
  const { snapshots, priceMaxAgeMs, introspection, log } = options;
  const { client, waitsUntil, requestId, yieldToQueue, refuseToWait } = operation;
  const view = snapshots.view(client, waitsUntil);
  const now = view.now();
  const { maxRows, maxCost, unitsOfWholeToken, maxRoutesPerOperation: maxRoutes } = options;
  const listedTokens = () => view.untracked('tokens')?.rows.length ?? 0;
  const maxBytes = () => maxResponseBytes(listedTokens());
  const cost = new CostMeter({
    maxRows,
    maxCost,
    unitsOfWholeToken,
    listedTokens,
    maxResponseBytes: maxBytes,
  });
  const tracker = new DependencyTracker(view, cost, now);
  const isPriceFresh = (asOf: number): boolean => {
    const isFresh = asOf >= now - priceMaxAgeMs;
    if (isFresh) tracker.notePriceGoodUntil(asOf + priceMaxAgeMs);
    else tracker.note('priceTimes');
    return isFresh;
  };
  return {
    loaders: new Loaders({ view, tracker, isPriceFresh, maxRoutes, cost, yieldToQueue, refuseToWait }),
    cost,
    log: () => log.child({ requestId }),
    isPriceFresh,
    maxResponseBytes: maxBytes,
    tracker,
    introspection,
    listings() {
      tracker.note('freshness');
      return snapshots.status(now);
    },
    staleListings: () => view.staleReads(now),
    dependencies: () => dependenciesOf(view.readSnapshots(), tracker.reads),
  };
}
