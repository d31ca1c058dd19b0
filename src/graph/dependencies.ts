import type { Snapshots } from '../snapshots/snapshots.js';
import type { ReadSnapshots } from '../snapshots/view/operation-view.js';
import type { TrackedReads } from './dependency-tracker.js';

/*
 * Dependencies: what a response was made from. They are tracked while an operation runs, kept with its cached
 * response, checked against the snapshots that are served when it is asked for again, and turned into headers.
 */

/** All that responses can be made from, as it is served now. */
const SERVED = {
  chains: (snapshots) => snapshots.current().chains?.version,
  tokens: (snapshots) => snapshots.current().tokens?.version,
  /** In place of `tokens` where no price was read. */
  tokensWithoutPrices: (snapshots) => snapshots.current().tokens?.rowsVersion,
  /** Where the response shows the time of prices, or that they are too old. */
  pricesTakenAt: (snapshots) => snapshots.current().tokens?.takenAt,
  /** Of the operator, where routes were read; otherwise the listings alone show them. */
  rules: (snapshots) => snapshots.current().rules,
  routeMap: (snapshots) => snapshots.routeMap()?.version,
  /** Where the response shows the time of routes: the answers that the map is made from, */
  routeMapAnswers: (snapshots) => snapshots.routeMap()?.answers,
  /** and, of routes asked for, that no newer ones have taken their place. */
  routeEvictions: (snapshots) => snapshots.routeEvictions(),
} satisfies Readonly<Record<string, (snapshots: Snapshots) => unknown>>;

type Served = keyof typeof SERVED;

/** While they are current, executing the request again would give the same response. */
export interface Dependencies {
  /** What it was made from, as it was served then. */
  readonly values: Readonly<Partial<Record<Served, unknown>>>;
  /** When they cease to be current even if nothing served changes (milliseconds since 1970). */
  readonly goodUntil: number;
  /** When a price in the response becomes too old to be shown (milliseconds since 1970); infinite without prices. */
  readonly pricesGoodUntil: number;
  /** When the oldest routes in the response were fetched (milliseconds since 1970); undefined without routes. */
  readonly routesTakenAt: number | undefined;
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
  const { prices, priceTimes, pricesGoodUntil, freshness, routeTimes } = tracked;
  if (freshness || isMissing) return undefined;
  return {
    values: {
      ...(chains && { chains: chains.version }),
      ...(tokens && (prices ? { tokens: tokens.version } : { tokensWithoutPrices: tokens.rowsVersion })),
      ...(tokens && priceTimes && { pricesTakenAt: tokens.takenAt }),
      ...(routes && { rules: routes.rules }),
      ...(routeMap && { routeMap: routeMap.version }),
      ...(routeMap && routeTimes && { routeMapAnswers: routeMap.answers }),
      ...(routes && routeTimes && { routeEvictions: routes.evictions }),
    },
    goodUntil: Math.min(routes?.goodUntil ?? Number.POSITIVE_INFINITY, pricesGoodUntil),
    pricesGoodUntil,
    routesTakenAt: routes?.takenAt,
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

/** Makes the check of dependencies against what is served now. */
export function createDependencyCheck(snapshots: Snapshots): DependencyCheck {
  return ({ values, goodUntil, pricesGoodUntil, routesTakenAt }) => {
    const now = snapshots.now();
    if (now >= goodUntil) return undefined;
    for (const name in values) {
      if (values[name as Served] !== SERVED[name as Served](snapshots)) return undefined;
    }
    const tokens = 'tokens' in values || 'tokensWithoutPrices' in values;
    const read = { chains: 'chains' in values, tokens, routesTakenAt };
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
