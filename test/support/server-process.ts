import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Registers a function that ends a started server. */
export type AtEnd = (end: () => Promise<void>) => void;

/** A server other than the gateway, in a process of its own. */
export interface ServerProcess {
  readonly name: string;
  /** The program that runs it, with its arguments. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it responds now. */
  readonly isAnswering: () => Promise<boolean>;
}

const STARTS_WITHIN_MS = 180_000;

/**
 * Starts a server, and waits until it answers.
 *
 * @throws by rejection, with all that it wrote, if it ends before that or takes more than three minutes
 */
export async function startServerProcess(server: ServerProcess, atEnd: AtEnd): Promise<void> {
  const { name, command, cwd, env, isAnswering } = server;
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  atEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (!(await isAnswering().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`${name} does not answer: ${output}`);
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output}`);
    await sleep(50);
  }
}
