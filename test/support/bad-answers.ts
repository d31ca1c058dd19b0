import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip, gzipSync } from 'node:zlib';
import { type Answer, text } from './fake-upstream.js';

const MB = 2 ** 20;
const HUGE_MB = 200;

/** The beginning of a head in raw bytes, for answers that `node:http` would not write. */
export const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
/** A head of the old kind, whose body ends where its connection does. */
export const OLD_HEAD = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n';
/** Levels of arrays on which recursive code runs out of stack. */
export const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

/** An interim answer, which another has to follow. */
export function interim(code: number): string {
  return `HTTP/1.1 ${code} Interim\r\n\r\n`;
}

/** A whole answer with this body, whose length is said to be off by so much. */
export function sized(body: string, off = 0): string {
  return `${HEAD}Content-Length: ${Buffer.byteLength(body) + off}\r\n\r\n${body}`;
}

/** Writes these bytes, and leaves the connection open. */
export function open(bytes: string): Answer {
  return (_response, { socket }) => {
    socket.write(bytes);
  };
}

/** Writes these bytes, and closes the connection. */
export function closed(bytes: string): Answer {
  return (_response, { socket }) => {
    socket.end(bytes);
  };
}

/** Resets the connection, as a machine does that knows nothing of it. */
export const resetHard: Answer = (_response, { socket }) => {
  socket.resetAndDestroy();
};

/** A good head, and then a space each 10 ms. */
export const drip: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  every10Ms(response, () => response.write(' '));
};

/** One interim answer after another, and never the one that they announce. */
export const interimForEver: Answer = (response) => {
  every10Ms(response, () => response.writeProcessing());
};

/** Sends everyone elsewhere, with a path that the fake upstream counts as `/trap`. */
export const redirect: Answer = (response, { headers }) => {
  response.writeHead(301, { location: `http://${headers.host}/trap` }).end();
};

/** 200 MB of JSON that is all spaces, made as fast as they are taken and never held. */
export function huge(code: number): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    // Whoever has read enough breaks it off.
    pipeline(spaces(), response).catch(() => {});
  };
}

/** The same, compressed once to what is hardly anything. */
export function bomb(encoding: keyof typeof bombs): Answer {
  return async (response, request, nth) => {
    made[encoding] ??= bombs[encoding]();
    text(await made[encoding], { 'content-encoding': encoding })(response, request, nth);
  };
}

const bombs = {
  gzip: () => buffer(spaces().pipe(createGzip({ level: 1 }))),
  br: () => buffer(spaces().pipe(createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }))),
  'gzip, gzip': async () => gzipSync(await bombs.gzip()),
};
const made: Partial<Record<keyof typeof bombs, Promise<Buffer>>> = {};

function spaces(): Readable {
  const chunk = Buffer.alloc(MB, ' ');
  return Readable.from(Array.from({ length: HUGE_MB }, () => chunk));
}

function every10Ms(response: Parameters<Answer>[0], write: () => void): void {
  const timer = setInterval(write, 10);
  response.once('close', () => clearInterval(timer));
}
