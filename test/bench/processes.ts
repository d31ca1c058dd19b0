import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const children = new Set<ChildProcess>();

/** Has the process end with this one. */
export function keep<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Ends processes, and waits until they have. */
export async function end(...ending: readonly { readonly child: ChildProcess }[]): Promise<void> {
  for (const { child } of ending) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

/** Ends all that is still kept. */
export function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

const TASKSET = '/usr/bin/taskset';

/** Whether servers and load have a core each. */
export const isPinned = cpus().length >= 2 && existsSync(TASKSET);

/** Keeps a process and what it starts to the core of the servers or to that of the load, where the system lets it. */
export function pin(pid: number | undefined, side: 'server' | 'load' | 'any'): void {
  if (!isPinned || pid === undefined) return;
  const cores = { server: '0', load: '1', any: `0-${cpus().length - 1}` };
  execFileSync(TASKSET, ['-a', '-c', '-p', cores[side], String(pid)]);
}

/** User and system time of all threads, which Linux counts in hundredths of a second; NaN elsewhere. */
export function cpuMicrosOf(pid: number | undefined): number {
  const fields = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * 10_000;
}

/** Resident memory now, and the most that it has been since the start. */
export function megabytesOf(pid: number | undefined): { readonly now: number; readonly most: number } {
  const status = procFile(pid, 'status');
  const read = (name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024) / 1e6;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

function procFile(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

const PEERS = new URL('../../../test/bench/peers/', import.meta.url);

/** Installs the packages that only the servers beside ours need, unless they are there. */
export function installPeers(): void {
  // npm writes it when all is installed.
  if (existsSync(new URL('node_modules/.package-lock.json', PEERS))) return;
  process.stderr.write('Installing what the gateway is measured against: npm ci --prefix test/bench/peers\n');
  execFileSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', fileURLToPath(PEERS)],
    {
      stdio: ['ignore', process.stderr, process.stderr],
    },
  );
}

/** One of those packages. */
export const requirePeer: (name: string) => unknown = createRequire(new URL('package.json', PEERS));
