import type { Snapshots } from '../snapshots/snapshots.js';
import type { RouteMapVersion } from '../snapshots/sources/sources.js';
import type { ReadSnapshots, ServedState } from '../snapshots/view/operation-view.js';
import type { TrackedReads } from './dependency-tracker.js';

/*
 * Dependencies: what a response was made from. They are tracked while an operation runs, kept with its cached
 * response, checked against the snapshots that are served when it is asked for again, and turned into headers.
 */

/** While they are current, executing the request again would give the same response. */
export interface Dependencies {
  /** The version of the chain listing; undefined if it was not read. */
  readonly chains: string | undefined;
  /** The version of the token listing, or of its rows without prices if no price was read. Undefined if not read. */
  readonly tokens: string | undefined;
  readonly hasPrices: boolean;
  /** When the token listing was fetched, if the response shows that time. */
  readonly takenAt: number | undefined;
  /** When they cease to be current even if no listing changes (milliseconds since 1970). */
  readonly goodUntil: number;
  /** When a price in the response becomes too old to be shown (milliseconds since 1970); infinite without prices. */
  readonly pricesGoodUntil: number;
  /** The version of the map of routes, with its answers if their time is shown; undefined if it was not read. */
  readonly routeMap?: Partial<RouteMapVersion> | undefined;
  /** When the oldest routes in the response were fetched (milliseconds since 1970); undefined without routes. */
  readonly routesTakenAt?: number | undefined;
  /** If the response shows the time of routes: while it is the same, no newer routes have taken their place. */
  readonly routeEvictions?: number | undefined;
  /** The operator's rules; undefined if no routes were read, since the listings alone show them then. */
  readonly rules?: object | undefined;
}

/** A complete result without errors; reusable while its dependencies are current. */
export interface CacheableResult {
  readonly dependencies: Dependencies;
  /** The operation's name, if the client gave one. */
  readonly operation: string | undefined;
}

/** The dependencies of a response; undefined if it holds for this moment only. */
export function dependenciesOf(read: ReadSnapshots, tracked: TrackedReads): Dependencies | undefined {
  const { chains, tokens, isMissing, routes, routeMap } = read;
  if (tracked.freshness || isMissing) return undefined;
  return {
    chains: chains?.version,
    tokens: tracked.prices ? tokens?.version : tokens?.rowsVersion,
    hasPrices: tracked.prices,
    takenAt: tracked.priceTimes ? tokens?.takenAt : undefined,
    goodUntil: Math.min(routes?.goodUntil ?? Number.POSITIVE_INFINITY, tracked.pricesGoodUntil),
    pricesGoodUntil: tracked.pricesGoodUntil,
    routeMap: routeMap && (tracked.routeTimes ? routeMap : { version: routeMap.version }),
    routesTakenAt: routes?.takenAt,
    routeEvictions: tracked.routeTimes ? routes?.evictions : undefined,
    rules: routes?.rules,
  };
}

/** The facts behind the caching headers of a response. Times are in milliseconds. */
export interface ResponseInfo {
  /** The moment that they are about (since 1970). */
  readonly now: number;
  /** The value of `x-stale-listings`; undefined if everything that was read is fresh. */
  readonly staleListings: string | undefined;
  /** How long until a listing that was read is refreshed, or the dependencies expire; at least 0. */
  readonly freshForMs: number;
  /** How long until a price in it is too old; infinite without prices. */
  readonly pricesGoodForMs: number;
  /** When the oldest snapshot that was read was fetched (since 1970); infinite if none was read. */
  readonly takenAt: number;
}

/** Gives what a response's headers need now; undefined if the dependencies are no longer current. */
export type DependencyCheck = (dependencies: Dependencies) => ResponseInfo | undefined;

/** Makes the check of dependencies against the snapshots that are served now. */
export function createDependencyCheck(snapshots: Snapshots): DependencyCheck {
  return (dependencies) => {
    const now = snapshots.now();
    if (!isCurrent(dependencies, snapshots.current(), now)) return undefined;
    if (dependencies.routeMap && !isSame(dependencies.routeMap, snapshots.routeMap())) return undefined;
    const { chains, tokens, goodUntil, pricesGoodUntil, routesTakenAt, routeEvictions } = dependencies;
    if (routeEvictions !== undefined && routeEvictions !== snapshots.routeEvictions()) return undefined;
    const read = { chains: chains !== undefined, tokens: tokens !== undefined, routesTakenAt };
    const { stale, freshForMs, takenAt } = snapshots.freshness(read, now);
    return {
      now,
      staleListings: staleListingsHeader(stale),
      freshForMs: Math.max(0, Math.min(freshForMs, goodUntil - now)),
      pricesGoodForMs: pricesGoodUntil - now,
      takenAt,
    };
  };
}

