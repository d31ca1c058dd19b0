/* Reads the routes of one operation within its budget. */
import DataLoader from 'dataloader';
import { tokenRequestKey } from '../domain/addresses.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { TokenRequest } from '../domain/listing.js';
import type { RouteAnswer } from '../snapshots/routes/routes.js';
import type { View } from '../snapshots/view/operation-view.js';
import { type CostMeter, ROUTE_UNITS } from './cost.js';
import { awaitAndYield, type MaybePromise, WOULD_WAIT } from './maybe-promise.js';

export type RouteRequest = TokenRequest & { readonly srcToken: string };

export interface RouteReadsOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Waits in the queue. Called after each wait for the upstream, since one answer can resume many operations. */
  readonly yieldToQueue: () => Promise<void>;
  /** How many distinct route requests this operation may send to the upstream. */
  readonly maxRoutes: number;
  /** Charges route requests. */
  readonly cost: Pick<CostMeter, 'spend'>;
  /**
   * Present for an operation that may not wait: a loader then throws {@link WOULD_WAIT} in place of returning a
   * promise, and does not ask the upstream.
   *
   * @param pendingListing the listing that it would wait for; undefined for routes
   */
  readonly refuseToWait?: ((pendingListing: Promise<unknown> | undefined) => void) | undefined;
}

/** Maximum fields that get an error of their own. Beyond it the whole operation fails with one error. */
const MAX_REFUSED_ROUTES = 1000;

/** Reads the routes of one operation, each once. */
export class RouteReads {
  private readonly asked = new Set<string>();
  private readonly atHand = new Map<string, RouteAnswer>();
  private refused = 0;

  private madeLoader: DataLoader<RouteRequest, RouteAnswer, string> | undefined;

  constructor(private readonly options: RouteReadsOptions) {}

  /** See `Loaders.routesFrom`. */
  routesFrom(filter: RouteRequest): MaybePromise<RouteAnswer> {
    const { view, maxRoutes, cost, refuseToWait } = this.options;
    const key = tokenRequestKey(filter);
    if (!this.asked.has(key)) {
      const atHand = this.atHand.get(key) ?? view.cachedRoutes(filter);
      if (atHand) {
        this.atHand.set(key, atHand);
        return atHand;
      }
      if (refuseToWait) {
        refuseToWait(undefined);
        throw WOULD_WAIT;
      }
      if (this.asked.size >= maxRoutes) return this.refuse();
      this.asked.add(key);
      cost.spend(ROUTE_UNITS);
    }
    return this.loader().load(filter);
  }

  private loader() {
    this.madeLoader ??= new DataLoader<RouteRequest, RouteAnswer, string>(
      (filters) => Promise.all(filters.map((filter) => this.routesOf(filter).catch(asError))),
      { cacheKeyFn: tokenRequestKey },
    );
    return this.madeLoader;
  }

  private async routesOf(filter: RouteRequest): Promise<RouteAnswer> {
    const { view, yieldToQueue } = this.options;
    const request = await view.routeRequest(filter);
    return view.cachedRoutes(request) ?? awaitAndYield(view.routes(request), yieldToQueue);
  }

  /** Throws instead of rejecting: a list of tokens can ask for routes in each of its rows. */
  private refuse(): RouteAnswer {
    const { maxRoutes } = this.options;
    this.refused++;
    if (this.refused > MAX_REFUSED_ROUTES + 1) return NO_ROUTES;
    const message = `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
    if (this.refused > MAX_REFUSED_ROUTES) throw new OperationLimitError('ROUTE_BUDGET_EXCEEDED', message);
    throw new GatewayError('ROUTE_BUDGET_EXCEEDED', message);
  }
}

/** The answer for a token that cannot be in any listing. */
export const NO_ROUTES: RouteAnswer = { rows: [], takenAt: 0, isUnlisted: true };

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
