import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** What of a container this machine can give: the first two need root and capabilities, the last a cgroup. */
export const CAN = {
  changeUser: spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'true']).status === 0,
  mountReadOnly: spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -o remount,bind,ro /']).status === 0,
  limitMemory: canLimitMemory(),
};

for (const [ability, isThere] of Object.entries(CAN)) {
  if (!isThere) process.stderr.write(`This machine does not allow it (${ability}): tested without.\n`);
}

/** Where memory is limited, in either version of cgroups. */
interface MemoryGroup {
  readonly folder: string;
  readonly limit: string;
  readonly peak: string;
}

function memoryGroup(name: string): MemoryGroup {
  const isFirst = existsSync('/sys/fs/cgroup/memory');
  const folder = join('/sys/fs/cgroup', isFirst ? 'memory' : '', name);
  return isFirst
    ? { folder, limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' }
    : { folder, limit: 'memory.max', peak: 'memory.peak' };
}

function canLimitMemory(): boolean {
  const { folder, limit } = memoryGroup(`gateway-try-${process.pid}`);
  try {
    mkdirSync(folder);
    const isThere = existsSync(join(folder, limit));
    rmdirSync(folder);
    return isThere;
  } catch {
    return false;
  }
}

/** A process that runs like a container's. */
export interface Container {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
  /** The most memory that it has used, in bytes, as the limit counts it; undefined where there is no limit. */
  peak(): number | undefined;
}

export interface ContainerOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Such as "65534:65534". */
  readonly user: string | undefined;
  /** Folders in which it may write. */
  readonly volumes: readonly string[];
  readonly memoryBytes: number;
}

let containers = 0;

/**
 * Runs a command with a read-only file system, as another user without any capability, and with limited memory, as
 * far as this machine can ({@link CAN}). The test's end kills it.
 */
export function runContained(
  command: readonly string[],
  { folder, env, user, volumes, memoryBytes }: ContainerOptions,
): Container {
  const group = memoryGroup(`gateway-${process.pid}-${containers++}`);
  const steps: string[] = [];
  if (CAN.limitMemory) {
    mkdirSync(group.folder);
    writeFileSync(join(group.folder, group.limit), String(memoryBytes));
    steps.push(`echo $$ > ${join(group.folder, 'cgroup.procs')}`);
  }
  if (CAN.mountReadOnly) {
    for (const volume of volumes) steps.push(`mount --bind ${volume} ${volume}`);
    // The root, and what its folders may be mounted from.
    steps.push(`for at in / $(findmnt -n -o TARGET -T ${folder}); do mount -o remount,bind,ro $at; done`);
  }
  const [uid, gid] = (user ?? '').split(':');
  const asUser = `setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --bounding-set=-all`;
  steps.push(`cd ${folder}`, `exec ${CAN.changeUser && user ? asUser : ''} "$@"`);
  const shell = ['sh', '-c', `set -e\n${steps.join('\n')}`, 'sh', ...command];
  const [program = 'sh', ...args] = CAN.mountReadOnly ? ['unshare', '--mount', ...shell] : shell;
  const child = spawn(program, args, { env: { PATH: process.env.PATH ?? '', ...env } });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      written += chunk.toString();
    });
  }
  const exited = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
    if (CAN.limitMemory) rmdirSync(group.folder);
  });
  return {
    child,
    output: () => written,
    exited,
    peak() {
      const file = join(group.folder, group.peak);
      return CAN.limitMemory && existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
    },
  };
}
