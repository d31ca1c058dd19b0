/** Creates the refreshers, routes and sources, which together hold all data of the upstream in the gateway. */
import { isNativeOf, NATIVE_PLACEHOLDER, partsOfTokenKey, tokenKey } from '../domain/addresses.js';
import type { DemoFacts } from '../domain/guarded-facts.js';
import { keyedRows } from '../domain/keyed-rows.js';
import type { Chain, Fetched, Token } from '../domain/listing.js';
import { type ListingRules, type ResolvedRules, resolveRules } from '../domain/listing-rules.js';
import { CHAINS, type ListingKind, TOKENS } from '../upstream/listing-kinds.js';
import { assignCaip2, compareNatives, guardPrices } from './cross-checks.js';
import { type FreshMs, freshnessOf, type Reads } from './freshness.js';
import { guardListing } from './guard.js';
import { unlistedRows } from './known-rows.js';
import { OperationRoutes } from './operation-routes.js';
import { logChainsWithoutCaip2, logUnknownRows } from './refresh-log.js';
import { createRefresher, type RefreshOptions } from './refresher.js';
import { createRoutes, type RouteParts } from './routes.js';
import type { Baseline } from './row-guard.js';
import {
  type ChainSnapshot,
  createChainSnapshot,
  createTokenSnapshot,
  type IndexedListings,
  LISTING_NAMES,
  type ListingName,
  type ServedSnapshots,
  type Snapshot,
  type TokenSnapshot,
} from './snapshot.js';
import { createSources } from './sources.js';

export interface SnapshotsOptions extends RefreshOptions {
  /** The public facts of the demo data, which are known before the first listing is fetched. */
  readonly demoFacts: DemoFacts;
  readonly rules?: ListingRules | undefined;
}

type FirstSnapshots = { readonly [Name in ListingName]: () => Promise<IndexedListings[Name]> };

export type Snapshots = ReturnType<typeof createSnapshots>;

