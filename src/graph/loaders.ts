/**
 * Reads data for the resolvers of one operation. A look-up of one row gives null for an unknown or malformed key. If
 * the data is in memory, a method returns a value, not a promise: 10,000 tokens must not cost 10,000 promises. In an
 * operation that must not wait, a method throws WOULD_WAIT in place of returning a promise.
 */
import DataLoader from 'dataloader';
import type { Config } from '../config/config.js';
import { routeRequestKey } from '../domain/addresses.js';
import { isIdentifiedBy, parseCaip19 } from '../domain/caip.js';
import { GatewayError } from '../domain/errors.js';
import { parsedBytes } from '../domain/json-parts.js';
import type { Chain, RouteRequest, Token } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { FoundTokens } from '../search/did-you-mean.js';
import { needsChains, type TokenSearchRequest } from '../search/token-search.js';
import { type OperationRoutes, type RoutesRead, requestWith } from '../snapshots/operation-routes.js';
import type { RouteAnswer } from '../snapshots/routes.js';
import type { ChainSnapshot, IndexedListings, ListingName, TokenSnapshot } from '../snapshots/snapshot.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import type { TokenSources } from '../snapshots/sources.js';
import { addressUnits, type CostMeter, ROUTE_UNITS, searchUnits } from './cost.js';
import type { DependencyTracker } from './dependencies.js';

/** A value, or a promise of it if it must be loaded first. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Passes a value on: at once if it is loaded, otherwise when its promise resolves. */
export function whenReady<Value, Result>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? nonFatal(value.then(use)) : use(value);
}

/** Keeps a rejection from ending the process: if another part of the operation throws first, nobody waits for it. */
function nonFatal<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

/** Thrown in place of waiting. Not an Error, because it can be thrown often, and to make a stack takes long. */
const WOULD_WAIT: unknown = Object.freeze({ message: 'This operation has to wait for the upstream.' });
/** An operation keeps about this many bytes for each of its `keptUnits`. */
const BYTES_OF_UNIT = 100;
/** A waiting operation keeps the values of its request twice: as the gateway and as GraphQL Yoga have parsed them. */
const COPIES = 2;
/**
 * While the waiting operations keep more than this, no further one that keeps much may wait. One operation keeps at most
 * about 25 MB, for the 250,000 units of MAX_COST.
 */
const MAX_BYTES = 32 * 2 ** 20;
const MAX_BYTES_OF_CLIENT = MAX_BYTES / 4;
/** Any operation may keep this much. A usual one, of the picker or of a tool for agents, has up to 100 lexical tokens. */
const FREE_BYTES = 65_536;

/** The answer for a token that cannot be in any listing. */
export const NO_ROUTES: RouteAnswer = { rows: [], takenAt: 0, isUnlisted: true };
/** This many reads of rows may wait for a listing free of charge, and three more for each listed token. */
const FREE_WAITS = 500;

/**
 * One operation waits for the upstream at most this long in all. With the earlier waits, in the queue and for an equal
 * request, it ends within 30 s, before common proxies give up.
 */
export const MAX_UPSTREAM_WAIT_MS = 25_000;
const LATE = `The upstream did not answer within the ${MAX_UPSTREAM_WAIT_MS / 1_000} s for which an operation waits. Try again in a few seconds.`;

export interface LoaderOptions extends Pick<Config, 'maxRoutesPerOperation'> {
  readonly snapshots: Snapshots;
  readonly metrics: { waited(reason: 'upstream', seconds: number): void };
  /** The operations of the gateway that wait for the upstream. */
  readonly waiting: Set<Loaders>;
}

/** Who asks, and how the operation waits. */
export interface OperationFacts {
  /** The id of the request, for log lines; undefined for an operation that does not log. */
  readonly requestId?: string | undefined;
  /** The client, such as its address. Clients take turns, and all operations without a client count as one client's. */
  readonly client?: string | undefined;
  /** The body of the request, or its target if it has none: the operation keeps it and its parsed values. */
  readonly text?: string | undefined;
  /** When the operation stops waiting for the upstream, by `performance.now()`; by default after the longest wait. */
  readonly waitsUntil?: number | undefined;
  /**
   * Waits for a turn in the queue. Called after each wait for the upstream: one answer can resume many operations.
   * Absent for an operation that must not wait: in place of returning a promise or asking the upstream, a loader throws.
   */
  readonly yieldToQueue?: () => Promise<void>;
}

