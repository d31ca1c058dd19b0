import type { IncomingMessage } from 'node:http';

/** How long a client whose body is too large may go on sending before it is cut off. */
const REFUSED_BODY_GRACE_MS = 2_000;

/** What was read of a request. */
export interface ReadBody {
  readonly body?: string;
  /** How many bytes came, where they were too many. */
  readonly bytesOverLimit?: number;
  /** Whether more of them were still coming. */
  readonly isCutOff?: boolean;
}

/**
 * Reads the body up to the limit. What is beyond it is let go by for a while, since a client that is still
 * sending when the connection closes never gets to read why it was refused.
 */
export function readBody(
  request: IncomingMessage,
  maxBodyBytes: number,
  done: (read: ReadBody) => void,
): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    done({});
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  let grace: NodeJS.Timeout | undefined;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
    else grace ??= setTimeout(cutOff, REFUSED_BODY_GRACE_MS);
  });
  request.on('end', finish);

  function finish(): void {
    clearTimeout(grace);
    const [first] = chunks;
    if (bytes > maxBodyBytes) done({ bytesOverLimit: bytes });
    else done({ body: (chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString('utf8') });
  }

  function cutOff(): void {
    request.off('end', finish);
    if (!request.destroyed) done({ bytesOverLimit: bytes, isCutOff: true });
  }
}
