import DataLoader from 'dataloader';
import { tokenFilterKey, tokenKey } from '../domain/addresses.js';
import { isIdentifiedBy, parseCaip19 } from '../domain/caip.js';
import { listedKey } from '../domain/chain-keys.js';
import { GatewayError, OperationLimitError } from '../domain/errors.js';
import type { Chain, Token, TokenFilter } from '../domain/listing.js';
import type { FoundTokens } from '../search/suggestions/did-you-mean.js';
import { needsChains, type TokenSearchRequest } from '../search/token-search.js';
import type { ListingChanges } from '../snapshots/history/change-log.js';
import type { TokenSnapshot } from '../snapshots/snapshot.js';
import type { View } from '../snapshots/snapshots.js';
import type { TokenSources } from '../snapshots/sweep/reverse-routes.js';
import { ROUTE_UNITS } from './cost/cost.js';
import type { CostMeter } from './cost/cost-meter.js';
import { type MaybePromise, whenReady } from './maybe-promise.js';

export interface LoadersOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Whether a price fetched at this time (milliseconds since 1970) is young enough to show. */
  readonly isPriceFresh: (asOf: number) => boolean;
  /** How many distinct route requests this operation may send to the upstream. */
  readonly maxRoutes: number;
  /** Counts what route requests cost. */
  readonly cost: Pick<CostMeter, 'spend'>;
  /** Waits for a turn. Called after waiting for the upstream, since an answer resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
  /**
   * Present for an operation that may not wait: a loader throws {@link WOULD_WAIT} in place of returning a promise, and
   * asks nobody.
   *
   * @param arrival the arrival of the listing that it would wait for; undefined for routes
   */
  readonly refuseToWait?: ((arrival: Promise<unknown> | undefined) => void) | undefined;
}

/** Thrown by loaders that may not wait. It has no stack, since it is no fault and may be thrown often. */
export const WOULD_WAIT: unknown = Object.freeze({ message: 'This operation has to wait for the upstream.' });

/**
 * The reads of one operation, batched and without repeats. Each is named after its result, and throws or rejects
 * with a GatewayError. While the snapshots are at hand none returns a promise: a list of 10,000 tokens must not cost
 * 10,000 promises. Make new ones for every operation.
 */
export interface Loaders {
  /** The chain listing, searched. */
  chainsBySearch(search: string, chainTypes?: readonly string[]): MaybePromise<readonly Chain[]>;
  /** The chain with this key, in any letter case. */
  chainByKey(chainKey: string): MaybePromise<Chain | null>;
  /** The chain with exactly this CAIP-2 identifier; null if it is unknown or malformed. */
  chainByCaip2(caip2: string): MaybePromise<Chain | null>;
  /** The token at this address; equal keys of chains and equal addresses may differ in letter case. */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null>;
  /** The token with this CAIP-19 identifier; null if it is unknown or malformed. */
  tokenByCaip19(caip19: string): MaybePromise<Token | null>;
  /** The token listing, or its tokens on one chain. */
  tokensListed(srcChainKey: string | undefined): MaybePromise<readonly Token[]>;
  /**
   * The upstream's answer to a route request. Empty once too many were refused: none of the operation's data is
   * shown then.
   *
   * @throws GatewayError ROUTE_BUDGET_EXCEEDED, synchronously
   */
  routesFrom(filter: TokenFilter & { readonly srcToken: string }): MaybePromise<readonly Token[]>;
  /** The listed tokens of one chain. */
  tokensByChain(chainKey: string): MaybePromise<readonly Token[]>;
  /** How many tokens are listed on one chain. */
  tokenCountByChain(chainKey: string): MaybePromise<number>;
  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): MaybePromise<FoundTokens>;
  /** How the chain listing differs from an earlier state; from none without a cursor. */
  chainChanges(since: string | undefined): MaybePromise<ListingChanges<Chain>>;
  /** How the token listing differs from an earlier state, prices left out; from none without a cursor. */
  tokenChanges(since: string | undefined): MaybePromise<ListingChanges<Token>>;
  /** What can reach this token, as far as it is known; null if routes are not swept. It never asks the upstream. */
  sourcesOf(chainKey: string, address: string): MaybePromise<TokenSources | null>;
}

