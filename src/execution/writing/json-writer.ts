import { ABANDONED } from './abandon.js';

/*
 * Bytes of one answer. Text is appended to a string and turned into bytes every few kilobytes: a text of megabytes
 * that consists of a hundred thousand parts is slow to flatten. The bytes go into one buffer that all answers use in
 * turn, because memory outside of the heap makes V8 collect all of the heap. For the same reason long JSON that is kept
 * becomes a part of the answer as it is.
 */

/** Length of the text, in UTF-16 units, from which on it is turned into bytes. */
const FLUSH_AT = 32_768;
/** UTF-8 takes at most this many bytes for one UTF-16 unit. */
const MAX_BYTES_OF_UNIT = 3;
const MIN_SCRATCH = 131_072;
/** A larger buffer is not kept. */
const MAX_KEPT_SCRATCH = 8_388_608;
/** Shorter JSON is copied: to send another part costs as much. */
const MIN_PART = 8_192;
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

/** Whether an answer of so many bytes is too long. */
export type IsTooLong = (bytes: number) => boolean;

/** Collects the JSON of one answer. Call {@link release} at its end, whether it was finished or not. */
export class JsonWriter {
  /** The text that is not yet in bytes. Append to it, at most a few kilobytes between two calls of {@link flushIfLong}. */
  text = '';
  private scratch = takeScratch();
  private length = 0;
  /** The most bytes that were in the scratch buffer. */
  private used = 0;
  /** The finished parts of the answer. The bytes in the scratch buffer follow them. */
  private readonly parts: Buffer[] = [];
  /** All bytes of the answer so far. */
  private total = 0;

  /** @param isTooLong asked each time that text became bytes; the operation is abandoned where it is true */
  constructor(private readonly isTooLong: IsTooLong) {}

  flushIfLong(): void {
    if (this.text.length >= FLUSH_AT) this.flush();
  }

  /** Appends JSON in UTF-8, which must not change afterwards. */
  append(bytes: Buffer): void {
    if (bytes.length < MIN_PART) {
      this.flush(bytes.length);
      copyWhole(bytes, this.scratch, this.length);
      this.length += bytes.length;
    } else {
      this.endPart();
      this.parts.push(bytes);
    }
    this.count(bytes.length);
  }

  /** The number of bytes since the last part. */
  position(): number {
    this.flush();
    return this.length;
  }

  /** A copy of the bytes from this {@link position} on. No part may have been appended since. */
  copyFrom(position: number): Buffer {
    this.flush();
    return Buffer.from(this.scratch.subarray(position, this.length));
  }

  /**
   * @returns the whole answer, in parts. They must not be changed, and may share their memory with others: copy them
   *   before keeping them
   */
  finish(): readonly Buffer[] {
    this.endPart();
    return this.parts;
  }

  private endPart(): void {
    if (this.length === 0) {
      // Most answers are short, and need no copy.
      if (this.text !== '') this.parts.push(Buffer.from(this.text));
      this.text = '';
      return;
    }
    this.flush();
    const bytes = Buffer.allocUnsafe(this.length);
    copyWhole(this.scratch.subarray(0, this.length), bytes, 0);
    this.parts.push(bytes);
    this.length = 0;
  }

  release(): void {
    giveBackScratch(this.scratch, this.used);
  }

  /** @param room how many bytes are to be written after the text */
  private flush(room = 0): void {
    const needed = this.length + this.text.length * MAX_BYTES_OF_UNIT + room;
    if (needed > this.scratch.length) {
      const larger = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)));
      copyWhole(this.scratch.subarray(0, this.length), larger, 0);
      this.scratch = larger;
    }
    if (this.text === '') return;
    const written = this.scratch.write(this.text, this.length);
    // There is room for all of it, and each unit takes a byte or more.
    if (written < this.text.length) throw cutShort(this.text.length, written);
    this.length += written;
    this.used = Math.max(this.used, this.length);
    this.text = '';
    this.count(written);
  }

  private count(bytes: number): void {
    this.total += bytes;
    if (this.isTooLong(this.total)) throw ABANDONED;
  }
}

function copyWhole(from: Buffer, to: Buffer, at: number): void {
  const copied = from.copy(to, at);
  if (copied < from.length) throw cutShort(from.length, copied);
}

function cutShort(expected: number, written: number): RangeError {
  return new RangeError(`Expected to write at least ${expected} bytes of an answer, wrote ${written}`);
}
