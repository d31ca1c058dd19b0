import DataLoader from 'dataloader';
import { tokenFilterKey } from '../domain/addresses.js';
import { listedKey } from '../domain/chain-keys.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { Token, TokenFilter } from '../domain/listing.js';
import { ROUTE_UNITS } from './cost/cost.js';
import type { CostMeter } from './cost/cost-meter.js';
import { inTurn, type LateReadsOptions } from './late-reads.js';
import { type MaybePromise, WOULD_WAIT } from './maybe-promise.js';

export type RouteFilter = TokenFilter & { readonly srcToken: string };

export interface RouteReadsOptions extends LateReadsOptions {
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
  private readonly atHand = new Map<string, readonly Token[]>();
  private refused = 0;

  private madeLoader: DataLoader<RouteFilter, readonly Token[], string> | undefined;

  constructor(private readonly options: RouteReadsOptions) {}

  /** As `Loaders.routesFrom`. */
  routesFrom(given: RouteFilter): MaybePromise<readonly Token[]> {
    const { view, maxRoutes, cost, refuseToWait } = this.options;
    const filter = this.withListedChain(given);
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
      cost.spend(ROUTE_UNITS);
      this.asked.add(key);
    }
    return this.loader().load(filter);
  }

  private loader() {
    this.madeLoader ??= new DataLoader<RouteFilter, readonly Token[], string>(
      (filters) => Promise.all(filters.map((filter) => this.routesOf(filter).catch(asError))),
      { cacheKeyFn: tokenFilterKey },
    );
    return this.madeLoader;
  }

  private async routesOf(filter: RouteFilter): Promise<readonly Token[]> {
    const { view, nextTurn } = this.options;
    const request = await view.routeRequest(filter);
    return view.cachedRoutes(request) ?? inTurn(view.routes(request), nextTurn);
  }

  /** With the chain key as listed: in other letter case, it would be another request to the upstream. */
  private withListedChain(given: RouteFilter): RouteFilter {
    const { srcChainKey } = given;
    const listed = this.options.view.untracked().tokens?.rowsByChain;
    if (srcChainKey === undefined || !listed) return given;
    const key = listedKey(listed, srcChainKey);
    return key === undefined || key === srcChainKey ? given : { ...given, srcChainKey: key };
  }

  /** Throws instead of rejecting: a list of tokens can ask for as many routes as it has rows. */
  private refuse(): readonly Token[] {
    const { maxRoutes } = this.options;
    this.refused++;
    if (this.refused > MAX_REFUSED_ROUTES + 1) return [];
    const message = `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
    if (this.refused > MAX_REFUSED_ROUTES) throw new OperationLimitError('ROUTE_BUDGET_EXCEEDED', message);
    throw new GatewayError('ROUTE_BUDGET_EXCEEDED', message);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
