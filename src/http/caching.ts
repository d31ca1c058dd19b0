/** HTTP headers about caching that several modules use. */
import { TEXT_LIMITS } from '../domain/text-limits.js';

/** The header that says whether the response cache was used (RFC 9211). Each response of the endpoint has it. */
export const CACHE_STATUS = 'cache-status';
/** The header with the cost of an operation, in the units of MAX_COST. */
export const COST = 'x-cost';
/** The value for a response from the cache. */
export const HIT = 'gateway; hit';
/** The value for all other responses: the operation was executed, or the request was refused. */
export const MISS = 'gateway; fwd=miss';

/**
 * Whether an If-None-Match header contains the ETag, so that the client already has the response. The comparison is
 * weak (RFC 9110): a proxy may have weakened the tag on its way to the client. A header that is too long counts as one
 * without tags.
 */
export function hasTag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch || ifNoneMatch.length > TEXT_LIMITS.header) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