/** A class, because each operation creates one and uses few methods. An object of closures would create all of them. */
export class Loaders {
  /** The first snapshots that this operation waits for. All reads of one listing wait for one turn in the queue. */
  private readonly pending = new Map<ListingName, Promise<IndexedListings[ListingName]>>();
  /** The routes that this operation has read or requested, by `routeRequestKey`. */
  private readonly knownRoutes = new Map<string, MaybePromise<RoutesRead>>();
  private readonly routes: OperationRoutes;
  private routeLoader: DataLoader<RouteRequest, RoutesRead> | undefined;
  /** For how many tokens the operation has asked for routes that were not cached. */
  askedRoutes = 0;
  private hasFetchedRoutes = false;
  /** How many reads of rows wait for a listing. */
  private waits = 0;
  /** How many answers of the upstream the operation waits for now. */
  private awaited = 0;
  private requestBytes: number | undefined;
  private readonly waitsUntil: number;

  constructor(
    private readonly options: LoaderOptions,
    private readonly tracker: DependencyTracker,
    private readonly cost: CostMeter,
    private readonly operation: OperationFacts,
  ) {
    this.routes = options.snapshots.operationRoutes();
    this.waitsUntil = operation.waitsUntil ?? performance.now() + MAX_UPSTREAM_WAIT_MS;
  }

  /** The listing that the operation waits for, or would wait for if it could; undefined if there is none. */
  get pendingListing(): Promise<unknown> | undefined {
    const [first] = this.pending.values();
    return first;
  }

  /** Resolves when each listing that other fields of this operation wait for is loaded or has failed. */
  async settled(): Promise<void> {
    // Lets the resolvers of later fields start first.
    await null;
    for (let awaited = -1; awaited < this.pending.size; ) {
      awaited = this.pending.size;
      await Promise.allSettled(this.pending.values());
    }
  }

  /**
   * Passes the snapshot of a listing to `use`, and returns its result: at once, or when the listing is loaded.
   *
   * @param instead for reads that each row repeats: the result once the operation was refused for its cost
   */
  read<Name extends ListingName, Result>(
    name: Name,
    use: (snapshot: IndexedListings[Name]) => MaybePromise<Result>,
    instead?: Result,
  ): MaybePromise<Result> {
    // Hot path: called for each row of a join.
    const { tracker } = this;
    tracker.noteListing(name);
    const snapshot = tracker.pinned[name];
    return snapshot ? use(snapshot) : this.readLater(name, use, instead);
  }

  private readLater<Name extends ListingName, Result>(
    name: Name,
    use: (snapshot: IndexedListings[Name]) => MaybePromise<Result>,
    instead: Result | undefined,
  ): MaybePromise<Result> {
    const { cost, tracker } = this;
    const isOfRow = instead !== undefined;
    if (isOfRow && cost.refusal) return instead;
    const first = this.first(name);
    this.assertMayWait();
    // Each row can wait, and then have an error. `chain`, `caip19` and `isNative` of all listed tokens may always wait.
    const free = FREE_WAITS + 3 * (tracker.pinned.tokens?.rows.length ?? 0);
    if (isOfRow && ++this.waits > free) cost.spendOnError();
    return nonFatal(first.then(use));
  }

  /** Waits for the first snapshot of a listing. Rejects as `wait` does. */
  private first<Name extends ListingName>(name: Name): Promise<IndexedListings[Name]> {
    const load = async () => {
      const snapshot = await this.options.snapshots.first[name]();
      this.tracker.pinned[name] = snapshot;
      return snapshot;
    };
    const first = this.pending.get(name) ?? nonFatal(this.wait(load));
    this.pending.set(name, first);
    return first as Promise<IndexedListings[Name]>;
  }

  chainsIfLoaded(): ChainSnapshot | undefined {
    // Noted in any case: without the listing, the response differs once it is loaded.
    this.tracker.noteListing('chains');
    return this.tracker.pinned.chains;
  }

  chainsBySearch(search: string, chainTypes?: readonly string[]): MaybePromise<readonly Chain[]> {
    return this.read('chains', (chains) => {
      const isSearch = search !== '' || chainTypes !== undefined;
      if (isSearch) this.cost.spend(searchUnits(chains.rows.length, search));
      return chains.matching(search, chainTypes);
    });
  }

