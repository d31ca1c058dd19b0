/** Reads regular files only: files of the operator, and stored listings. */
import { readFile, stat } from 'node:fs/promises';

/** Thrown if a path is not that of a regular file of an acceptable size. The message completes "it is …". */
export class NotReadable extends Error {}

/**
 * Reads a regular file. Nothing else is opened: a FIFO would block a thread for ever, and a device has no end.
 *
 * @throws NotReadable if it is not a regular file, or is larger than `maxBytes`
 * @throws an error of `node:fs`
 */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  const found = await stat(path);
  if (!found.isFile()) throw new NotReadable('no regular file');
  if (found.size > maxBytes)
    throw new NotReadable(`larger (${found.size} bytes) than the ${maxBytes} bytes that it may have`);
  return readFile(path);
}

/** Whether an error of `node:fs` has one of these codes. */
export function isOneOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
