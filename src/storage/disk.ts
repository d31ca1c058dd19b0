import { randomBytes } from 'node:crypto';
import { constants, lstat, mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServiceFingerprints } from '../domain/fingerprint.js';
import type { Fetched } from '../domain/listing.js';
import type { Logger } from '../logger.js';
import type { DiskStore } from '../snapshots/disk-store.js';
import type { StoredKind } from '../upstream/listing-kinds.js';
import { isOneOf, NotReadable, readRegular } from './read-regular.js';
import { decodeRecord, encodeRecord } from './record.js';

export interface DiskStoreOptions {
  /** It is created if it does not exist. */
  readonly directory: string;
  /** The services whose listings may be served; other files stay untouched. */
  readonly services: ServiceFingerprints;
  /** Larger files are ignored, in bytes. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/** A temporary file that is older than this was left by a killed process, in milliseconds. */
const LEFT_BEHIND_AFTER_MS = 60_000;
/** The most entries of the directory that are searched for such files. */
const MAX_SWEPT = 10_000;
/** The most listings of other services that are read for their facts. */
const MAX_OTHERS = 3;
const RECORD = /^(chains|tokens)-\w+\.snapshot$/;
const TEMPORARY = /^(chains|tokens)-\w+\.snapshot\.[0-9a-f]{16}\.tmp$/;

/**
 * Opens the store. A directory that cannot be used yet is logged, and tried again at each write.
 *
 * @throws an error of `node:fs` if the path is not the path of a directory
 */
export async function openDiskStore(options: DiskStoreOptions): Promise<DiskStore> {
  const { directory, services, maxBytes, log } = options;
  try {
    await makeDirectory(directory);
    await sweep(directory);
  } catch (error) {
    // A file in place of the directory is a wrong setting. Any other fault may pass, and the gateway can serve.
    if (isOneOf(error, 'EEXIST', 'ENOTDIR')) throw error;
    log.warn({ err: error, directory }, 'SNAPSHOT_DIR cannot be used yet: let the gateway read and write it');
  }
  /** The next write to each file. Writes to a file run one at a time, and a newer listing replaces a waiting one. */
  const waiting = new Map<string, () => Promise<readonly Buffer[]>>();
  const writing = new Map<string, Promise<void>>();
  /** Whether the last write failed; repeated failures are not logged again. */
  let isFailing = false;

  async function writeWaiting(file: string): Promise<void> {
    for (let encode = waiting.get(file); encode; encode = waiting.get(file)) {
      waiting.delete(file);
      await writeFile(file, encode);
    }
    writing.delete(file);
  }

  async function writeFile(file: string, encode: () => Promise<readonly Buffer[]>): Promise<void> {
    try {
      await writeWhole(directory, file, await encode());
      if (isFailing) log.info({ file }, 'SNAPSHOT_DIR can be written again');
      isFailing = false;
    } catch (err) {
      const advice = `The last good listing could not be kept in SNAPSHOT_DIR: make room there, and let the gateway write to it. Until then it serves from memory only`;
      log[isFailing ? 'debug' : 'warn']({ err, file }, advice);
      isFailing = true;
    }
  }

  async function readFrom<Row>(
    kind: StoredKind<Row>,
    file: string,
    isOwn = true,
  ): Promise<Fetched<Row> | undefined> {
    try {
      const record = await readRegular(join(directory, file), maxBytes);
      return await decodeRecord(kind, record, isOwn ? services : undefined, Date.now());
    } catch (error) {
      if (isOneOf(error, 'ENOENT')) return undefined;
      const message = error instanceof Error ? error.message : String(error);
      const reason =
        error instanceof NotReadable
          ? `it is ${message}; remove it, so that the listing can be kept there`
          : isOneOf(error, 'EACCES', 'EPERM')
            ? `${message}; let the gateway read it`
            : message;
      log.warn({ file, reason }, `The ${kind.name} listing on disk is refused, and fetched anew: ${reason}`);
      return undefined;
    }
  }

  return {
    async read(kind) {
      const files = Object.values(services).map((service) => fileOf(kind.name, service));
      const read = await Promise.all(files.map((file) => readFrom(kind, file)));
      return read
        .filter((fetched) => fetched !== undefined)
        .sort((one, other) => other.takenAt - one.takenAt)[0];
    },
    async readOthers<Row>(kind: StoredKind<Row>) {
      const names = await readdir(directory).catch(() => []);
      const others = names.slice(0, MAX_SWEPT).filter((file) => RECORD.exec(file)?.[1] === kind.name);
      const dated = await Promise.all(
        others.map(async (file) => ({
          file,
          at: (await stat(join(directory, file)).catch(() => undefined))?.mtimeMs,
        })),
      );
      dated.sort((one, other) => (other.at ?? 0) - (one.at ?? 0));
      const read: Fetched<Row>[] = [];
      for (const { file } of dated) {
        const fetched = await readFrom(kind, file, false);
        // Another service at the same address has the same file.
        const isOther = fetched && file !== fileOf(kind.name, services[fetched.source]);
        if (isOther && read.push(fetched) === MAX_OTHERS) break;
      }
      return read;
    },
    write(kind, fetched) {
      const file = fileOf(kind.name, services[fetched.source]);
      waiting.set(file, () => encodeRecord(kind, fetched, services));
      const written = writing.get(file) ?? writeWaiting(file);
      writing.set(file, written);
      return written;
    },
    async settled() {
      await Promise.all(writing.values());
    },
  };
}

/** Each service has a file of its own, so that one does not overwrite the other's. */
function fileOf(name: string, service: string | undefined): string {
  return `${name}-${service}.snapshot`;
}

/** Writes atomically (temporary file, fsync, rename): a crash at any point leaves the old file or the new one. */
async function writeWhole(directory: string, file: string, parts: readonly Buffer[]): Promise<void> {
  const temporary = join(directory, `${file}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    const handle = await open(temporary, 'wx', 0o644);
    try {
      for (const part of parts) await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(directory, file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  // Without an fsync of the directory a power cut may undo the rename.
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync().finally(() => handle.close());
}

/**
 * Creates a directory and its parents. Node's recursive `mkdir` never ends on a file system that answers ENOENT to each
 * attempt, as /proc does.
 */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (isOneOf(error, 'EEXIST') && (await stat(directory)).isDirectory()) return;
    const parent = dirname(directory);
    if (!isOneOf(error, 'ENOENT') || parent === directory) throw error;
    await makeDirectory(parent);
    // Another gateway may create it at the same time.
    await mkdir(directory).catch((error: unknown) => {
      if (!isOneOf(error, 'EEXIST')) throw error;
    });
  }
}

/** Removes temporary files of killed processes. */
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
      // A file that cannot be removed does no harm.
    }
  }
}
