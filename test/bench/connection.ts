import { connect } from 'node:net';

/** How long a server may do nothing at all. */
const LONGEST_MS = 60_000;
const BUFFER_BYTES = 1 << 18;
const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKS_END = Buffer.from('0\r\n\r\n');

/** Asks over one connection: `next` gives the bytes of each request, and undefined for no more. */
export function askOn(
  url: string,
  next: () => Uint8Array | undefined,
  onAnswer: (status: number, ms: number) => void,
): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let answer = createAnswerReader();

    function send(): void {
      const bytes = next();
      if (!bytes) {
        resolve();
        socket.destroy();
        return;
      }
      answer = createAnswerReader();
      sentAt = performance.now();
      socket.write(bytes);
    }

    const socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        // One buffer for all that comes: the load is to cost less than the servers do.
        buffer: Buffer.allocUnsafe(BUFFER_BYTES),
        callback(count, { buffer, byteOffset }) {
          const status = answer(Buffer.from(buffer, byteOffset, count));
          if (status === undefined) return true;
          try {
            onAnswer(status, performance.now() - sentAt);
            send();
          } catch (error) {
            fail(error);
          }
          return true;
        },
      },
    });
    socket.once('connect', send);
    socket.once('error', fail);
    socket.once('close', () => fail(new Error(`${url} closed the connection before it had answered`)));
    socket.setTimeout(LONGEST_MS, () => fail(new Error(`${url} has not answered for ${LONGEST_MS} ms`)));

    function fail(error: unknown): void {
      reject(error);
      socket.destroy();
    }
  });
}

/** Takes an answer chunk by chunk, and gives its status with the last; nothing may come behind it. */
function createAnswerReader(): (chunk: Buffer) => number | undefined {
  let head = '';
  let status: number | undefined;
  /** Bytes of the body that have not come; undefined where its end is marked instead. */
  let missing: number | undefined;
  let tail = '';

  function readHead(chunk: Buffer): Buffer | undefined {
    const headEnd = chunk.indexOf(HEAD_END);
    // That the end of a head is cut in two by chunks does not come with heads as small as these.
    head += chunk.toString('latin1', 0, headEnd < 0 ? undefined : headEnd);
    if (headEnd < 0) return undefined;
    status = Number(head.slice(9, 12));
    if (!/^transfer-encoding: *chunked/im.test(head)) {
      missing = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    }
    return chunk.subarray(headEnd + HEAD_END.byteLength);
  }

  return (chunk) => {
    const body = status === undefined ? readHead(chunk) : chunk;
    if (!body) return undefined;
    if (missing !== undefined) {
      missing -= body.byteLength;
      return missing > 0 ? undefined : status;
    }
    tail = (tail + body.toString('latin1', Math.max(0, body.byteLength - CHUNKS_END.byteLength))).slice(
      -CHUNKS_END.byteLength,
    );
    return tail === CHUNKS_END.toString('latin1') ? status : undefined;
  };
}
