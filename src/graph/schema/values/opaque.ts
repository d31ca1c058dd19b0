/** Writes a value in base64url, which says: not for reading. */
export function encodeOpaque(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Reads what {@link encodeOpaque} wrote; undefined for anything else. */
export function decodeOpaque(text: string): unknown {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips what is not base64url; only what it would write itself was written here.
  if (bytes.toString('base64url') !== text) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
