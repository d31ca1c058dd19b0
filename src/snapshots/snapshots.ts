/** Creates the refreshers, routes, sources and views, which together hold all data of the upstream in the gateway. */
import type { EmbeddedFacts } from '../domain/guarded-facts.js';
import type { Chain, Fetched, Service } from '../domain/listing.js';
import { type ListingRules, NO_RULES, type ResolvedRules } from '../domain/listing-rules.js';
import { type FreshMs, freshnessOf, type ListingStatus, type Reads } from './freshness.js';
import {
  byListing,
  LISTING_NAMES,
  LISTINGS,
  type ListingDefinition,
  type ListingName,
  type Refreshers,
  type ServedSnapshots,
} from './listings.js';
import { MAX_UPSTREAM_WAIT_MS, OperationView, type View } from './operation-view.js';
import { createRefresher, type RefreshOptions } from './refresher.js';
import { createReconcile, createRoutes } from './routes.js';
import type { Snapshot } from './snapshot.js';
import { createSources } from './sources.js';
import { NO_PEERS } from './stores.js';

/** Times are in milliseconds. `chainsFreshMs` and `tokensFreshMs` say at which age a listing is refreshed. */
export interface SnapshotsOptions extends RefreshOptions, Readonly<Record<`${ListingName}FreshMs`, number>> {
  readonly service: Service;
  readonly destinationsFreshMs: number;
  /** The hold-back period: a changed guarded value is served after every listing of this time had the same value. */
  readonly holdBackMs: number;
  /** Facts of chains and tokens that are known before the first listing is fetched; none unless given. */
  readonly embedded?: (() => EmbeddedFacts) | undefined;
  readonly rules?: ListingRules | undefined;
  /** How long a sweep takes. It requests the routes from each bridgeable token once. Undefined: no sweep. */
  readonly routesSweepMs?: number | undefined;
}

const NOTHING_EMBEDDED: EmbeddedFacts = { chains: [], chainKeys: new Map(), tokens: new Map() };

export type Snapshots = ReturnType<typeof createSnapshots>;

