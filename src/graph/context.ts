import type { Logger } from '../logger.js';
import type { ListingStatus, StaleListing } from '../snapshots/freshness.js';
import type { CostMeter } from './cost/cost-meter.js';
import type { Dependencies, DependencyTracker } from './dependencies.js';
import type { Loaders } from './loaders.js';

/** Everything that resolvers may use, made anew for every operation. */
export interface GatewayContext {
  readonly loaders: Loaders;
  /** The cost of the operation so far. */
  readonly cost: CostMeter;
  /** Adds the request's id to each line. */
  readonly log: Logger;
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  /** Collects what the response depends on beside rows. */
  readonly tracker: DependencyTracker;
  /** Whether clients may read the schema. */
  readonly introspection: boolean;
  /** The status of both listings at the time of this operation. */
  readonly listings: () => readonly ListingStatus[];
  /** The snapshots read so far that were stale at the time of this operation. */
  readonly staleListings: () => readonly StaleListing[];
  /** The dependencies of the finished response; undefined if it holds for this moment only. */
  readonly dependencies: () => Dependencies | undefined;
}
