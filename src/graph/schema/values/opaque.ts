/** Encodes a value as base64url, which tells clients not to read it. */
export function encodeOpaque(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The JSON in the output of {@link encodeOpaque}, also as plain base64 with padding; undefined for other texts. */
export function jsonOfOpaque(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips characters that are not base64, so accept only what it would write itself.
  const isWhole = text === bytes.toString('base64url') || text === bytes.toString('base64');
  return isWhole ? bytes.toString() : undefined;
}

/** Decodes the output of {@link encodeOpaque}; undefined for anything else. */
export function decodeOpaque(text: string): unknown {
  try {
    return JSON.parse(jsonOfOpaque(text) ?? '');
  } catch {
    return undefined;
  }
}
