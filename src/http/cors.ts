/** The origins whose pages may read responses, or `*` for all. */
export type CorsOrigins = '*' | readonly string[];

/** Names and values of response headers. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

const EXPOSED = [
  'access-control-expose-headers',
  'age, cache-status, x-request-id, x-stale-listings',
] as const;
const FOR_ALL: HeaderPairs = [['access-control-allow-origin', '*'], EXPOSED];

/** A page on this machine, such as one that is being developed. */
const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/**
 * Whether a request comes from a page that the settings do not name, at a path that is meant for programs. With `*`,
 * which names none, only pages of this machine are not foreign. The Host header proves nothing: a page can have the
 * name of its own site point to this machine (DNS rebinding).
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