/** Makes the loaders of one operation. */
export function createLoaders(options: LoadersOptions): Loaders {
  const { view, isPriceFresh, maxRoutes, cost, nextTurn, refuseToWait } = options;

  /** For a listing without a snapshot. */
  function wait<Result>(arrival: Promise<unknown>, load: () => Promise<Result>): Promise<Result> {
    if (!refuseToWait) return load();
    refuseToWait(arrival);
    throw WOULD_WAIT;
  }

  async function inTurn<Value>(value: Promise<Value>): Promise<Value> {
    try {
      return await value;
    } finally {
      await nextTurn();
    }
  }

  // One turn for all reads that wait for a listing.
  const chainsToCome = onDemand(async () => inTurn(Promise.resolve(view.chains())));
  const tokensToCome = onDemand(async () => inTurn(Promise.resolve(view.tokens())));

  const chainLoader = onDemand(
    () =>
      new DataLoader<string, Chain | null>(async (chainKeys) => {
        const chains = await chainsToCome();
        return chainKeys.map((chainKey) => chains.byKey(chainKey) ?? null);
      }),
  );

  const tokenLoader = onDemand(
    () =>
      new DataLoader<Pick<Token, 'chainKey' | 'address'>, Token | null, string>(
        async (keys) => {
          const tokens = await tokensToCome();
          return keys.map(({ chainKey, address }) => tokens.byAddress(chainKey, address) ?? null);
        },
        { cacheKeyFn: ({ chainKey, address }) => tokenKey(chainKey, address) },
      ),
  );

  const routeLoader = onDemand(
    () =>
      new DataLoader<RouteFilter, readonly Token[], string>(
        (filters) => Promise.all(filters.map((filter) => routesOf(filter).catch(asError))),
        { cacheKeyFn: tokenFilterKey },
      ),
  );

  async function routesOf(filter: RouteFilter): Promise<readonly Token[]> {
    const request = await view.routeRequest(filter);
    return view.cachedRoutes(request) ?? inTurn(view.routes(request));
  }

  const routesAsked = new Set<string>();
  const routesAtHand = new Map<string, readonly Token[]>();
  let refusedRoutes = 0;

  function routesFrom(asked: RouteFilter): MaybePromise<readonly Token[]> {
    const filter = withListedChain(asked);
    const key = tokenFilterKey(filter);
    if (!routesAsked.has(key)) {
      const atHand = routesAtHand.get(key) ?? view.cachedRoutes(filter);
      if (atHand) {
        routesAtHand.set(key, atHand);
        return atHand;
      }
      if (refuseToWait) {
        refuseToWait(undefined);
        throw WOULD_WAIT;
      }
      if (routesAsked.size >= maxRoutes) return refuseRoute();
      cost.spend(ROUTE_UNITS);
      routesAsked.add(key);
    }
    return routeLoader().load(filter);
  }

  /** With the chain key as listed: in other letter case, it would be another request to the upstream. */
  function withListedChain(asked: RouteFilter): RouteFilter {
    const { srcChainKey } = asked;
    const listed = view.untracked().tokens?.rowsByChain;
    if (srcChainKey === undefined || !listed) return asked;
    const key = listedKey(listed, srcChainKey);
    return key === undefined || key === srcChainKey ? asked : { ...asked, srcChainKey: key };
  }

  /** Throws instead of rejecting: a list of tokens can ask for as many routes as it has rows. */
  function refuseRoute(): readonly Token[] {
    refusedRoutes++;
    if (refusedRoutes > MAX_REFUSED_ROUTES + 1) return [];
    throw refusedRoutes > MAX_REFUSED_ROUTES ? tooManyRefused(maxRoutes) : routeBudgetExceeded(maxRoutes);
  }

  /** A filter on types needs the chain listing. Names only improve a search, which goes on without them. */
  function chainsFor(request: Pick<TokenSearchRequest, 'query' | 'filter'>) {
    if (!needsChains(request)) return undefined;
    const chains = view.chains();
    if (!(chains instanceof Promise)) return chains;
    return wait(chains, () => (request.filter.chainTypes ? chains : chains.catch(() => undefined)));
  }

  function tokensOf(chainKey: string | undefined): MaybePromise<readonly Token[]> {
    return readTokens((tokens) => (chainKey === undefined ? tokens.rows : tokens.byChain(chainKey)));
  }

  function readTokens<Result>(use: (tokens: TokenSnapshot) => MaybePromise<Result>): MaybePromise<Result> {
    const tokens = view.tokens();
    return tokens instanceof Promise ? wait(tokens, () => tokensToCome().then(use)) : use(tokens);
  }

  function chainByCaip2(caip2: string): MaybePromise<Chain | null> {
    const chains = view.chains();
    if (!(chains instanceof Promise)) return chains.byCaip2(caip2) ?? null;
    return wait(chains, () => chainsToCome().then((arrived) => arrived.byCaip2(caip2) ?? null));
  }

  function tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null> {
    const tokens = view.tokens();
    if (tokens instanceof Promise) return wait(tokens, () => tokenLoader().load({ chainKey, address }));
    return tokens.byAddress(chainKey, address) ?? null;
  }

  function tokenByCaip19(caip19: string): MaybePromise<Token | null> {
    const parts = parseCaip19(caip19);
    if (!parts) return null;
    return whenReady(chainByCaip2(parts.caip2), (chain) => {
      if (!chain) return null;
      const found = tokenByAddress(chain.chainKey, parts.address);
      return whenReady(found, (token) => (token && isIdentifiedBy(parts, chain, token) ? token : null));
    });
  }

  return {
    tokenSearch(request) {
      const chains = chainsFor(request);
      return readTokens((tokens) => {
        const searchRequest = { ...request, pricesUsable: isPriceFresh(tokens.takenAt) };
        return whenReady(chains, (known) => tokens.search(searchRequest, known));
      });
    },
    routesFrom,
    chainsBySearch(search, chainTypes) {
      const chains = view.chains();
      if (!(chains instanceof Promise)) return chains.matching(search, chainTypes);
      return wait(chains, () => chainsToCome().then((arrived) => arrived.matching(search, chainTypes)));
    },
    chainByKey(chainKey) {
      const chains = view.chains();
      if (chains instanceof Promise) return wait(chains, () => chainLoader().load(chainKey));
      return chains.byKey(chainKey) ?? null;
    },
    chainByCaip2,
    tokenByAddress,
    tokenByCaip19,
    sourcesOf: (chainKey, address) =>
      view.isSwept ? readTokens((tokens) => view.sources(tokens, chainKey, address)) : null,
    tokensListed: tokensOf,
    tokensByChain: tokensOf,
    chainChanges(since) {
      const chains = view.chains();
      if (!(chains instanceof Promise)) return chains.changesSince(since);
      return wait(chains, () => chainsToCome().then((arrived) => arrived.changesSince(since)));
    },
    tokenChanges: (since) => readTokens((tokens) => tokens.changesSince(since)),
    tokenCountByChain: (chainKey) => whenReady(tokensOf(chainKey), ({ length }) => length),
  };
}

type RouteFilter = TokenFilter & { readonly srcToken: string };

/** Makes a value when it is first asked for. */
function onDemand<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** How many fields get an error of their own; beyond it the whole operation fails with one error. */
const MAX_REFUSED_ROUTES = 1000;

function routeBudgetExceeded(maxRoutes: number): GatewayError {
  return new GatewayError('ROUTE_BUDGET_EXCEEDED', budgetMessage(maxRoutes));
}

function tooManyRefused(maxRoutes: number): OperationLimitError {
  return new OperationLimitError('ROUTE_BUDGET_EXCEEDED', budgetMessage(maxRoutes));
}

function budgetMessage(maxRoutes: number): string {
  return `One operation may ask the upstream for the routes of at most ${maxRoutes} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
