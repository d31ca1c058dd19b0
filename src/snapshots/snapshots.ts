/** The parts that keep what the gateway holds of the upstream, put together. */
import type { EmbeddedFacts } from '../domain/guarded-facts.js';
import type { Chain, Fetched, Listing, Token } from '../domain/listing.js';
import { type ListingRules, NO_RULES, type ResolvedRules } from '../domain/listing-rules.js';
import { CHAINS, TOKENS } from '../upstream/listing-kinds.js';
import { compareNatives, numberChains } from './changes/agreement.js';
import { guardListing } from './changes/guard.js';
import { guardPrices } from './changes/price-guard.js';
import {
  type Freshness,
  LISTING_NAMES,
  type ListingName,
  type ListingStatus,
  type Reads,
  type StaleListing,
  statusOf,
} from './freshness.js';
import { NO_PEERS } from './peers.js';
import { createRefresher, type Refresher, type RefreshOptions } from './refresher.js';
import { createReconcile } from './routes/route-rows.js';
import { createRoutes } from './routes/routes.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type TokenSnapshot,
  withChainHistory,
} from './snapshot.js';
import { createSources, type SourcesOptions } from './sources/sources.js';
import { OperationView, type ServedSnapshots, type ServedState, type View } from './view/operation-view.js';

/** Times are in milliseconds. */
export interface SnapshotsOptions extends RefreshOptions, Pick<SourcesOptions, 'routeMapLimits'> {
  readonly listing: Listing;
  readonly chainsFreshMs: number;
  readonly tokensFreshMs: number;
  readonly destinationsFreshMs: number;
  /** How long every listing must have a new guarded value until it is accepted; infinite: never. */
  readonly holdBackMs: number;
  /** What is known of rows before the first listing; nothing unless given. */
  readonly embedded?: (() => EmbeddedFacts) | undefined;
  /** What the operator says of the listings; nothing unless given. */
  readonly rules?: ListingRules | undefined;
  /** In this time the routes of all bridgeable tokens are asked for in the background; undefined: never. */
  readonly routesSweepMs?: number | undefined;
}

const NOTHING_EMBEDDED: EmbeddedFacts = { chains: [], chainKeys: new Map(), tokens: new Map() };

export type Snapshots = ReturnType<typeof createSnapshots>;

