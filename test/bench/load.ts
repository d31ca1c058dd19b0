/** The load of the bench: connections that send requests as fast as they get responses. */
import { connect } from 'node:net';

export interface Load {
  readonly connections: number;
  readonly bodies?: readonly string[];
  /** Returns the next body to post, in place of `bodies`. */
  readonly next?: () => string;
}

/** `accept` is Apollo Client's. */
export const HEADERS = {
  accept: 'application/graphql-response+json,application/json;q=0.9',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
};

const ANSWER_SECONDS = 60;
/** The run fails if a server sends nothing for this long (milliseconds). */
const SILENT_MS = 60_000;
const BUFFER_BYTES = 1 << 18;

/** Waits for the last responses. @throws Error if one is lost, or its status is not 200 */
export async function runLoad(url: string, load: Load, seconds: number) {
  const next = requestsOf(url, load);
  const latencies: number[] = [];
  const began = performance.now();
  const isOver = () => performance.now() - began >= seconds * 1000;
  const nextOrEnd = () => (isOver() ? undefined : next());
  const onAnswer = (status: number, ms: number) => {
    if (status !== 200) throw new Error(`${url} answered ${status}, not 200`);
    latencies.push(ms);
  };
  await Promise.all(Array.from({ length: load.connections }, () => askOn(url, nextOrEnd, onAnswer)));
  const ms = performance.now() - began;
  const sorted = Float64Array.from(latencies).sort();
  return {
    answers: sorted.length,
    seconds: ms / 1000,
    p50: sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
  };
}

function requestsOf(url: string, { next, bodies = [''] }: Load): () => Uint8Array {
  const lines = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /graphql HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${lines.join('')}`;
  const bytesOf = (body: string) =>
    Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  if (next) return () => bytesOf(next());
  const ready = bodies.map(bytesOf);
  let nth = 0;
  return () => ready[nth++ % ready.length] ?? Buffer.alloc(0);
}

export async function ask(url: string, body: string): Promise<string> {
  return (await send(url, { method: 'POST', headers: HEADERS, body })).text();
}

/** @throws Error for a status other than 2xx and 304; TypeError if the connection fails */
export async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_SECONDS * 1000) });
  if (!response.ok && response.status !== 304) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  return response;
}

/** Sends requests over one connection: `next` returns the bytes of each request, and undefined at the end. */
function askOn(
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
        // The connection reuses one buffer for its input, so that the load costs less than the servers.
        buffer: Buffer.allocUnsafe(BUFFER_BYTES),
        callback(count, { buffer, byteOffset }) {
          try {
            const status = answer(Buffer.from(buffer, byteOffset, count));
            if (status !== undefined) {
              onAnswer(status, performance.now() - sentAt);
              send();
            }
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
    socket.setTimeout(SILENT_MS, () => fail(new Error(`${url} has not answered for ${SILENT_MS} ms`)));

    function fail(error: unknown): void {
      reject(error);
      socket.destroy();
    }
  });
}

/** Reads a response with a Content-Length chunk by chunk. Returns its status with the last chunk. */
function createAnswerReader(): (chunk: Buffer) => number | undefined {
  let status = 0;
  let missing = 0;
  return (chunk) => {
    let body = chunk;
    if (status === 0) {
      // Heads are so small that they are never split over two chunks.
      const headEnd = chunk.indexOf('\r\n\r\n');
      const head = chunk.toString('latin1', 0, headEnd);
      status = Number(head.slice(9, 12));
      missing = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
      if (headEnd < 0 || Number.isNaN(missing))
        throw new Error(`Expected a whole head with a length, got ${head}`);
      body = chunk.subarray(headEnd + 4);
    }
    missing -= body.byteLength;
    return missing > 0 ? undefined : status;
  };
}
