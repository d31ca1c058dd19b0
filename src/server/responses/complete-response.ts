import { createHash } from 'node:crypto';
import { type Encoding, encode } from '../../http/encodings.js';
import { totalBytes } from '../../http/total-bytes.js';

/** A body and its encoding. */
export interface EncodedBody {
  readonly encoding: Encoding;
  readonly parts: readonly Uint8Array[];
}

/** Smaller bodies gain nothing from compression. */
const MIN_COMPRESSED_BYTES = 1_024;

/** A complete response without errors, ready to be sent. Compressed bodies and ETags are made once and on demand. */
export class CompleteResponse {
  private encodedBodies: Map<Encoding, EncodedBody | Promise<EncodedBody>> | undefined;
  private digest: string | undefined;
  private whole: Uint8Array | undefined;

  /**
   * @param operation the operation's name, for the log
   * @param headers names and values in turn: the headers that are equal for every request with the same cache key
   * @param parts the body
   * @param isReused whether it is worth the time to compress the body well
   */
  constructor(
    readonly operation: string | undefined,
    readonly headers: readonly string[],
    readonly parts: readonly Uint8Array[],
    private readonly isReused: boolean,
  ) {}

  /** The body in one piece. */
  private get body(): Uint8Array {
    this.whole ??= this.parts.length === 1 && this.parts[0] ? this.parts[0] : Buffer.concat(this.parts);
    return this.whole;
  }

  /** Of the body that is not compressed. */
  get byteLength(): number {
    return totalBytes(this.parts);
  }

  /** The compressed body; not a promise if it was compressed before. A small body is never compressed. */
  encoded(encoding: Encoding): EncodedBody | Promise<EncodedBody> {
    const { parts } = this;
    const plain: EncodedBody = { encoding: 'identity', parts };
    if (encoding === 'identity' || this.byteLength < MIN_COMPRESSED_BYTES) return plain;
    this.encodedBodies ??= new Map();
    const { encodedBodies } = this;
    const known = encodedBodies.get(encoding);
    if (known) return known;
    const encoded = encode(this.body, encoding, this.isReused).then((bytes) => {
      const smaller = bytes.byteLength < this.byteLength ? { encoding, parts: [bytes] } : plain;
      encodedBodies.set(encoding, smaller);
      return smaller;
    });
    encodedBodies.set(encoding, encoded);
    return encoded;
  }

  /** The strong ETag of the body in this encoding, and then that of the same body compressed at another level. */
  etags(encoding: Encoding): readonly [own: string, ...others: string[]] {
    this.digest ??= createHash('sha1').update(this.body).digest('base64url');
    if (encoding === 'identity') return [`"${this.digest}"`];
    const well = `"${this.digest}-${encoding}"`;
    const fast = `"${this.digest}-${encoding}-fast"`;
    return this.isReused ? [well, fast] : [fast, well];
  }
}
