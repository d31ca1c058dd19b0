/** The length of the parts together, in bytes. */
export function totalBytes(parts: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { byteLength } of parts) bytes += byteLength;
  return bytes;
}
