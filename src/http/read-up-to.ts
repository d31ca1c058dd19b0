/** Reads a whole body; undefined if it is larger than this, and then hardly more than that is read. */
export async function readUpTo(
  maxBytes: number,
  body: AsyncIterable<Uint8Array>,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
