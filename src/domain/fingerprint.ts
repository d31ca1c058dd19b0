import { createHash } from 'node:crypto';
import type { ListingSource } from './listing.js';

/**
 * The services whose rows may be served, each with a fingerprint of its address. Rows of another service, or of
 * the same one at another address, are not.
 */
export type ServiceFingerprints = Readonly<Partial<Record<ListingSource, string>>>;

/** A short digest of an address, which tells upstreams apart without showing it; a trailing slash makes no difference. */
export function fingerprint(address: string): string {
  return createHash('sha256').update(address.replace(/\/+$/, '')).digest('hex').slice(0, 16);
}
