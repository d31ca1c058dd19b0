import { randomBytes } from 'node:crypto';
import { constants, lstat, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ServiceFingerprints } from '../domain/fingerprint.js';
import type { Fetched } from '../domain/listing.js';
import type { Logger } from '../logger.js';
import type { DiskStore } from '../snapshots/disk-store.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { decodeRecord, encodeRecord } from './record.js';

/** What {@link openDiskStore} takes. */
export interface DiskStoreOptions {
  /** It is made if there is none. */
  readonly directory: string;
  /** Whose listings may be served; those of others stay where they are. */
  readonly services: ServiceFingerprints;
  /** Larger files are passed over, in bytes. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/** What a process that was killed left behind is older than this, in milliseconds. */
const LEFT_BEHIND_AFTER_MS = 60_000;
/** So many entries of the directory are looked at for that; more are somebody else's. */
const MAX_SWEPT = 10_000;
const TEMPORARY = /^(chains|tokens)-\w+\.snapshot\.[0-9a-f]{16}\.tmp$/;

/**
 * Opens the store.
 *
 * @throws what `node:fs` throws where the path is not one of a directory
 */
export async function openDiskStore(options: DiskStoreOptions): Promise<DiskStore> {
  const { directory, services, maxBytes, log } = options;
  try {
    await makeDirectory(directory);
    await sweep(directory);
  } catch (error) {
    // Nobody has meant a file to be a directory. All else may pass, and is no reason not to serve.
    if (isOneOf(error, 'EEXIST', 'ENOTDIR')) throw error;
    log.warn({ err: error, directory }, 'SNAPSHOT_DIR cannot be used yet: let the gateway read and write it');
  }
  /** What is still to be written to each file: one at a time, and only the latest of what has come meanwhile. */
  const waiting = new Map<string, () => string>();
  const writing = new Map<string, Promise<void>>();
  /** Whether the last write failed: that it fails again is no news. */
  let isFailing = false;

  async function writeWaiting(file: string): Promise<void> {
    for (let encode = waiting.get(file); encode; encode = waiting.get(file)) {
      waiting.delete(file);
      await writeFile(file, encode);
    }
    writing.delete(file);
  }

  async function writeFile(file: string, encode: () => string): Promise<void> {
    try {
      await writeWhole(directory, file, encode());
      if (isFailing) log.info({ file }, 'SNAPSHOT_DIR can be written again');
      isFailing = false;
    } catch (err) {
      const advice = `The last good listing could not be kept in SNAPSHOT_DIR: make room there, and let the gateway write to it. It goes on from memory`;
      log[isFailing ? 'debug' : 'warn']({ err, file }, advice);
      isFailing = true;
    }
  }

  async function readFrom<Row>(kind: ListingKind<Row>, file: string): Promise<Fetched<Row> | undefined> {
    try {
      const text = await readRegular(join(directory, file), maxBytes);
      return await decodeRecord(kind, text, services, Date.now());
    } catch (error) {
      if (isOneOf(error, 'ENOENT')) return undefined;
      const message = error instanceof Error ? error.message : String(error);
      const reason = isOneOf(error, 'EACCES', 'EPERM') ? `${message}; let the gateway read it` : message;
      log.warn({ file, reason }, `The kept ${kind.name} listing is refused, and fetched anew: ${reason}`);
      return undefined;
    }
  }

  return {
    async read(kind) {
      const files = Object.values(services).map((mark) => fileOf(kind.name, mark));
      const kept = await Promise.all(files.map((file) => readFrom(kind, file)));
      return kept.filter((taken) => taken !== undefined).sort((one, other) => other.takenAt - one.takenAt)[0];
    },
    write(kind, taken) {
      const file = fileOf(kind.name, services[taken.source]);
      waiting.set(file, () => encodeRecord(kind, taken, services));
      const written = writing.get(file) ?? writeWaiting(file);
      writing.set(file, written);
      return written;
    },
    async settled() {
      await Promise.all(writing.values());
    },
  };
}

/** One file for each service that rows are from, so that none takes the place of another's. */
function fileOf(name: string, mark: string | undefined): string {
  return `${name}-${mark}.snapshot`;
}

/** Temporary file, fsync, rename: a crash at any point leaves the old file or the new one. */
async function writeWhole(directory: string, file: string, text: string): Promise<void> {
  const temporary = join(directory, `${file}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    const handle = await open(temporary, 'wx', 0o644);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(directory, file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  // Without it a power cut may undo the rename.
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync().finally(() => handle.close());
}

/**
 * Reads a regular file. Anything else is never opened: a FIFO would hold a thread for ever, and a device has no end.
 *
 * @throws NotReadable where it is no regular file, or larger than that
 * @throws what `node:fs` throws
 */
async function readRegular(path: string, maxBytes: number): Promise<string> {
  const found = await stat(path).catch(async (error: unknown) => {
    // Nothing is there, or a link that leads nowhere: only of the latter there is something to tell.
    if (isOneOf(error, 'ENOENT') && (await isThere(path))) throw new NotReadable('a link that leads nowhere');
    throw error;
  });
  if (!found.isFile()) throw new NotReadable('no regular file');
  // It may have been exchanged meanwhile: then nothing is waited for either.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw new NotReadable('no regular file');
    if (opened.size > maxBytes) {
      throw new NotReadable(`larger (${opened.size} bytes) than an answer of the upstream may be`);
    }
    // No more than that, though it may grow, or never have said how long it is.
    const bytes = Buffer.alloc(opened.size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    await handle.close();
  }
}

/** What stands where a listing should be, and is to be passed over; the message says what to do. */
class NotReadable extends Error {
  constructor(found: string) {
    super(`it is ${found}; remove it, so that the listing can be kept there`);
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Makes a directory and those above it. Node's own way never ends where a file system refuses new directories by
 * saying that the one above is missing, as /proc does.
 */
async function makeDirectory(directory: string): Promise<void> {
  const missing: string[] = [];
  for (let path = resolve(directory); ; path = dirname(path)) {
    try {
      await mkdir(path);
      break;
    } catch (error) {
      if (isOneOf(error, 'EEXIST')) {
        if (!(await stat(path)).isDirectory()) throw error;
        break;
      }
      if (!isOneOf(error, 'ENOENT') || path === dirname(path)) throw error;
      missing.push(path);
    }
  }
  for (const path of missing.reverse()) {
    await mkdir(path).catch((error: unknown) => {
      // Another gateway may make it at the same time.
      if (!isOneOf(error, 'EEXIST')) throw error;
    });
  }
}

/** Removes what processes that were killed have left behind. */
async function sweep(directory: string): Promise<void> {
  let swept = 0;
  for await (const { name } of await opendir(directory)) {
    if (++swept > MAX_SWEPT) return;
    if (!TEMPORARY.test(name)) continue;
    const path = join(directory, name);
    try {
      const { mtimeMs } = await lstat(path);
      if (Date.now() - mtimeMs > LEFT_BEHIND_AFTER_MS) await rm(path, { force: true });
    } catch {
      // Whatever it is, it harms nobody.
    }
  }
}

function isOneOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
