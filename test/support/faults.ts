/** The known ways in which an upstream can fail, and responses that only look wrong. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, constants, createBrotliCompress, createGzip, gzipSync } from 'node:zlib';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { type Answer, type FakeUpstream, json, reset, stall, status, text } from './fake-upstream.js';

export type GoodListings = { readonly chains: readonly RawChain[]; readonly tokens: readonly RawToken[] };

export interface Fault {
  readonly name: string;
  /** The code of `listings.lastFailure` during the fault. */
  readonly code: `UPSTREAM_${string}`;
  readonly begin: Begin;
}

/** A response that only looks wrong: its rows must be accepted. */
type Oddity = Pick<Fault, 'name' | 'begin'>;

type Begin = (upstream: FakeUpstream, good: GoodListings) => void | Promise<void>;
type Row = RawChain | RawToken;

const MB = 2 ** 20;
const HUGE_MB = 200;

/** The beginning of a head in raw bytes, for responses that `node:http` would not write. */
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
/** A head of HTTP/1.0: its body ends with the connection. */
const OLD_HEAD = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n';
/** An array with so many levels that recursive code exhausts the stack. */
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

function interim(code: number): string {
  return `HTTP/1.1 ${code} Interim\r\n\r\n`;
}

/** A whole response with this body. `off` is added to the right Content-Length, to make it wrong. */
function sized(body: string, off = 0): string {
  return `${HEAD}Content-Length: ${Buffer.byteLength(body) + off}\r\n\r\n${body}`;
}

function open(bytes: string): Answer {
  return (_response, { socket }) => {
    socket.write(bytes);
  };
}

function closed(bytes: string): Answer {
  return (_response, { socket }) => {
    socket.end(bytes);
  };
}

const resetHard: Answer = (_response, { socket }) => {
  socket.resetAndDestroy();
};

const drip: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  every10Ms(response, () => response.write(' '));
};

const interimForEver: Answer = (response) => {
  every10Ms(response, () => response.writeProcessing());
};

/** Redirects every request, to a path that the fake upstream counts as `/trap`. */
const redirect: Answer = (response, { headers }) => {
  response.writeHead(301, { location: `http://${headers.host}/trap` }).end();
};

/** Streams 200 MB of spaces as JSON, as fast as they are read. */
function huge(code: number): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    // The client can abort it.
    pipeline(spaces(), response).catch(() => {});
  };
}

