/** The rules for pages of other origins (CORS). */
/** The origins whose pages may read responses, or `*` for all. */
export type CorsOrigins = '*' | readonly string[];

/** Names and values of response headers. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

const EXPOSED = [
  'access-control-expose-headers',
  'age, cache-status, x-cost, x-request-id, x-stale-listings',
] as const;
const FOR_ALL: HeaderPairs = [['access-control-allow-origin', '*'], EXPOSED];

/** The origins of pages on this machine, such as those of a development server. */
const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/**
 * Whether a request to a path for programs comes from a page whose origin the settings do not name. With `*`, all
 * origins but those of this machine are foreign. The Host header is not compared: a site can let its own host name
 * resolve to this machine (DNS rebinding).
 */
export function isForeignOrigin(origins: CorsOrigins, origin: string | null): boolean {
  if (origin === null) return false;
  return origins === '*' ? !LOOPBACK.test(origin) : !origins.includes(origin);
}

/** The headers that let a page of this origin read a response; never with credentials. */
export function corsHeaders(origins: CorsOrigins, origin: string | null | undefined): HeaderPairs {
  if (origins === '*') return FOR_ALL;
  const vary = ['vary', 'Origin'] as const;
  if (!origin || !origins.includes(origin)) return [vary];
  return [vary, ['access-control-allow-origin', origin], EXPOSED];
}