/** Creates the snapshots and routes. Nothing is fetched before `start`. */
export function createSnapshots(options: SnapshotsOptions) {
  const { service, peers, holdBackMs, demoFacts, routesSweepMs, metrics, log } = options;
  let { rules = [] } = options;
  /** The operator's rules, resolved with the chains that were guarded last. */
  let resolved = resolveRulesWith(demoFacts.chains, rules);
  /**
   * The cursor of the chains with which the tokens were last guarded. When chains change, the tokens are guarded again,
   * because the decimals of native assets are compared between both listings, and the token list has `chainId`s.
   */
  let chainsCursorOfTokens: string | undefined;
  const chainsCursor = () => chains.snapshot?.history.changes.cursor;

  const baseline: Baseline = (key) => demoFacts.decimals.get(key);
  /** The decimals of the native currency of a chain. */
  const baselineOfChains: Baseline = (chainKey) => baseline(tokenKey(chainKey, NATIVE_PLACEHOLDER));
  /**
   * The decimals to expect in routes: those last accepted at another upstream, else those of `baseline`, else, for a
   * native asset, those in the chain listing.
   */
  const baselineOfRoutes: Baseline = (key) =>
    tokens.earlier(key)?.decimals ?? baseline(key) ?? nativeDecimals(partsOfTokenKey(key));
  /** The decimals of a native asset in the chain listing; undefined for other tokens. */
  function nativeDecimals({ chainKey, address }: ReturnType<typeof partsOfTokenKey>): number | undefined {
    const chain = chains.snapshot?.byKey(chainKey);
    return chain && isNativeOf(chain, { address }) ? chain.nativeCurrency.decimals : undefined;
  }

  const chains = createRefresher<Chain, ChainSnapshot>({
    ...options,
    kind: CHAINS,
    fetch: () => service.fetch('chains'),
    async guard(sent, before) {
      const ofSent = resolveRulesWith(demoFacts.chains, rules, before, sent.rows);
      const guardOptions = { kind: CHAINS, holdBackMs, rules: ofSent, baseline: baselineOfChains };
      const result = await guardListing(guardOptions, sent, before);
      const listing = assignCaip2(result.listing, before, demoFacts.chainKeys, holdBackMs);
      logChainsWithoutCaip2(log, listing, before);
      // Not `rules`, which may have changed while the rows were guarded.
      const next = resolveRulesWith(demoFacts.chains, ofSent.given, listing);
      // If the rules still name the same rows, what depends on them stays valid.
      const isSame = next.given === resolved.given && next.rows === resolved.rows && !resolved.isPartial;
      if (!isSame) resolved = next;
      return { ...result, listing: { ...listing, rules: resolved } };
    },
    index: createChainSnapshot,
    onPublished,
  });
  const tokens = createRefresher<Token, TokenSnapshot>({
    ...options,
    kind: TOKENS,
    fetch: () => service.fetch('tokens'),
    async guard(sent, before) {
      // Rules, native assets and the token list need the chains. Peers may have them before the upstream answers.
      if (!chains.guarded) await chains.adoptNewest();
      const guardOptions = { kind: TOKENS, holdBackMs, rules: resolved, baseline };
      const result = await guardListing(guardOptions, sent, before);
      chainsCursorOfTokens = chainsCursor();
      const { listing } = result;
      const compared = chains.guarded ? compareNatives(listing, before, chains.guarded) : listing;
      return { ...result, listing: await guardPrices(compared, before) };
    },
    index: (shown, before, rules) => createTokenSnapshot(shown, rules, before, chains.snapshot),
    onPublished,
  });
  const refreshers = { chains, tokens };
  /** Whether no token may be served yet: a rule may hide it, but names a chain that only the chain listing identifies. */
  const mustHideTokens = () => rulesOf(tokens.snapshot).isPartial;
  /** Resolves when the tokens are guarded with the last rules or chains. */
  let reapplied: Promise<void> | undefined;
  const servedTokens = () => (mustHideTokens() ? undefined : tokens.snapshot);
  const first: FirstSnapshots = {
    chains: chains.current,
    async tokens() {
      if (mustHideTokens()) await chains.current();
      const firstTokens = await tokens.current();
      if (!mustHideTokens()) return firstTokens;
      // The chains came while the first tokens were checked.
      await reapplied;
      return tokens.current();
    },
  };
  const current = (): ServedSnapshots => ({ chains: chains.snapshot, tokens: servedTokens() });
  /**
   * The chains are first, so that `restore` reads them first: a rule that hides tokens can name a chain by a
   * CAIP identifier that only the chain listing on disk has.
   */
  const each = LISTING_NAMES.map((name) => refreshers[name]);

  const freshMs: FreshMs = {
    chains: options.chainsFreshMs,
    tokens: options.tokensFreshMs,
    routes: options.destinationsFreshMs,
  };
  const parts: RouteParts = {
    ...{ service, peers, freshMs, holdBackMs, baseline: baselineOfRoutes, metrics, log },
    earlier: tokens.earlier,
    tokens: servedTokens,
    rulesOf,
  };
  const sources = routesSweepMs === undefined ? undefined : createSources(routesSweepMs, parts);
  const routes = createRoutes(parts, sources?.enter);
  const operationParts = { ...parts, routes, now };

  /** The operator's rules that apply to routes beside this token listing: a new object after each change. */
  function rulesOf(tokens: TokenSnapshot | undefined): ResolvedRules {
    return tokens?.rules ?? resolved;
  }

  /** The rules whose unknown rows were logged. */
  let checkedRules: ListingRules | undefined;
  /**
   * Applies the rules to the tokens again if they now name other rows, or if rules or chains have changed.
   * Otherwise, once both listings are loaded, logs which rows in the rules are unknown: once until the rules change.
   */
  function onPublished(): void {
    if (!chains.guarded) return;
    // If the rules have changed while the chains were checked, tokens get the new rules with them.
    if (resolved.given !== rules) void chains.applyRules();
    else if (chainsCursorOfTokens !== chainsCursor() || tokens.snapshot?.rules !== resolved) {
      reapplied = tokens.applyRules();
    } else if (tokens.guarded && checkedRules !== rules) {
      checkedRules = rules;
      const known = new Set([...knownKeys(CHAINS, chains.guarded), ...knownKeys(TOKENS, tokens.guarded)]);
      logUnknownRows(log, resolved.unknown(known));
    }
  }

  /**
   * The present time, for the age of prices (milliseconds since 1970). If the clock was set back after the token
   * listing was fetched, the time that has really passed is used.
   */
  function now(): number {
    const { snapshot } = tokens;
    const clock = Date.now();
    return snapshot ? snapshot.takenAt + snapshot.ageAt(clock) : clock;
  }

  return {
    /** Loads the listings from disk. Await it before `start`. */
    async restore(): Promise<void> {
      for (const refresher of each) await refresher.restore();
    },
    start(): void {
      for (const refresher of each) refresher.start();
      void sources?.start(routes);
    },
    refreshNow(): void {
      for (const refresher of each) refresher.refreshNow();
    },
    /**
     * Refreshes all listings for the operator, and returns the results in the order of `LISTING_NAMES`: each is the new
     * snapshot, or an UpstreamError.
     */
    refreshOnRequest(): Promise<readonly PromiseSettledResult<Snapshot<unknown>>[]> {
      return Promise.allSettled(each.map((refresher) => refresher.refreshOnRequest()));
    },
    /** Replaces the operator's rules, and applies them to the served listings. */
    async applyRules(next: ListingRules): Promise<void> {
      rules = next;
      if (!chains.guarded) resolved = resolveRulesWith(demoFacts.chains, rules);
      await chains.applyRules();
      // With chains, `onPublished` has applied them to the tokens.
      await (chains.guarded ? reapplied : tokens.applyRules());
    },
    now,
    /** The served snapshots, in a new object: an operation adds the first ones that it waits for. */
    current,
    mustHideTokens,
    /** Each waits for the first snapshot of a listing, or gives the served one. Rejects with an UpstreamError. */
    first,
    operationRoutes: () => new OperationRoutes(operationParts),
    /** Undefined without a sweep. */
    sources,
    sweepStatus: sources?.status,
    /** The freshness of the data that was read from these snapshots; `now` is in milliseconds since 1970. */
    freshness: (from: ServedSnapshots, read: Reads, now: number) => freshnessOf(from, read, freshMs, now),
    /** The status of each listing, in the order of `LISTING_NAMES`. */
    status: (now: number) => [chains.status(now), tokens.status(now)] as const,
    stop(): void {
      for (const refresher of each) refresher.stop();
      sources?.close();
    },
  };
}