/** Creates the snapshots and routes. Nothing is fetched before `start`. */
export function createSnapshots(options: SnapshotsOptions) {
  const { service, destinationsFreshMs, holdBackMs, routesSweepMs, peers = NO_PEERS, metrics, log } = options;
  let { rules = NO_RULES } = options;
  const embedded = () => options.embedded?.() ?? NOTHING_EMBEDDED;
  /** The operator's rules. Their CAIP identifiers are resolved to chains and tokens. */
  let resolved = rulesFor();
  /** Whether there were chains when the tokens were last guarded: natives are compared with them. Else guard again. */
  let areCompared = false;
  const operator = () => resolved;
  const chainsToCompare = () => {
    areCompared = refreshers.chains.guarded !== undefined;
    return refreshers.chains.guarded?.rows;
  };
  const context = { holdBackMs, embedded, operator, rulesFor, served, chainsToCompare };
  const refreshers: Refreshers = byListing<Record<ListingName, never>>((name) => {
    const { kind, within } = LISTINGS[name] as unknown as ListingDefinition<unknown, Snapshot<unknown>>;
    return createRefresher({
      ...options,
      ...within(context),
      kind,
      fetch: () => service.fetch(name),
      freshMs: options[`${name}FreshMs`],
      onPublished,
    }) as never;
  });
  const each = LISTING_NAMES.map((name) => refreshers[name]);
  const freshMs: FreshMs = {
    ...byListing<Record<ListingName, number>>((name) => options[`${name}FreshMs`]),
    routes: destinationsFreshMs,
  };
  const tokens = () => refreshers.tokens.snapshot;
  const select: ResolvedRules['selectTokens'] = (rows) => resolved.selectTokens(rows);
  const sourcesOptions = { service, tokens, select, onAsked: metrics?.sweep?.asked, log };
  const sources = routesSweepMs === undefined ? undefined : createSources(routesSweepMs, sourcesOptions);
  const routes = createRoutes({
    service,
    peers,
    freshMs: destinationsFreshMs,
    onAnswer: sources?.enter,
    log,
  });
  const reconcile = createReconcile(operator, metrics?.conflictingRouteRows, log);
  const onWaited = metrics?.waited;
  const held = { service, refreshers, freshMs, sources, routes, reconcile, operator, now, onWaited, log };

  /**
   * Resolves the CAIP identifiers in the rules: by the listed chains, else by removed chains, else by chains that were
   * sent but are not listed yet, else by embedded chains. So rules apply before the first chain listing, too.
   */
  function rulesFor(
    { rows = [], guard }: Partial<Fetched<Chain>> = {},
    sent: readonly Chain[] = [],
  ): ResolvedRules {
    const gone = guard?.gone.map(({ row }) => row) ?? [];
    return rules.resolve(() => [...embedded().chains, ...sent, ...gone, ...rows]);
  }

  function served(): ServedSnapshots {
    return byListing<Record<ListingName, undefined>>((name) => refreshers[name].snapshot as undefined);
  }

  /** Applies the rules to the tokens again if the rules now name other rows, or if no chains were known before. */
  function onPublished(): void {
    const chains = refreshers.chains.guarded;
    if (!chains) return;
    const next = rulesFor(chains);
    if (next.rows === resolved.rows && areCompared) return;
    resolved = next;
    void refreshers.tokens.applyRules();
  }

  /**
   * The present, by which the age of prices is computed (milliseconds since 1970). If the clock was set back after the
   * token listing was fetched, the time that has really passed counts.
   */
  function now(): number {
    const { snapshot } = refreshers.tokens;
    const now = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(now) : now;
  }

  return {
    /** Loads the listings from disk. Await it before `start`. */
    async restore(): Promise<void> {
      // The chains first: a rule that hides tokens can have the CAIP identifier of a chain that only the disk knows.
      for (const refresher of each) await refresher.restore();
    },
    start(): void {
      for (const refresher of each) refresher.start();
      sources?.start(routes);
    },
    refreshNow(): void {
      for (const refresher of each) refresher.refreshNow();
    },
    /** Refreshes all listings for the operator: each result is the new snapshot, or an UpstreamError. */
    refreshOnRequest(): Promise<readonly PromiseSettledResult<Snapshot<unknown>>[]> {
      return Promise.allSettled(each.map((refresher) => refresher.refreshOnRequest()));
    },
    /** Replaces the operator's rules, and applies them to the served listings. */
    async applyRules(next: ListingRules): Promise<void> {
      rules = next;
      resolved = rulesFor(refreshers.chains.guarded);
      for (const refresher of each) await refresher.applyRules();
    },
    now,
    /**
     * Creates the view of one operation.
     *
     * @param client the address of the client: clients take turns at the upstream. All unknown clients count as one
     * @param waitsUntil when the operation stops waiting for the upstream, on the monotonic clock
     */
    view: (client?: string, waitsUntil = performance.now() + MAX_UPSTREAM_WAIT_MS): View =>
      new OperationView(held, client, waitsUntil),
    current: served,
    snapshotOf: (name: ListingName): Snapshot<unknown> | undefined => refreshers[name].snapshot,
    /** An object that stands for the operator's rules and the rows that they name. A change makes a new object. */
    rules: (): object => resolved,
    /** Undefined if routes are not swept, like `sweepStatus`. */
    routeMap: () => sources?.state(),
    sweepStatus: sources?.status,
    heldBack: () => LISTING_NAMES.map((name) => ({ listing: name, ...refreshers[name].heldBack })),
    /** The freshness of the data that was read; `now` is in milliseconds since 1970. */
    freshness: (read: Reads, now: number) =>
      freshnessOf((name) => refreshers[name].snapshot, read, freshMs, now),
    status: (now: number) =>
      LISTING_NAMES.map((name) => ({
        name,
        ...refreshers[name].status(now),
      })) as readonly ListingStatus[] as readonly [chains: ListingStatus, tokens: ListingStatus],
    stop(): void {
      for (const refresher of each) refresher.stop();
      sources?.close();
    },
  };
}
