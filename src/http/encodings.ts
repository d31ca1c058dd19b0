/** Compresses response bodies, and chooses the encoding that a client accepts. */
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { TEXT_LIMITS } from '../domain/text-limits.js';

/** A content coding of a response body (RFC 9110). */
export type Encoding = 'br' | 'zstd' | 'gzip' | 'identity';

type Compress = (body: Uint8Array, isReused: boolean, isForGood: boolean) => Promise<Uint8Array>;

/** Node has zstd since 22.15; undefined before. */
const { zstdCompress } = zlib as {
  zstdCompress?: (body: Uint8Array, done: (error: Error | null, compressed: Buffer) => void) => void;
};
const compressZstd = zstdCompress && promisify(zstdCompress);
const compressGzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip);

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = zlib.constants;
const brotliCompress = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);
/** Maximum size for the best quality of Brotli, which takes about 50 ms for a body of this size. */
const MAX_BEST_BYTES = 32_768;
const brotli: Compress = (body, isReused, isForGood) => {
  const isBest = isForGood && body.byteLength <= MAX_BEST_BYTES;
  const quality = isBest ? 11 : isReused ? 4 : 1;
  return brotliCompress(body, {
    params: { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: body.byteLength },
  });
};

/** The compressors, the best first. Compressors run in the thread pool, not on the event loop. */
const COMPRESSORS: ReadonlyMap<Encoding, Compress> = new Map<Encoding, Compress>([
  ['br', brotli],
  ...(compressZstd ? [['zstd', (body: Uint8Array) => compressZstd(body)] as const] : []),
  ['gzip', (body, isReused) => compressGzip(body, { level: isReused ? 6 : 1 })],
]);

/** Real clients send few different Accept-Encoding headers. Beyond this number, a new one is parsed each time. */
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

/** Whether a Content-Encoding header says that the body is not encoded. */
export function isIdentity(contentEncoding: string | undefined): boolean {
  if (!contentEncoding) return true;
  return contentEncoding.split(',').every((coding) => /^\s*(identity)?\s*$/i.test(coding));
}

/**
 * Compresses a body.
 *
 * @param isReused whether the result is sent many times. If not, it is made in a fraction of the time, and is larger
 * @param isForGood whether the body never changes, such as a file: a small body then gets the best compression
 */
export async function encode(
  body: Uint8Array,
  encoding: Encoding,
  isReused: boolean,
  isForGood = false,
): Promise<Uint8Array> {
  return (await COMPRESSORS.get(encoding)?.(body, isReused, isForGood)) ?? body;
}

/** A body that is sent many times. Compressed bodies are made once and on demand. */
export class ReusedBody {
  readonly #encoded = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();

  /** @param digest of the body */
  constructor(
    readonly body: Uint8Array<ArrayBuffer>,
    private readonly digest: string,
  ) {
    // This is not a copy: all clients share the bytes.
    this.#encoded.set('identity', Promise.resolve(body));
  }

  /** The body in this encoding, and the headers that say so. */
  async encoded(encoding: Encoding) {
    const bytes =
      this.#encoded.get(encoding) ??
      encode(this.body, encoding, true, true).then((result) => new Uint8Array(result));
    this.#encoded.set(encoding, bytes);
    const coding: Readonly<Record<string, string>> =
      encoding === 'identity' ? {} : { 'content-encoding': encoding };
    return { body: await bytes, headers: { ...coding, etag: this.etag(encoding) } };
  }

  etag(encoding: Encoding): string {
    return encoding === 'identity' ? `"${this.digest}"` : `"${this.digest}-${encoding}"`;
  }
}
