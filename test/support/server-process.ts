/** Starts processes for a test, waits for their answers, reads their output, and ends them. */
import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './ends.js';

/** A server other than the gateway, which runs in a separate process. */
interface ServerProcess {
  readonly name: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isAnswering: () => Promise<boolean>;
}

const STARTS_WITHIN_MS = 180_000;

/** Starts a process. `output` returns all that it has written so far, and `exited` resolves with its exit status. */
export function spawnKept(
  program: string,
  args: readonly string[] = [],
  options: SpawnOptionsWithoutStdio = {},
) {
  const child = spawn(program, args, options);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  // Waits for `close`, not for `exit`, which can precede the last output.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, exited };
}

/** Like {@link spawnKept}, but in a new process group. At the end of the test the whole group is killed. */
export function spawnGroup(program: string, args: readonly string[], options: SpawnOptionsWithoutStdio) {
  const kept = spawnKept(program, args, { ...options, detached: true });
  onTestFinished(async () => {
    try {
      if (kept.child.pid) process.kill(-kept.child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
    await kept.exited;
  });
  return kept;
}

/** Waits until the server answers. @throws Error with its output if it ends before, or takes more than three minutes */
export async function startServerProcess(server: ServerProcess, atEnd: AtEnd): Promise<void> {
  const { name, command, cwd, env, isAnswering } = server;
  const [program = '', ...args] = command;
  const { child, output, exited } = spawnKept(program, args, { cwd, env });
  atEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (!(await isAnswering().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`${name} does not answer: ${output()}`);
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output()}`);
    await sleep(50);
  }
}

/**
 * Whether to skip tests because a program or package is missing; if so, writes a line. In CI always false, so that the
 * tests run and fail.
 *
 * @param what its name, and how to install it
 */
export function isMissing(isInstalled: boolean, what: string): boolean {
  if (isInstalled || process.env.CI) return false;
  process.stderr.write(`Not installed: ${what}. Tests that need it are skipped.\n`);
  return true;
}