function isCurrent(dependencies: Dependencies, { chains, tokens, rules }: ServedState, now: number): boolean {
  if (now >= dependencies.goodUntil) return false;
  if (dependencies.rules !== undefined && dependencies.rules !== rules) return false;
  if (dependencies.chains !== undefined && dependencies.chains !== chains?.version) return false;
  if (dependencies.tokens === undefined) return true;
  if (dependencies.takenAt !== undefined && dependencies.takenAt !== tokens?.takenAt) return false;
  return dependencies.tokens === (dependencies.hasPrices ? tokens?.version : tokens?.rowsVersion);
}

function isSame({ version, answers }: Partial<RouteMapVersion>, now: RouteMapVersion | undefined): boolean {
  return version === now?.version && (answers === undefined || answers === now?.answers);
}

/**
 * The value of `x-stale-listings`: the stale listings with their ages in whole seconds, such as
 * `chains;age=340, tokens;age=95`. Undefined if none was stale.
 */
export function staleListingsHeader(
  stale: readonly { readonly name: string; readonly ageMs: number }[],
): string | undefined {
  if (stale.length === 0) return undefined;
  return stale.map(({ name, ageMs }) => `${name};age=${Math.floor(ageMs / 1000)}`).join(', ');
}

/** Seconds for which caches may serve a stale response while they fetch a new one. */
const STALE_WHILE_REVALIDATE = 60;
/** Seconds for which caches may serve a stale response while the gateway is unreachable. */
const STALE_IF_ERROR = 86_400;
/** Seconds for which a response that depends on no listing may be served, such as the schema, which a release can change. */
const MAX_AGE_OF_SCHEMA = 300;

/**
 * How old a stored response is, in milliseconds: since it was made or, if later, since the oldest of its listings was
 * fetched again with the same rows ("generated or validated", RFC 9111).
 *
 * @param madeAt when the response was made (since 1970)
 * @returns undefined if it is too old to be served
 */
export function ageOf({ now, takenAt }: ResponseInfo, madeAt: number): number | undefined {
  const hasListings = takenAt < Number.POSITIVE_INFINITY;
  const ageMs = Math.max(0, now - (hasListings ? Math.max(madeAt, takenAt) : madeAt));
  return hasListings || ageMs < 1000 * MAX_AGE_OF_SCHEMA ? ageMs : undefined;
}

/** The value of the header `Age`. @param ageMs in milliseconds */
export function ageHeader(ageMs: number): string {
  return String(Math.floor(ageMs / 1000));
}

/**
 * The headers for browser and CDN caches, as alternating names and values.
 *
 * A cache keeps a response for `max-age` less `Age`. How long it may is known for the present moment: until the next
 * refresh. So `max-age` is that time and the age together, and the difference stays true however old the response is.
 * There is one exception: without any time left it is 0, since some caches do not look at `Age`. (The age begins again
 * with each refresh, so they keep a response for a refresh interval too long at most.)
 *
 * @param ageMs how old the response is, in milliseconds; 0 for one that was just made
 */
export function cachingHeaders(
  { freshForMs, pricesGoodForMs, takenAt }: ResponseInfo,
  ageMs: number,
): string[] {
  const age = Math.floor(ageMs / 1000);
  const freshFor = Number.isFinite(freshForMs) ? Math.floor(freshForMs / 1000) : MAX_AGE_OF_SCHEMA - age;
  const maxAge = freshFor > 0 ? freshFor + age : 0;
  // Both periods begin when max-age ends. They must end before a price becomes too old, which is null here.
  const staleFor = Math.max(0, Math.floor(pricesGoodForMs / 1000) - freshFor);
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE, staleFor);
  const ifError = Math.min(STALE_IF_ERROR, staleFor);
  const control = `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`;
  const headers = ['cache-control', control, 'age', String(age)];
  if (takenAt < Number.POSITIVE_INFINITY) headers.push('last-modified', new Date(takenAt).toUTCString());
  return headers;
}
