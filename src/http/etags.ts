/**
 * Whether a client already has what this tag stands for, by its If-None-Match. Compares weakly, as RFC 9110 has
 * it: a proxy may have weakened the tag on its way to the client.
 */
export function hasTag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
