/** The origins whose pages may read responses, or `*` for all. */
export type CorsOrigins = '*' | readonly string[];

/** Names and values of response headers. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

const EXPOSED = ['access-control-expose-headers', 'x-request-id, x-stale-listings'] as const;
const FOR_ALL: HeaderPairs = [['access-control-allow-origin', '*'], EXPOSED];

/** The headers that let a page of this origin read a response; never with credentials. */
export function corsHeaders(origins: CorsOrigins, origin: string | null | undefined): HeaderPairs {
  if (origins === '*') return FOR_ALL;
  const vary = ['vary', 'Origin'] as const;
  if (!origin || !origins.includes(origin)) return [vary];
  return [vary, ['access-control-allow-origin', origin], EXPOSED];
}
