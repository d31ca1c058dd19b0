/** Compresses response bodies, and chooses the encoding that a client accepts. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { TEXT_LIMITS } from '../domain/text-limits.js';

export type Encoding = 'br' | 'zstd' | 'gzip' | 'identity';

/** Decides how much time a compression may take: a body is sent `once`, while it is `cached`, or for long, as a `file`. */
export type Use = 'once' | 'cached' | 'file';

type Compress = (body: Uint8Array, use: Use) => Promise<Uint8Array>;

/** Node has zstd since 22.15; undefined before. */
const { zstdCompress } = zlib as {
  zstdCompress?: (body: Uint8Array, done: (error: Error | null, compressed: Buffer) => void) => void;
};
const compressZstd = zstdCompress && promisify(zstdCompress);
const compressGzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip);

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = zlib.constants;
const compressBrotli = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);
/** A larger file does not get the best quality of Brotli, which takes about 50 ms for this size. */
const MAX_BEST_BYTES = 32_768;
const brotli: Compress = (body, use) => {
  const isBest = use === 'file' && body.byteLength <= MAX_BEST_BYTES;
  const quality = isBest ? 11 : use === 'once' ? 1 : 4;
  return compressBrotli(body, {
    params: { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: body.byteLength },
  });
};

/** The compressors, the best first. Compressors run in the thread pool, not on the event loop. */
const COMPRESSORS: ReadonlyMap<Encoding, Compress> = new Map<Encoding, Compress>([
  ['br', brotli],
  ...(compressZstd ? [['zstd', (body: Uint8Array) => compressZstd(body)] as const] : []),
  ['gzip', (body, use) => compressGzip(body, { level: use === 'once' ? 1 : 6 })],
]);

/** Real clients send few different Accept-Encoding headers. Beyond this number, no new result is kept. */
const MAX_KNOWN = 100;
const known = new Map<string, Encoding>();

/** The best encoding that the header names. Quality values other than 0 are ignored, and so is `*`. */
export function encodingFor(acceptEncoding: string | null | undefined): Encoding {
  if (!acceptEncoding || acceptEncoding.length > TEXT_LIMITS.header) return 'identity';
  const remembered = known.get(acceptEncoding);
  if (remembered) return remembered;
  const accepted = acceptEncoding
    .toLowerCase()
    .split(',')
    .filter((encoding) => !/;\s*q=0(\.0*)?\s*$/.test(encoding))
    .map((encoding) => encoding.split(';')[0]?.trim());
  const best = [...COMPRESSORS.keys()].find((encoding) => accepted.includes(encoding)) ?? 'identity';
  if (known.size < MAX_KNOWN) known.set(acceptEncoding, best);
  return best;
}

/** Whether a Content-Encoding header says that the body is not encoded. */
export function isIdentity(contentEncoding: string | undefined): boolean {
  // No regular expression: one that allows white space around a word would take 0.2 s for 14,000 spaces.
  const codings = contentEncoding?.toLowerCase().split(',') ?? [];
  return codings.every((coding) => ['', 'identity'].includes(coding.trim()));
}

/** Smaller bodies are not compressed, except files: one network packet holds them in any case. */
const MIN_COMPRESSED_BYTES = 1_024;

/** While more bytes are being compressed, further bodies are sent as they are: compressions wait for one of few threads. */
const MAX_COMPRESSING_BYTES = 8 * 2 ** 20;
let compressingBytes = 0;

/** All clients share the parts. */
export interface EncodedBody {
  readonly encoding: Encoding;
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly byteLength: number;
}

/** A response body. Its compressed forms and its ETag are made once and on demand. */
export class Body {
  readonly plain: EncodedBody;
  #encoded: Map<Encoding, EncodedBody | Promise<EncodedBody>> | undefined;
  #etag: string | undefined;

  /** @param parts must not change afterwards */
  constructor(
    parts: readonly Uint8Array<ArrayBuffer>[],
    private readonly use: Use,
  ) {
    const byteLength = parts.reduce((sum, part) => sum + part.byteLength, 0);
    this.plain = { encoding: 'identity', parts, byteLength };
  }

  /** Uncompressed if it is small or does not shrink, or if too many others are being compressed. */
  encoded(encoding: Encoding): EncodedBody | Promise<EncodedBody> {
    const { plain, use } = this;
    const compress = COMPRESSORS.get(encoding);
    const isSmall = use !== 'file' && plain.byteLength < MIN_COMPRESSED_BYTES;
    if (!compress || isSmall) return plain;
    this.#encoded ??= new Map();
    const encodings = this.#encoded;
    const found = encodings.get(encoding);
    if (found) return found;
    if (compressingBytes > MAX_COMPRESSING_BYTES) return plain;
    compressingBytes += plain.byteLength;
    const encoded = (async (): Promise<EncodedBody> => {
      const [only, ...others] = plain.parts;
      const body = only && others.length === 0 ? only : Buffer.concat(plain.parts);
      // After a failure, such as too little memory, the body is sent as it is.
      const bytes = await compress(body, use).catch(() => body);
      compressingBytes -= plain.byteLength;
      const { byteLength } = bytes;
      const parts = [bytes as Uint8Array<ArrayBuffer>];
      const smaller = byteLength < plain.byteLength ? { encoding, parts, byteLength } : plain;
      encodings.set(encoding, smaller);
      return smaller;
    })();
    encodings.set(encoding, encoded);
    return encoded;
  }

  /** A weak ETag: the same for all encodings of the body (RFC 9110). */
  get etag(): string {
    if (this.#etag === undefined) {
      const hash = createHash('sha1');
      for (const part of this.plain.parts) hash.update(part);
      this.#etag = `W/"${hash.digest('base64url')}"`;
    }
    return this.#etag;
  }
}
