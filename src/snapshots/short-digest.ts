import { createHash, type Hash } from 'node:crypto';

/** Ends a digest as 22 characters, which is 132 bits: enough that two contents never share it. */
export function shortDigest(hash: Hash): string {
  return hash.digest('base64url').slice(0, 22);
}

/** A short digest of JSON. */
export function digestOf(content: unknown): string {
  return shortDigest(createHash('sha256').update(JSON.stringify(content)));
}
