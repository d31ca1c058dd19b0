import DataLoader from 'dataloader';
import { tokenFilterKey } from '../domain/addresses.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { TokenFilter } from '../domain/listing.js';
import type { RouteAnswer } from '../snapshots/routes/routes.js';
import type { View } from '../snapshots/view/operation-view.js';
import { type CostMeter, ROUTE_UNITS } from './cost.js';
import { inTurn, type MaybePromise, WOULD_WAIT } from './maybe-promise.js';

export type RouteFilter = TokenFilter & { readonly srcToken: string };

export interface RouteReadsOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Waits for a turn. Called after waiting for the upstream, since an answer resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
  /** How many distinct route requests this operation may send to the upstream. */
  readonly maxRoutes: number;
  /** Counts what route requests cost. */
  readonly cost: Pick<CostMeter, 'spend'>;
  /**
   * Present for an operation that may not wait: a loader throws {@link WOULD_WAIT} in place of returning a promise, and
   * asks nobody.
   *
   * @param arrival the arrival of the listing that it would wait for; undefined for routes
   */
  readonly refuseToWait?: ((arrival: Promise<unknown> | undefined) => void) | undefined;
}

/** How many fields get an error of their own; beyond it the whole operation fails with one error. */
const MAX_REFUSED_ROUTES = 1000;

/** The routes that one operation reads, each once, within its budget. */
export class RouteReads {
  private readonly asked = new Set<string>();
  private readonly atHand = new Map<string, RouteAnswer>();
  private refused = 0;

  private madeLoader: DataLoader<RouteFilter, RouteAnswer, string> | undefined;

  constructor(private readonly options: RouteReadsOptions) {}

  /** As `Loaders.routesFrom`. */
  routesFrom(filter: RouteFilter): MaybePromise<RouteAnswer> {
    const { view, maxRoutes, cost, refuseToWait } = this.options;
    const key = tokenFilterKey(filter);
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
    this.madeLoader ??= new DataLoader<RouteFilter, RouteAnswer, string>(
      (filters) => Promise.all(filters.map((filter) => this.routesOf(filter).catch(asError))),
      { cacheKeyFn: tokenFilterKey },
    );
    return this.madeLoader;
  }

  private async routesOf(filter: RouteFilter): Promise<RouteAnswer> {
    const { view, nextTurn } = this.options;
    const request = await view.routeRequest(filter);
    return view.cachedRoutes(request) ?? inTurn(view.routes(request), nextTurn);
  }

  /** Throws instead of rejecting: a list of tokens can ask for as many routes as it has rows. */
  private refuse(): RouteAnswer {
    const { maxRoutes } = this.options;
    this.refused++;
    if (this.refused > MAX_REFUSED_ROUTES + 1) return NO_ROUTES;
    const message = `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
    if (this.refused > MAX_REFUSED_ROUTES) throw new OperationLimitError('ROUTE_BUDGET_EXCEEDED', message);
    throw new GatewayError('ROUTE_BUDGET_EXCEEDED', message);
  }
}

/** The answer for a token that has no routes. */
export const NO_ROUTES: RouteAnswer = { rows: [], takenAt: 0 };

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
