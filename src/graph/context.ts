/** The context of an operation: everything that its resolvers may use. */
import type { Config } from '../config/config.js';
import { maxResponseBytes } from '../domain/text-limits.js';
import type { Logger } from '../logger/logger.js';
import { CostMeter } from './cost.js';
import { DependencyTracker } from './dependencies.js';
import { type LoaderOptions, Loaders, type OperationFacts } from './loaders.js';

type ContextOptions = Config & LoaderOptions & { readonly log: Logger };

export type GatewayContext = ReturnType<typeof createContext>;
export type ResultFacts = ReturnType<GatewayContext['resultFacts']>;

export function createContext(options: ContextOptions, operation: OperationFacts) {
  const { snapshots, introspection, log } = options;
  const pinned = snapshots.current();
  const now = snapshots.now();
  const listedTokens = () => pinned.tokens?.rows.length ?? 0;
  const cost = new CostMeter(options, listedTokens);
  const tracker = new DependencyTracker(pinned, cost, now, options.priceMaxAgeMs);
  const loaders = new Loaders(options, tracker, cost, operation);
  return {
    loaders,
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
    /** Facts about the result of the executed operation. @param operation its name, if the client gave one */
    resultFacts: (operation: string | undefined) => ({
      operation,
      cost: cost.spent.units,
      askedRoutes: loaders.askedRoutes,
      /** While these are current, the result can be used again. Undefined if it must not be cached. */
      dependencies: tracker.dependencies(),
      /** Those of the read listings and routes that are stale, as text for `x-stale-listings`; undefined if none is. */
      staleListings: () => snapshots.freshness(pinned, tracker.reads, now).staleListings,
    }),
  };
}
