import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../logger.js';
import type { Kind } from './kinds.js';
import type { Taken } from './listing.js';
import { decodeRecord, encodeRecord, type Services } from './record.js';

/** What {@link openDiskStore} takes. */
export interface DiskStoreOptions {
  /** It is made if there is none. */
  readonly directory: string;
  /** Whose listings may be served; those of others stay where they are. */
  readonly services: Services;
  readonly log: Logger;
}

/** Where the last good listings outlive the process. Nothing rejects: what fails is in the log. */
export interface DiskStore {
  /** The newest of the listings that were written, or undefined where there is none that may be served. */
  read<Row>(kind: Kind<Row>): Promise<Taken<Row> | undefined>;
  /** Puts this answer in the place of the last; whoever reads gets either of them, and never a part. */
  write<Row>(kind: Kind<Row>, taken: Taken<Row>): Promise<void>;
  /** Resolves when nothing is left to be written. */
  settled(): Promise<void>;
}

/** What a process that was killed left behind is older than this, in milliseconds. */
const LEFT_BEHIND_AFTER_MS = 60_000;
const TEMPORARY = /^(chains|tokens)-\w+\.snapshot\.[0-9a-f]{16}\.tmp$/;

/**
 * Opens the store.
 *
 * @throws what `node:fs` throws where the path is not one of a directory
 */
export async function openDiskStore(options: DiskStoreOptions): Promise<DiskStore> {
  const { directory, services, log } = options;
  try {
    await mkdir(directory, { recursive: true });
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

  async function readFrom<Row>(kind: Kind<Row>, file: string): Promise<Taken<Row> | undefined> {
    try {
      const text = await readFile(join(directory, file), 'utf8');
      return await decodeRecord(kind, text, services, Date.now());
    } catch (error) {
      if (isOneOf(error, 'ENOENT')) return undefined;
      const reason = error instanceof Error ? error.message : String(error);
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
  const handle = await open(directory, 'r');
  await handle.sync().finally(() => handle.close());
}

async function sweep(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!TEMPORARY.test(name)) continue;
    const path = join(directory, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > LEFT_BEHIND_AFTER_MS) await rm(path, { force: true });
  }
}

function isOneOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
