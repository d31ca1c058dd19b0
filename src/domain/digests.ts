/** Short digests: of content, to compare it, and of addresses, to distinguish services. */
import { createHash, type Hash } from 'node:crypto';

/** Finishes a digest. It has 22 characters, which are 132 bits: enough that different contents never have the same. */
export function shortDigest(hash: Hash): string {
  return hash.digest('base64url').slice(0, 22);
}

/** A short digest of a text. */
export function textDigest(text: string): string {
  return shortDigest(createHash('sha256').update(text));
}

/** A short digest of JSON. */
export function digestOf(content: unknown): string {
  return textDigest(JSON.stringify(content));
}

/**
 * The services whose stored rows may be served: by name, a fingerprint of the address. Rows of another service, or of a
 * service at another address, are refused.
 */
export type ServiceFingerprints = Readonly<Record<string, string>>;

/**
 * A short digest of an address: it identifies an upstream without revealing the address. A trailing slash is ignored.
 */
export function fingerprint(address: string): string {
  return createHash('sha256').update(address.replace(/\/+$/, '')).digest('hex').slice(0, 16);
}
