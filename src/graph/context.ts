import type { Logger } from '../logger.js';
import type { ListingStatus, StaleListing } from '../snapshots/freshness.js';
import type { CostMeter } from './cost/cost-meter.js';
import type { Dependencies, DependencyTracker } from './dependencies.js';
import type { Loaders } from './loaders.js';

/** What a resolver may reach: one for each operation. */
export interface GatewayContext {
  readonly loaders: Loaders;
  /** What the operation costs so far. */
  readonly cost: CostMeter;
  /** Marks each line with the request's id. */
  readonly log: Logger;
  /** Whether a price of that time (milliseconds since 1970) is young enough to be believed. */
  readonly isPriceFresh: (asOf: number) => boolean;
  /** What else the answer depends on. */
  readonly tracker: DependencyTracker;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** How the listings stand at the time of this operation. */
  readonly listings: () => readonly ListingStatus[];
  /** Which of the snapshots that this operation has read so far were stale at its time. */
  readonly staleListings: () => readonly StaleListing[];
  /** What the answer is made from, once it is; undefined where it is good for this moment alone. */
  readonly dependencies: () => Dependencies | undefined;
}