  chainByKey(chainKey: string): MaybePromise<Chain | null> {
    return this.read('chains', (chains) => chains.byKey(chainKey) ?? null, null);
  }

  chainByCaip2(caip2: string): MaybePromise<Chain | null> {
    return this.read('chains', (chains) => chains.byCaip2(caip2) ?? null, null);
  }

  /** The token at this address, in any of its forms (see `foldAddress`). */
  tokenByAddress(chainKey: string, address: string): MaybePromise<Token | null> {
    this.cost.spend(addressUnits(address));
    return this.read('tokens', (tokens) => tokens.byAddress(chainKey, address) ?? null, null);
  }

  tokenByCaip19(caip19: string): MaybePromise<Token | null> {
    const parts = parseCaip19(caip19);
    if (!parts) return null;
    return whenReady(this.chainByCaip2(parts.caip2), (chain) => {
      if (!chain) return null;
      const found = this.tokenByAddress(chain.chainKey, parts.address);
      return whenReady(found, (token) => (token && isIdentifiedBy(parts, chain, token) ? token : null));
    });
  }

  tokensListed(chainKey: string | undefined): MaybePromise<readonly Token[]> {
    const use = (tokens: TokenSnapshot) => (chainKey === undefined ? tokens.rows : tokens.byChain(chainKey));
    return this.read('tokens', use, []);
  }

  tokenSearch(request: Omit<TokenSearchRequest, 'pricesUsable'>): MaybePromise<FoundTokens> {
    const { tracker } = this;
    // If the chains cannot be loaded, only a filter on chain types fails.
    const loaded = needsChains(request) ? this.read('chains', (snapshot) => snapshot) : undefined;
    const isOptional = loaded instanceof Promise && !request.filter.chainTypes;
    const chains = isOptional ? loaded.catch(() => undefined) : loaded;
    return this.read('tokens', (tokens) => {
      if (request.order === 'RELEVANCE') {
        tracker.noteListing('chains');
        // The order will change when the tokens are indexed with these chains.
        const chainsCursor = tracker.pinned.chains?.history.changes.cursor;
        if (tokens.chainsCursor !== chainsCursor) tracker.note('freshness');
      }
      this.cost.spend(searchUnits(tokens.rows.length, request.query));
      const searchRequest = { ...request, pricesUsable: tracker.isPriceFresh(tokens.takenAt) };
      return whenReady(chains, (known) => tokens.search(searchRequest, known));
    });
  }

  /** Asks the upstream at most once for each token. @throws GatewayError ROUTE_BUDGET_EXCEEDED, synchronously */
  routesFrom(request: RouteRequest): MaybePromise<RouteAnswer> {
    const { tracker, cost } = this;
    const { maxRoutesPerOperation } = this.options;
    const { tokens } = tracker.pinned;
    const key = routeRequestKey(request);
    let answer = this.knownRoutes.get(key);
    if (!answer && tokens) answer = this.routes.known(requestWith(tokens, request), tokens);
    if (!answer) {
      this.assertMayWait();
      if (this.askedRoutes >= maxRoutesPerOperation) {
        const message = `One operation may ask the upstream for the routes of at most ${maxRoutesPerOperation} distinct tokens; this one asks for more. Ask for the rest in another operation.`;
        return this.failRoutes(cost.refusal ?? new GatewayError('ROUTE_BUDGET_EXCEEDED', message));
      }
      this.askedRoutes++;
      cost.spend(ROUTE_UNITS);
      // The loader begins the requests after all resolvers of a level have run: then it is known which listings they read.
      this.routeLoader ??= new DataLoader(
        (requests) =>
          Promise.all(requests.map((each) => this.fetchRoutes(each).catch((error: Error) => error))),
        { cache: false },
      );
      answer = this.routeLoader.load(request);
    }
    this.knownRoutes.set(key, answer);
    const noted = (routes: RoutesRead) => {
      tracker.noteRoutes(routes);
      // Routes agree with the token listing, if there is one.
      if (tracker.pinned.tokens) tracker.noteListing('tokens');
      return routes;
    };
    if (!(answer instanceof Promise)) return noted(answer);
    return answer.then(noted, (error: unknown) => this.failRoutes(error));
  }