/**
 * Resolves the CAIP identifiers in the rules: by the listed chains, else by removed chains, else by chains that were
 * sent but are not listed yet, else by the chains of the demo data. If a sent chain has the identifier in the demo
 * data, too, it goes before other sent chains. So rules apply even before the first chain listing, and a chain that
 * only claims an identifier does not get the rules for it.
 */
function resolveRulesWith(
  demoChains: readonly Chain[],
  given: ListingRules,
  { rows = [], guard }: Partial<Fetched<Chain>> = {},
  sent: readonly Chain[] = [],
) {
  const gone = guard?.gone.map(({ row }) => row) ?? [];
  const sentKeys = new Set(sent.map(({ chainKey }) => chainKey));
  const known = demoChains.filter(({ chainKey }) => sentKeys.has(chainKey));
  // A stored row still has the identifier that it claims, even if another chain got it. So such rows are left out.
  const withoutCaip2 = new Set(guard?.unnumbered);
  const identified = [...sent, ...known, ...gone, ...rows].filter(
    ({ chainKey }) => !withoutCaip2.has(chainKey),
  );
  // Of several chains with one identifier, the last one counts.
  return resolveRules(given, [...demoChains, ...identified], guard !== undefined);
}

/** The keys of listed, removed and waiting rows. */
function knownKeys<Row>(kind: ListingKind<Row>, listing: Fetched<Row>): readonly string[] {
  return [...keyedRows(listing.rows, kind.keyOf).keys(), ...unlistedRows(kind, listing).keys()];
}
