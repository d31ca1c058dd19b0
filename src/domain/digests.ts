/** Short digests: of content, to compare it, and of addresses, to distinguish services. */
import { createHash } from 'node:crypto';

/** A short digest of a text: 22 characters (132 bits), so different texts never get equal digests by chance. */
export function textDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

export function digestOf(content: unknown): string {
  return textDigest(JSON.stringify(content));
}

/** By name of a service: the {@link fingerprint} of its address. Stored rows of other services are not served. */
export type ServiceFingerprints = Readonly<Record<string, string>>;

/** Identifies an upstream without revealing its address. A trailing slash is ignored. */
export function fingerprint(address: string): string {
  return createHash('sha256').update(address.replace(/\/+$/, '')).digest('hex').slice(0, 16);
}
