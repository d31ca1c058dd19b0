import { constants, lstat, open, stat } from 'node:fs/promises';

/** The path does not lead to a regular file of an acceptable size. The message completes "it is …". */
export class NotReadable extends Error {}

/**
 * Reads a regular file. Nothing else is opened: a FIFO would block a thread for ever, and a device has no end.
 *
 * @throws NotReadable if it is no regular file, or larger than `maxBytes`
 * @throws an error of `node:fs`
 */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  const found = await stat(path).catch(async (error: unknown) => {
    // A missing file is normal; a dangling link is worth a message.
    const isLink = isOneOf(error, 'ENOENT') && (await lstat(path).catch(() => undefined));
    if (isLink) throw new NotReadable('a link that leads nowhere');
    throw error;
  });
  if (!found.isFile()) throw new NotReadable('no regular file');
  // The file may have been replaced since `stat`: O_NONBLOCK does not wait for a FIFO either.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw new NotReadable('no regular file');
    if (opened.size > maxBytes) {
      throw new NotReadable(`larger (${opened.size} bytes) than the ${maxBytes} bytes that it may have`);
    }
    // Read no more than this: the file may grow, or report no size.
    const bytes = Buffer.alloc(opened.size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** Whether an error of `node:fs` has one of these codes. */
export function isOneOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