  private async fetchRoutes(asked: RouteRequest): Promise<RoutesRead> {
    const { routes } = this;
    const tokens = await this.tokensFor(asked);
    const request = requestWith(tokens, asked);
    const known = routes.known(request, tokens);
    if (known) return known;
    // If the operation has waited for other routes before, it counts as the cause of a timeout.
    const fetch = () => routes.fetch(request, tokens, this.operation.client);
    const answer = await this.wait(fetch, this.hasFetchedRoutes);
    this.hasFetchedRoutes = true;
    return routes.reconciled(answer, request, tokens ?? (await this.tokensFor(asked)));
  }

  /**
   * The token listing for a request of routes, after a wait for the first one if need be; undefined if this wait fails.
   * While a rule may hide tokens, it rejects instead.
   */
  private async tokensFor({ srcChainKey }: RouteRequest): Promise<TokenSnapshot | undefined> {
    const { pinned } = this.tracker;
    const { snapshots } = this.options;
    // Routes would show tokens that a rule may hide.
    if (!pinned.tokens && snapshots.mustHideTokens()) return this.first('tokens');
    const isServed = snapshots.current().tokens !== undefined;
    // A request without a chain does not wait for the first listing, but is sent as the client wrote it.
    const isRead = srcChainKey !== undefined || isServed || this.pending.has('tokens');
    if (!pinned.tokens && isRead) await this.first('tokens').catch(() => {});
    return pinned.tokens;
  }

  /** Null if no background sweep collects routes. */
  sourcesOf(chainKey: string, address: string): MaybePromise<TokenSources | null> {
    const { snapshots } = this.options;
    const { sources } = snapshots;
    if (!sources) return null;
    return this.read('tokens', (tokens) => {
      this.tracker.note('routes');
      return sources.sourcesOf(tokens, chainKey, address);
    });
  }

  private assertMayWait(): void {
    if (!this.operation.yieldToQueue) throw WOULD_WAIT;
  }

  /**
   * Asks the upstream, and waits for its answer, then for a turn in the queue. Rejects with UPSTREAM_TIMEOUT when the
   * operation may wait no longer, and with OVERLOADED, without asking, if it keeps too much memory for a wait.
   */
  private async wait<Answer>(ask: () => Promise<Answer>, isByClient = false): Promise<Answer> {
    const { waiting, metrics } = this.options;
    if (this.keptBytes() > FREE_BYTES) this.assertRoom(waiting);
    waiting.add(this);
    this.awaited++;
    const from = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const fail = () => reject(new UpstreamError('UPSTREAM_TIMEOUT', LATE, { isByClient }));
      timer = setTimeout(fail, Math.max(0, this.waitsUntil - from));
    });
    try {
      return await Promise.race([ask(), late]);
    } finally {
      clearTimeout(timer);
      metrics.waited('upstream', (performance.now() - from) / 1_000);
      try {
        await this.operation.yieldToQueue?.();
      } finally {
        if (--this.awaited === 0) waiting.delete(this);
      }
    }
  }

  /** Estimates the bytes that the operation keeps now: its request and document, and the fields and rows that it has found. */
  private keptBytes(): number {
    this.requestBytes ??= COPIES * parsedBytes(this.operation.text ?? '');
    return this.requestBytes + BYTES_OF_UNIT * this.cost.keptUnits;
  }

  private assertRoom(waiting: ReadonlySet<Loaders>): void {
    let own = 0;
    let all = 0;
    for (const other of waiting) {
      const bytes = other === this ? 0 : other.keptBytes();
      all += bytes;
      if (other.operation.client === this.operation.client) own += bytes;
    }
    const isByClient = own > MAX_BYTES_OF_CLIENT;
    if (!isByClient && all <= MAX_BYTES) return;
    const message =
      'Too many large operations wait for the upstream. Ask for this part again in a few seconds, or in an operation without long lists.';
    throw new GatewayError('OVERLOADED', message, { isByClient });
  }

  /** Charges for the error, since each row can have one. An operation that is refused for its cost gets no further error. */
  private failRoutes(error: unknown): RouteAnswer {
    const { cost } = this;
    if (cost.refusal) return NO_ROUTES;
    cost.spendOnError();
    throw error;
  }
}