function bomb(encoding: keyof typeof bombs): Answer {
  return async () => {
    made[encoding] ??= bombs[encoding]();
    return text(await made[encoding], { 'content-encoding': encoding });
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

const unreachable = { code: 'UPSTREAM_UNREACHABLE' } as const;
const timeout = { code: 'UPSTREAM_TIMEOUT' } as const;
const malformed = { code: 'UPSTREAM_MALFORMED' } as const;
const refused = { code: 'UPSTREAM_STATUS' } as const;
const gone = { code: 'UPSTREAM_GONE' } as const;
const limited = { code: 'UPSTREAM_RATE_LIMITED' } as const;

const GZIP = { 'content-encoding': 'gzip' };
const BROTLI = { 'content-encoding': 'br' };
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const DEPRECATED = '{"error":"This API is deprecated"}';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const LONG_HEAD = `${HEAD}X-Long: ${'x'.repeat(100_000)}\r\n\r\n`;
const INTERIMS = interim(103).repeat(100);
const NO_ROWS = '{"chains":[],"tokens":[]';
const NOT_UTF8 = Buffer.from('{"tokens":["\xff"],"chains":["\xff"]}', 'latin1');
const BAD_ROWS = `null,7,"",[],{},${DEEP},{"name":${DEEP}},{"__proto__":{"chainKey":"a","address":"0x1"}}`;

/** Faults that end as soon as the upstream recovers, grouped by kind. */
export const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  connection: [
    { name: 'a refused connection', ...unreachable, begin: (upstream) => upstream.refuse() },
    { name: 'a reset connection', ...unreachable, begin: always(resetHard) },
    { name: 'a connection that is closed without an answer', ...unreachable, begin: always(reset) },
    { name: 'a stall before the head', ...timeout, begin: always(stall) },
    { name: 'a stall in mid-head', ...timeout, begin: always(open(HEAD)) },
    { name: 'a stall in mid-body', ...timeout, begin: always(open(sized('{', 99))) },
    { name: 'a cut body', ...unreachable, begin: always(closed(sized('{', 99))) },
    { name: 'a slow drip, a byte at a time', ...timeout, begin: always(drip) },
  ],
  framing: [
    { name: 'a content-length too long', ...unreachable, begin: eachBody((b) => closed(sized(b, 9))) },
    { name: 'a content-length too short', ...malformed, begin: eachBody((b) => open(sized(b, -9))) },
    { name: 'something else than HTTP', ...unreachable, begin: always(closed('220 ready\r\n')) },
    { name: 'a head of 100 kB', ...unreachable, begin: always(open(LONG_HEAD)) },
    { name: 'interim answers without end', ...timeout, begin: always(interimForEver) },
    { name: 'a 100 that nobody asked for', ...unreachable, begin: always(open(interim(100))) },
    { name: 'a 101 that nobody asked for', ...unreachable, begin: always(open(interim(101))) },
    { name: 'a chunk whose size is not a number', ...unreachable, begin: always(open(`${CHUNKED}x\r\n`)) },
    { name: 'an HTTP/1.0 body cut short', ...malformed, begin: always(closed(`${OLD_HEAD}{"tokens":[`)) },
  ],
  content: [
    { name: 'no body', ...malformed, begin: always(text('')) },
    { name: 'JSON of 100,000 levels', ...malformed, begin: always(text(DEEP)) },
    { name: 'a row of 100,000 levels', ...malformed, begin: always(rows(`[{"name":${DEEP}}]`)) },
    { name: 'NUL bytes', ...malformed, begin: always(text(Buffer.alloc(100_000))) },
    { name: 'broken UTF-8', ...malformed, begin: always(text(NOT_UTF8)) },
    { name: 'UTF-16', ...malformed, begin: eachBody((b) => text(Buffer.from(b, 'utf16le'))) },
    { name: 'an error with status 200', ...malformed, begin: always(json({ error: 'secret-body' })) },
  ],
  size: [
    { name: 'a body of 200 MB', ...malformed, begin: always(huge(200)) },
    { name: 'a refusal with a body of 200 MB', ...refused, begin: always(huge(500)) },
    { name: '200 MB as gzip', ...malformed, begin: always(bomb('gzip')) },
    { name: '200 MB as brotli', ...malformed, begin: always(bomb('br')) },
    { name: '200 MB as gzip in gzip', ...malformed, begin: always(bomb('gzip, gzip')) },
    { name: 'gzip cut short', ...malformed, begin: eachBody((b) => text(halfOf(gzipSync(b)), GZIP)) },
  ],
  refusal: [{ name: '301, which is not followed', ...refused, begin: always(redirect) }],
  load: [
    { name: '429', ...limited, begin: always(status(429)) },
    { name: '429 with Retry-After', ...limited, begin: always(status(429, { 'retry-after': '1' })) },
    { name: '503', ...refused, begin: always(status(503)) },
  ],
  rows: [
    { name: 'an empty listing', ...malformed, begin: always(rows('[]')) },
    { name: 'less than half of a listing', ...malformed, begin: eachRows(lessThanHalf) },
    { name: 'rows of which none is valid', ...malformed, begin: always(rows('[null,7,"",[],{}]')) },
    { name: 'rows by another name', ...malformed, begin: always(json({ rows: [{}] })) },
    { name: 'an object for an array', ...malformed, begin: always(rows('{"0":{},"length":1}')) },
    { name: 'rows in __proto__', ...malformed, begin: eachBody((b) => text(`{"__proto__":${b}}`)) },
  ],
};

/** Faults after which the gateway pauses for a minute, even if the upstream recovers. */
export const LASTING_FAULTS: readonly Fault[] = [
  { name: '410', ...gone, begin: always(status(410)) },
  { name: 'an error that says deprecated', ...gone, begin: always(status(400, {}, DEPRECATED)) },
];

export const ODDITIES: readonly Oddity[] = [
  { name: 'an HTTP/1.0 body that ends with its connection', begin: eachBody((b) => closed(OLD_HEAD + b)) },
  { name: 'a hundred interim answers first', begin: eachBody((b) => open(INTERIMS + sized(b))) },
  { name: 'a byte order mark', begin: eachBody((b) => text(`\ufeff${b}`)) },
  { name: 'gzip', begin: eachBody((b) => text(gzipSync(b), GZIP)) },
  { name: 'brotli', begin: eachBody((b) => text(brotliCompressSync(b, FAST), BROTLI)) },
  {
    name: 'an empty array of rows before the real one',
    begin: eachBody((b) => text(`${NO_ROWS},${b.slice(1)}`)),
  },
  { name: 'bad rows among the good', begin: eachBody((b) => text(b.replace(/\]\}$/, `,${BAD_ROWS}]}`))) },
  // The gateway serves the old decimals without a price, and no question in load.ts reads the price.
  { name: 'other decimals of one token', begin: eachRows(otherDecimals) },
];

export async function mend(upstream: FakeUpstream, good: GoodListings): Promise<void> {
  upstream.plan('chains', json({ chains: good.chains }));
  upstream.plan('tokens', json({ tokens: good.tokens }));
  await upstream.accept();
}

function always(answer: Answer): Begin {
  return (upstream) => upstream.planBoth(answer);
}

function eachBody(answerOf: (body: string) => Answer): Begin {
  return (upstream, { chains, tokens }) => {
    upstream.plan('chains', answerOf(JSON.stringify({ chains })));
    upstream.plan('tokens', answerOf(JSON.stringify({ tokens })));
  };
}

function eachRows(rowsOf: (good: readonly Row[]) => readonly Row[]): Begin {
  return (upstream, { chains, tokens }) => {
    upstream.plan('chains', json({ chains: rowsOf(chains) }));
    upstream.plan('tokens', json({ tokens: rowsOf(tokens) }));
  };
}

function rows(array: string): Answer {
  return text(`{"chains":${array},"tokens":${array}}`);
}

function halfOf(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.byteLength / 2);
}

function lessThanHalf(good: readonly Row[]): readonly Row[] {
  return good.slice(0, Math.floor(good.length * 0.49));
}

function otherDecimals(good: readonly Row[]): readonly Row[] {
  const middle = Math.floor(good.length / 2);
  return good.map((row, index) =>
    index === middle && 'decimals' in row ? { ...row, decimals: row.decimals === 6 ? 18 : 6 } : row,
  );
}
