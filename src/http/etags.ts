/**
 * Whether an If-None-Match header contains the ETag, so that the client already has the response. The comparison is
 * weak (RFC 9110): a proxy may have weakened the tag on its way to the client.
 */
export function hasTag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
