import type { ReadSnapshots, ServedSnapshots, Snapshots } from '../snapshots/snapshots.js';

/*
 * Dependencies: what a response was made from. They are tracked while an operation runs, kept with its cached
 * response, checked against the snapshots that are served when it is asked for again, and turned into headers.
 */

/** A response is what would be answered again for exactly as long as its dependencies are current. */
export interface Dependencies {
  /** The version of the chain listing; undefined where none of it was read. */
  readonly chains: string | undefined;
  /** The version of the token listing, without its prices where none of these was read. */
  readonly tokens: string | undefined;
  readonly hasPrices: boolean;
  /** When the token listing was fetched, where the response shows that. */
  readonly takenAt: number | undefined;
  /** When they cease to be current in any case (milliseconds since 1970). */
  readonly goodUntil: number;
  /** When a price in the response becomes too old to be shown (milliseconds since 1970); infinite without prices. */
  readonly pricesGoodUntil: number;
}

/** A whole response without errors, which can be given again while its dependencies are current. */
export interface CacheableResult {
  readonly dependencies: Dependencies;
  /** The operation's name, where the client gave one. */
  readonly operation: string | undefined;
}

/** Collects what an operation reads beside rows. Resolvers set these marks. */
export interface DependencyTracker {
  /** True once a price was read, or an order or a filter by prices. */
  prices: boolean;
  /** True if the response shows a price's time or hides a price as too old; both change at every refresh. */
  times: boolean;
  /** True once the status of the listings was read, which changes every second. */
  status: boolean;
  /** When the first price that was read becomes too old (milliseconds since 1970). */
  pricesGoodUntil: number;
}

/** Makes a tracker that has seen nothing yet. */
export function createDependencyTracker(): DependencyTracker {
  return { prices: false, times: false, status: false, pricesGoodUntil: Number.POSITIVE_INFINITY };
}

/** The dependencies of a response; undefined where it holds for this moment alone. */
export function dependenciesOf(read: ReadSnapshots, tracker: DependencyTracker): Dependencies | undefined {
  const { chains, tokens, isMissing, routesGoodUntil } = read;
  if (tracker.status || isMissing) return undefined;
  return {
    chains: chains?.version,
    tokens: tracker.prices ? tokens?.version : tokens?.rowsVersion,
    hasPrices: tracker.prices,
    takenAt: tracker.times ? tokens?.takenAt : undefined,
    goodUntil: Math.min(routesGoodUntil, tracker.pricesGoodUntil),
    pricesGoodUntil: tracker.pricesGoodUntil,
  };
}

/** What the headers of a response with current dependencies say. Times are in milliseconds. */
export interface ResponseInfo {
  /** The value of `x-stale-listings`; undefined where all that was read is fresh. */
  readonly staleListings: string | undefined;
  /** How long until a listing that was read is refreshed, or the response ceases to hold; at least 0. */
  readonly freshForMs: number;
  /** How long until a price in it is too old; infinite without prices. */
  readonly pricesGoodForMs: number;
  /** When the oldest of the snapshots that were read was fetched (since 1970); infinite for none. */
  readonly takenAt: number;
}

/** The info for a response's headers now; undefined where its dependencies are no longer current. */
export type DependencyCheck = (dependencies: Dependencies) => ResponseInfo | undefined;

/** Makes the check against the snapshots that are served. */
export function createDependencyCheck(snapshots: Snapshots): DependencyCheck {
  return (dependencies) => {
    const now = snapshots.now();
    if (!isCurrent(dependencies, snapshots.current(), now)) return undefined;
    const { chains, tokens, goodUntil, pricesGoodUntil } = dependencies;
    const read = { chains: chains !== undefined, tokens: tokens !== undefined };
    const { stale, freshForMs, takenAt } = snapshots.freshness(read, now);
    return {
      staleListings: staleListingsHeader(stale),
      freshForMs: Math.max(0, Math.min(freshForMs, goodUntil - now)),
      pricesGoodForMs: pricesGoodUntil - now,
      takenAt,
    };
  };
}

/** Whether the same request would be answered alike from these snapshots at this time. */
function isCurrent(dependencies: Dependencies, { chains, tokens }: ServedSnapshots, now: number): boolean {
  if (now >= dependencies.goodUntil) return false;
  if (dependencies.chains !== undefined && dependencies.chains !== chains?.version) return false;
  if (dependencies.tokens === undefined) return true;
  if (dependencies.takenAt !== undefined && dependencies.takenAt !== tokens?.takenAt) return false;
  return dependencies.tokens === (dependencies.hasPrices ? tokens?.version : tokens?.rowsVersion);
}

/**
 * The value of `x-stale-listings`: which listings were stale, with their ages in whole seconds, such as
 * `chains;age=340, tokens;age=95`. Undefined where none was.
 */
export function staleListingsHeader(
  stale: readonly { readonly name: string; readonly ageMs: number }[],
): string | undefined {
  if (stale.length === 0) return undefined;
  return stale.map(({ name, ageMs }) => `${name};age=${Math.floor(ageMs / 1000)}`).join(', ');
}

/** How long caches may give a stale response while they fetch a new one, in seconds. */
const STALE_WHILE_REVALIDATE = 60;
/** How long caches may give a stale response while the gateway cannot be reached, in seconds. */
const STALE_IF_ERROR = 86_400;
/** How long caches may give a response that depends on no listing, in seconds: a later release may know more types. */
const MAX_AGE_OF_SCHEMA = 300;

/** The headers by which browsers and CDNs cache a response, as names and values in turn. */
export function cachingHeaders({ freshForMs, pricesGoodForMs, takenAt }: ResponseInfo): string[] {
  const maxAge = Math.floor(Number.isFinite(freshForMs) ? freshForMs / 1000 : MAX_AGE_OF_SCHEMA);
  // Both periods begin when max-age ends, and no cache may show a price that is null here.
  const staleFor = Math.max(0, Math.floor(pricesGoodForMs / 1000) - maxAge);
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE, staleFor);
  const ifError = Math.min(STALE_IF_ERROR, staleFor);
  const control = `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`;
  const headers = ['cache-control', control, 'age', '0'];
  if (takenAt < Number.POSITIVE_INFINITY) headers.push('last-modified', new Date(takenAt).toUTCString());
  return headers;
}
