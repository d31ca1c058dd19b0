import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const children = new Set<ChildProcess>();

/** Ends the child process when this process ends. */
export function keep<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Ends processes, and waits for their exits. */
export async function end(...ending: readonly { readonly child: ChildProcess }[]): Promise<void> {
  for (const { child } of ending) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

/** Ends all processes that still run. */
export function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

const TASKSET = '/usr/bin/taskset';

/** Whether servers and load run on separate cores. */
export const isPinned = cpus().length >= 2 && existsSync(TASKSET);

/** Pins a process and its children to the core of the servers or of the load, if the system supports it. */
export function pin(pid: number | undefined, side: 'server' | 'load' | 'any'): void {
  if (!isPinned || pid === undefined) return;
  const cores = { server: '0', load: '1', any: `0-${cpus().length - 1}` };
  execFileSync(TASKSET, ['-a', '-c', '-p', cores[side], String(pid)]);
}

const PEERS = new URL('../../../test/bench/peers/', import.meta.url);

/** Installs the packages of the other servers, unless they are installed. */
export function installPeers(): void {
  // npm writes this file at the end of an installation.
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

/** Loads one of the packages that {@link installPeers} installs. */
export const requirePeer: (name: string) => unknown = createRequire(new URL('package.json', PEERS));
