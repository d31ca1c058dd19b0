import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { TEXT_LIMITS } from '../domain/text-limits.js';

/** A content coding of a response body (RFC 9110). */
export type Encoding = 'br' | 'zstd' | 'gzip' | 'identity';

type Compress = (body: Uint8Array, isReused: boolean) => Promise<Uint8Array>;

/** Present since Node 22.15. */
const { zstdCompress } = zlib as {
  zstdCompress?: (body: Uint8Array, done: (error: Error | null, compressed: Buffer) => void) => void;
};
const compressGzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip);

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = zlib.constants;
const brotliCompress = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);
const brotli: Compress = (body, isReused) =>
  brotliCompress(body, {
    params: { [BROTLI_PARAM_QUALITY]: isReused ? 4 : 1, [BROTLI_PARAM_SIZE_HINT]: body.byteLength },
  });

/** The best first. They run in the thread pool, not on the event loop. */
const COMPRESSORS: ReadonlyMap<Encoding, Compress> = new Map<Encoding, Compress>([
  ['br', brotli],
  ...(zstdCompress ? [['zstd', promisify(zstdCompress)] as const] : []),
  ['gzip', (body, isReused) => compressGzip(body, { level: isReused ? 6 : 1 })],
]);

/** Real clients send few different values. Beyond this number a new value is parsed each time. */
const MAX_KNOWN = 100;
const known = new Map<string, Encoding>();

/** The best encoding that an Accept-Encoding header allows. */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  if (!acceptEncoding || acceptEncoding.length > TEXT_LIMITS.header) return 'identity';
  const remembered = known.get(acceptEncoding);
  if (remembered) return remembered;
  const accepted = new Set(
    acceptEncoding
      .toLowerCase()
      .split(',')
      .filter((encoding) => !/;\s*q=0(\.0*)?\s*$/.test(encoding))
      .map((encoding) => encoding.split(';')[0]?.trim()),
  );
  const best = [...COMPRESSORS.keys()].find((encoding) => accepted.has(encoding)) ?? 'identity';
  if (known.size < MAX_KNOWN) known.set(acceptEncoding, best);
  return best;
}

/** Whether a Content-Encoding header says that the body is as it was written. */
export function isIdentity(contentEncoding: string | undefined): boolean {
  if (!contentEncoding) return true;
  return contentEncoding.split(',').every((coding) => /^\s*(identity)?\s*$/i.test(coding));
}

/**
 * Compresses a body.
 *
 * @param isReused whether the result is sent many times; otherwise it is made in a fraction of the time, and larger
 */
export async function encode(body: Uint8Array, encoding: Encoding, isReused: boolean): Promise<Uint8Array> {
  return (await COMPRESSORS.get(encoding)?.(body, isReused)) ?? body;
}