/** Creates everything that the gateway holds of the upstream. Nothing is fetched before `start`. */
export function createSnapshots(options: SnapshotsOptions) {
  const { listing, destinationsFreshMs, holdBackMs, peers = NO_PEERS, log } = options;
  let { rules = NO_RULES } = options;
  const embedded = () => options.embedded?.() ?? NOTHING_EMBEDDED;
  /** The rules with the chains and tokens that they are about. */
  let operator = resolveRules();
  /** Whether the tokens that are served were compared with the chains: either listing can be the first. */
  let areCompared = false;
  const chains: Refresher<ChainSnapshot, Chain> = createRefresher({
    ...options,
    kind: CHAINS,
    fetch: () => listing.chains(),
    async guard(sent, before, peer) {
      const rules = resolveRules(before, sent.rows);
      const result = await guardListing({ kind: CHAINS, holdBackMs, rules }, sent, before, peer);
      return { ...result, listing: numberChains(result.listing, before, embedded().chainKeys, holdBackMs) };
    },
    select: (rows, guard) => resolveRules({ rows, guard }).selectChains(rows),
    index: async (fetched, before: ChainSnapshot | undefined) =>
      createChainSnapshot(await withChainHistory(fetched, before), before),
    freshMs: options.chainsFreshMs,
    onPublished() {
      const next = resolveRules(chains.guarded);
      if (next.rows === operator.rows && areCompared) return;
      operator = next;
      tokens.applyRules();
    },
  });
  const tokens: Refresher<TokenSnapshot, Token> = createRefresher({
    ...options,
    kind: TOKENS,
    fetch: () => listing.tokens({}),
    async guard(sent, before, peer) {
      const baseline = (key: string) => embedded().tokens.get(key);
      const options = { kind: TOKENS, holdBackMs, rules: operator, baseline };
      const result = await guardListing(options, sent, before, peer);
      const chainRows = chains.guarded?.rows;
      areCompared = chainRows !== undefined;
      const compared = compareNatives(result.listing, before, chainRows ?? [], operator);
      return { ...result, listing: await guardPrices(compared, before) };
    },
    select: (rows) => operator.selectTokens(rows),
    index: (fetched, before: TokenSnapshot | undefined) =>
      createTokenSnapshot(fetched, before, chains.snapshot),
    freshMs: options.tokensFreshMs,
    onPublished() {
      sources?.wake();
      if (!areCompared && chains.guarded) void tokens.applyRules();
    },
  });
  const refreshers = { chains, tokens };
  const operatorNow = () => operator;
  const each = LISTING_NAMES.map((name) => refreshers[name]);
  const { routesSweepMs: intervalMs } = options;
  const sources =
    intervalMs === undefined
      ? undefined
      : createSources({
          ...options,
          intervalMs,
          tokens: () => tokens.snapshot,
          select: (rows) => operator.selectTokens(rows),
          onAsked: options.metrics?.sweep?.asked,
        });
  const routes = createRoutes({
    listing,
    peers,
    freshMs: destinationsFreshMs,
    onAnswer: sources?.enter,
    log,
  });
  const reconcile = createReconcile({
    operator: operatorNow,
    onConflicts: options.metrics?.conflictingRouteRows,
    log,
  });
  const held = {
    listing,
    refreshers,
    sources,
    routes,
    reconcile,
    operator: operatorNow,
    now,
    freshness,
    log,
  };

  /**
   * Identifiers by CAIP mean the listed chains, then those that have gone, then those of an answer that is not listed
   * yet, then the embedded ones: so rules also hold before the first chain listing, and for chains that it has lost.
   */
  function resolveRules(
    { rows, guard }: Partial<Pick<Fetched<Chain>, 'rows' | 'guard'>> = {},
    sent: readonly Chain[] = [],
  ): ResolvedRules {
    return rules.resolve(() => [
      ...embedded().chains,
      ...sent,
      ...(guard?.gone ?? []).map(({ row }) => row),
      ...(rows ?? []),
    ]);
  }

  /**
   * The time by which the age of prices is measured (milliseconds since 1970): the present, or later if the clock was
   * set back since the token listing was fetched.
   */
  function now(): number {
    const { snapshot } = tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  /** A listing without a snapshot is infinitely old. */
  function freshness(of: ServedSnapshots, read: Reads, now: number): Freshness {
    const stale: StaleListing[] = [];
    let freshForMs = Number.POSITIVE_INFINITY;
    let oldestAt = Number.POSITIVE_INFINITY;
    function add(name: StaleListing['name'], takenAt: number | undefined, ageMs: number, freshMs: number) {
      if (ageMs > freshMs) stale.push({ name, ageMs });
      freshForMs = Math.min(freshForMs, Math.max(0, freshMs - ageMs));
      oldestAt = Math.min(oldestAt, takenAt ?? oldestAt);
    }
    for (const name of LISTING_NAMES) {
      const snapshot = of[name];
      const ageMs = snapshot?.ageAt(now) ?? Number.POSITIVE_INFINITY;
      if (read[name]) add(name, snapshot?.takenAt, ageMs, refreshers[name].freshMs);
    }
    const { routesTakenAt } = read;
    if (routesTakenAt !== undefined) add('routes', routesTakenAt, now - routesTakenAt, destinationsFreshMs);
    return { stale, freshForMs, takenAt: oldestAt };
  }

  const current = (): ServedState => ({ chains: chains.snapshot, tokens: tokens.snapshot, rules: operator });

  return {
    /** Loads the listings that are on disk. Await it before `start`. */
    async restore(): Promise<void> {
      await Promise.all(each.map((refresher) => refresher.restore()));
    },
    /** Starts to fetch both listings, and keeps them fresh from then on. */
    start(): void {
      for (const refresher of each) refresher.start();
      sources?.start(routes);
    },
    /** Refreshes both listings now. */
    refreshNow(): void {
      for (const refresher of each) refresher.refreshNow();
    },
    /** Applies other rules of the operator to what is served, and to all that comes later. */
    async applyRules(next: ListingRules): Promise<void> {
      rules = next;
      operator = resolveRules(chains.guarded);
      await chains.applyRules();
      await tokens.applyRules();
    },
    now,
    /**
     * Creates the view of one operation.
     *
     * @param client the address of the client, for sharing the upstream fairly; all unknown clients count as one
     */
    view: (client?: string): View => new OperationView(held, client),
    current,
    /** The version of the map of routes now; undefined if routes are not swept. */
    routeMap: () => sources?.version(),
    /** While it is the same, cached routes are replaced only when they cease to be good. */
    routeEvictions: routes.evictions,
    /** Returns the progress of the sweep; undefined if routes are not swept. */
    sweepStatus: sources?.status,
    /** What is held back of both listings. */
    heldBack: () => LISTING_NAMES.map((name) => ({ listing: name, ...refreshers[name].heldBack })),
    /** The freshness of what was read, together; `now` is in milliseconds since 1970. */
    freshness: (read: Reads, now: number) => freshness(current(), read, now),
    /** The status of both listings; `now` is in milliseconds since 1970. */
    status(now: number): readonly [chains: ListingStatus, tokens: ListingStatus] {
      const of = (name: ListingName) => statusOf(name, refreshers[name], listing.source, now);
      return [of('chains'), of('tokens')];
    },
    stop(): void {
      for (const refresher of each) refresher.stop();
      sources?.close();
    },
  };
}
