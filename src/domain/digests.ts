/** Short digests: of content, to compare it, and of addresses, to distinguish services. */
import { createHash, type Hash } from 'node:crypto';

/** Finishes a digest. Its 22 characters are 132 bits: enough to exclude that two contents have the same digest. */
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

/** The {@link fingerprint}s of the addresses of services, by name. Stored rows of other services are not served. */
export type ServiceFingerprints = Readonly<Record<string, string>>;

/** Identifies an upstream without revealing its address. A trailing slash is ignored. */
export function fingerprint(address: string): string {
  return createHash('sha256').update(address.replace(/\/+$/, '')).digest('hex').slice(0, 16);
}
