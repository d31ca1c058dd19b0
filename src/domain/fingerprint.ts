import { createHash } from 'node:crypto';

/**
 * The services whose stored rows may be served, by name, each with a fingerprint of its address. Rows of any other
 * service are refused, and so are rows of a listed service from another address.
 */
export type ServiceFingerprints = Readonly<Record<string, string>>;

/**
 * A short digest of an address: it identifies an upstream without showing where it is. A trailing slash makes no
 * difference.
 */
export function fingerprint(address: string): string {
  return createHash('sha256').update(address.replace(/\/+$/, '')).digest('hex').slice(0, 16);
}
