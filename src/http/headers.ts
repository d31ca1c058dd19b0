/** Headers that several modules read or write: request ids, the use of caches, and the access of pages (CORS). */
import { randomUUID } from 'node:crypto';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { QUERY } from './operations.js';
import type { PlainResponse } from './refusal.js';

const REQUEST_ID = /^[\w.:/+=-]+$/;
/** How all ids of this process begin. */
export const REQUEST_IDS = randomUUID().slice(0, 24);
let count = 0;

/** The id of a request, for logs and for `x-request-id`: the client's own if it is short and plain, otherwise a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  if (given && given.length <= TEXT_LIMITS.requestId && REQUEST_ID.test(given)) return given;
  count += 1;
  // The id has the form of a UUID. A random UUID would make cache hits noticeably slower.
  return `${REQUEST_IDS}${count.toString(16).padStart(12, '0')}`;
}

/** Whether the response cache was used (RFC 9211). Each response of the endpoint has this header. */
export const CACHE_STATUS = 'cache-status';
export const HIT = 'gateway; hit';
/** The value for all other responses of the endpoint: executed operations, refusals, the playground. */
export const MISS = 'gateway; fwd=miss';
/** The header with the cost of an operation, in the units of MAX_COST. */
export const COST = 'x-cost';

/** Whether the header has the ETag, compared weakly (RFC 9110), or `*`. False if the header is too long. */
export function hasTag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch || ifNoneMatch.length > TEXT_LIMITS.header) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag.replace(/^W\//, '')) || tags.includes('*');
}

export type CorsOrigins = '*' | readonly string[];

const EXPOSED = [
  'access-control-expose-headers',
  'age, cache-status, ratelimit, ratelimit-policy, retry-after, x-cost, x-request-id, x-stale-listings',
] as const;
const FOR_ALL: readonly string[] = ['access-control-allow-origin', '*', ...EXPOSED];

/** The origins of pages on this machine, such as those of a development server. */
const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/**
 * For requests to `/mcp`. With `*`, all origins are foreign except those of this machine. The Host header is not compared:
 * a site can let its own host name resolve to this machine (DNS rebinding).
 */
export function isForeignOrigin(origins: CorsOrigins, origin: string | null): boolean {
  if (origin === null) return false;
  return origins === '*' ? !LOOPBACK.test(origin) : !origins.includes(origin);
}

/** The headers that let a page of this origin read a response, without credentials; else only `Vary`. */
export function corsHeaders(origins: CorsOrigins, origin: string | null | undefined): readonly string[] {
  if (origins === '*') return FOR_ALL;
  if (!origin || !origins.includes(origin)) return ['vary', 'Origin'];
  return ['vary', 'Origin', 'access-control-allow-origin', origin, ...EXPOSED];
}

/** The answer to a preflight request. Like every response it also gets the {@link corsHeaders}. */
export function preflightAnswer(origins: CorsOrigins, sent: Headers): PlainResponse {
  const isAllowed = origins === '*' || origins.includes(sent.get('origin') ?? '');
  if (!isAllowed) return { status: 204, headers: {}, body: null };
  const wanted = sent.get('access-control-request-headers');
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': `GET, POST, ${QUERY}, OPTIONS`,
      'access-control-max-age': '86400',
      ...(wanted && { 'access-control-allow-headers': wanted, vary: 'Access-Control-Request-Headers' }),
    },
    body: null,
  };
}
