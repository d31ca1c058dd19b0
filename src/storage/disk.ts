/** Stores listings in the directory `SNAPSHOT_DIR`, so that they outlive the process. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceFingerprints } from '../domain/digests.js';
import type { Fetched } from '../domain/listing.js';
import type { Logger } from '../logger/logger.js';
import type { DiskStore } from '../snapshots/stores.js';
import type { StoredKind } from '../upstream/listing-kinds.js';
import { decodeListing, encodeListing, RECORD_FORMAT } from './stored-listing.js';

const WARN_SLOW_MS = 3_000;
/** A write that takes longer counts as failed until it ends: a network file system can stop answering (ms). */
const WRITE_WITHIN_MS = 30_000;

/**
 * If the directory cannot be used yet, this is logged, and each write tries again to create and to use it.
 *
 * @throws an error of `node:fs` if the path is not the path of a directory
 */
export async function openDiskStore(
  directory: string,
  services: ServiceFingerprints,
  log: Logger,
  onStored?: (isStored: boolean) => void,
  writeWithinMs = WRITE_WITHIN_MS,
): Promise<DiskStore> {
  // A directory that does not answer: a network file system that is down, or a path below /proc, which Node tries to
  // create without end.
  const slow =
    'SNAPSHOT_DIR does not answer, and the gateway waits for it. If it stays so, set another directory';
  const warning = setTimeout(() => log.warn({ directory }, slow), WARN_SLOW_MS);
  try {
    await mkdir(directory, { recursive: true });
    await removeUnfinished(directory).catch(() => {});
  } catch (error) {
    // If the path is that of a file, the setting is wrong. Any other fault may pass, and the gateway serves meanwhile.
    if (['EEXIST', 'ENOTDIR'].includes(codeOf(error))) throw error;
    log.warn({ err: error, directory }, 'SNAPSHOT_DIR cannot be used yet: let the gateway read and write it');
  } finally {
    clearTimeout(warning);
  }
  /** By file: the write to begin next. Nothing else may hold its listing: many can follow while a write does not end. */
  const waiting = new Map<string, () => Promise<void>>();
  /** By file: the end of all its writes. A file has one write at a time. */
  const writing = new Map<string, Promise<void>>();
  /** The files whose rows may be served. Other files only give guarded values, last prices and the token list's version. */
  const usable = new Set<string>();
  const failing = new Set<string>();

  /** A function of its own: the functions of one scope hold all values that any of them uses. */
  const writeOf =
    <Row>(kind: StoredKind<Row>, fetched: Fetched<Row>, file: string) =>
    async (): Promise<void> => {
      const fail = (err: unknown) => {
        log[failing.has(kind.name) ? 'debug' : 'warn'](
          { err, file },
          'The last good listing could not be kept in SNAPSHOT_DIR: make room there, and let the gateway write to it. Until then a restart finds an older listing or none',
        );
        failing.add(kind.name);
        onStored?.(false);
      };
      const late = setTimeout(fail, writeWithinMs, new Error('The directory does not answer')).unref();
      try {
        await writeWhole(directory, file, await encodeListing(kind, fetched, services));
        if (failing.delete(kind.name)) log.info({ file }, 'SNAPSHOT_DIR can be written again');
        onStored?.(failing.size === 0);
      } catch (err) {
        fail(err);
      } finally {
        clearTimeout(late);
      }
    };

  /** Does nothing if a newer listing was written in place of an older one. */
  async function writeNext(file: string): Promise<void> {
    const write = waiting.get(file);
    waiting.delete(file);
    await write?.();
  }

  /** Reads files, the newest listing first, without refused ones. @param of as in {@link decodeListing} */
  async function readAll<Row>(kind: StoredKind<Row>, files: readonly string[], of?: ServiceFingerprints) {
    const read: Fetched<Row>[] = [];
    for (const file of files) {
      try {
        read.push(await decodeListing(kind, await readFile(join(directory, file)), of, Date.now()));
        if (of) usable.add(file);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') continue;
        const reason = (error as Error).message;
        log.warn({ file, reason }, `A ${kind.name} listing on disk is refused, and not used: ${reason}`);
      }
    }
    return read.sort((one, other) => other.takenAt - one.takenAt);
  }

  return {
    async read(kind) {
      const files = Object.values(services).map((service) => fileOf(kind.name, service));
      return (await readAll(kind, files, services))[0];
    },
    async readOthers(kind) {
      const isOther = (file: string) =>
        file.startsWith(`${kind.name}-`) && formatOf(file) <= RECORD_FORMAT && !usable.has(file);
      // Facts are also read from a file that has the right name but must not be served: it can be of another service
      // at the same address, or from a time in the future because a clock was wrong.
      return readAll(kind, (await readdir(directory).catch(() => [])).filter(isOther));
    },
    write(kind, fetched) {
      const file = fileOf(kind.name, services[fetched.source]);
      waiting.set(file, writeOf(kind, fetched, file));
      const written = Promise.resolve(writing.get(file)).then(() => writeNext(file));
      writing.set(file, written);
      return written;
    },
    settled: () => Promise.all(writing.values()),
  };
}

/** Each service has its own file. The format is part of its name, so that a rollback finds the older file. */
function fileOf(name: string, service: string | undefined): string {
  return `${name}-${service}.${RECORD_FORMAT}.snapshot`;
}

/** The number of the format: 0 for the oldest files, which have no number; infinite for a file of another kind. */
function formatOf(file: string): number {
  const named = /^\w+-\w+(?:\.(\d+))?\.snapshot$/.exec(file);
  return named ? Number(named[1] ?? 0) : Number.POSITIVE_INFINITY;
}

/** Matches the names of the files that {@link writeWhole} renames when they are whole. */
const TEMPORARY = /^\w+-\w+(?:\.\d+)?\.snapshot\.[0-9a-f]{16}\.tmp$/;
/** A younger temporary file may be one that another gateway is writing. */
const UNFINISHED_AFTER_MS = 3_600_000;

/** Removes the temporary files of processes that were killed during a write. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const file of (await readdir(directory)).filter((name) => TEMPORARY.test(name))) {
    const path = join(directory, file);
    if (Date.now() - (await stat(path)).mtimeMs > UNFINISHED_AFTER_MS) await rm(path);
  }
}

/** Writes atomically: a crash at any point leaves the old file or the new one. */
async function writeWhole(directory: string, file: string, content: Buffer): Promise<void> {
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `${file}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: 0o644, flush: true });
    await rename(temporary, join(directory, file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  // The directory is synced, because a power cut could otherwise undo the rename.
  const handle = await open(directory);
  await handle.sync().finally(() => handle.close());
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
