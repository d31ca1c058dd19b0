/*
 * Bytes of one answer. Text is appended to a string and turned into bytes every few kilobytes: a text of megabytes
 * that consists of a hundred thousand parts is slow to flatten. The bytes go into one buffer that all answers use in
 * turn, because memory outside of the heap makes V8 collect all of the heap.
 */

/** Length of the text, in UTF-16 units, from which on it is turned into bytes. */
const FLUSH_AT = 32_768;
/** UTF-8 takes at most this many bytes for one UTF-16 unit. */
const MAX_BYTES_OF_UNIT = 3;
const MIN_SCRATCH = 131_072;
/** A larger buffer is not kept. */
const MAX_KEPT_SCRATCH = 8_388_608;
/** After so many answers in a row that needed less than a quarter of it, the kept buffer is given up. */
const MAX_UNUSED = 1_000;

let spare: Buffer | undefined;
let unused = 0;

function takeScratch(): Buffer {
  const taken = spare ?? Buffer.allocUnsafeSlow(MIN_SCRATCH);
  // An answer that is written within another one takes a buffer of its own.
  spare = undefined;
  return taken;
}

function giveBackScratch(scratch: Buffer, used: number): void {
  unused = used * 4 < scratch.length ? unused + 1 : 0;
  const isTooLarge = scratch.length > MAX_KEPT_SCRATCH || unused > MAX_UNUSED;
  if (isTooLarge && scratch.length > MIN_SCRATCH) unused = 0;
  else if (spare === undefined || spare.length < scratch.length) spare = scratch;
}

/** Collects the JSON of one answer. Call {@link release} at its end, whether it was finished or not. */
export class JsonWriter {
  /** The text that is not yet in bytes. Append to it, at most a few kilobytes between two calls of {@link flushIfLong}. */
  text = '';
  private scratch = takeScratch();
  private length = 0;

  flushIfLong(): void {
    if (this.text.length >= FLUSH_AT) this.flush();
  }

  /** Appends JSON in UTF-8. */
  append(bytes: Buffer): void {
    this.flush(bytes.length);
    this.length += bytes.copy(this.scratch, this.length);
  }

  /** The number of bytes so far. */
  position(): number {
    this.flush();
    return this.length;
  }

  /** A copy of the bytes from this position on. */
  copyFrom(position: number): Buffer {
    this.flush();
    return Buffer.from(this.scratch.subarray(position, this.length));
  }

  /**
   * @returns the whole answer. A small one may share its memory with others for some time: copy it
   *   before keeping it
   */
  finish(): Buffer {
    this.flush();
    const bytes = Buffer.allocUnsafe(this.length);
    this.scratch.copy(bytes, 0, 0, this.length);
    return bytes;
  }

  release(): void {
    giveBackScratch(this.scratch, this.length);
  }

  /** @param room how many bytes are to be written after the text */
  private flush(room = 0): void {
    const needed = this.length + this.text.length * MAX_BYTES_OF_UNIT + room;
    if (needed > this.scratch.length) {
      const larger = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)));
      this.scratch.copy(larger, 0, 0, this.length);
      this.scratch = larger;
    }
    if (this.text === '') return;
    this.length += this.scratch.write(this.text, this.length);
    this.text = '';
  }
}
