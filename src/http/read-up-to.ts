/** A body of a request, as far as it was read. */
export interface ReadUpTo {
  /** Absent if the body is larger than the limit; hardly more than that is then read. */
  readonly body?: Buffer<ArrayBuffer>;
  readonly bytes: number;
}

/** Reads a whole body, up to a limit. */
export async function readUpTo(
  maxBytes: number,
  stream: AsyncIterable<Uint8Array<ArrayBuffer>> | null,
): Promise<ReadUpTo> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of stream ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > maxBytes) return { bytes };
    chunks.push(chunk);
  }
  const [first] = chunks;
  // Most bodies are one chunk, which is not copied.
  const isWhole = first !== undefined && chunks.length === 1;
  return {
    body: isWhole ? Buffer.from(first.buffer, first.byteOffset, bytes) : Buffer.concat(chunks),
    bytes,
  };
}
