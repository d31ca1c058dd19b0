import { TEXT_LIMITS } from '../domain/text-limits.js';

/** Whether the cache of responses had a response (RFC 9211). Each response of the endpoint has this header. */
export const CACHE_STATUS = 'cache-status';
/** The response was stored. */
export const HIT = 'gateway; hit';
/** No stored response could be used: one was made, or the request was refused. */
export const MISS = 'gateway; fwd=miss';

/**
 * Whether an If-None-Match header contains the ETag, so that the client already has the response. The comparison is
 * weak (RFC 9110): a proxy may have weakened the tag on its way to the client. A header beyond its limit contains none.
 */
export function hasTag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch || ifNoneMatch.length > TEXT_LIMITS.header) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
