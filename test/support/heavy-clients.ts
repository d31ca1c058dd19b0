/** Projects of clients that have their own compilers, and the commands that compile and run them. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AtEnd, temporaryDirectory } from './ends.js';
import { ROOT } from './readme.js';
import { isMissing } from './server-process.js';

/** Time limit of a command, in milliseconds. Only a program that hangs takes longer, or one on a very busy machine. */
const END_WITHIN_MS = 600_000;

const CLIENTS = join(ROOT, 'test', 'clients');
const INSTALLED = join(CLIENTS, 'node_modules');

const INSTALL = 'npm ci --prefix test/clients';

// npm writes this file at the end of an installation.
const isInstalled = existsSync(join(INSTALLED, '.package-lock.json'));

export const isHeavyMissing = isMissing(isInstalled, `Relay and code generators (${INSTALL})`);

export type Ended = { readonly status: number; readonly stdout: string; readonly stderr: string };

export type ClientProject = ReturnType<typeof createClientProject>;

/** Merges folders of test/clients/projects in a temporary directory, and adds schema.graphql. It generates no code. */
export function createClientProject(atEnd: AtEnd, ...folders: readonly string[]) {
  if (!isInstalled) throw new Error(`Nothing may be skipped in CI: ${INSTALL}`);
  const directory = temporaryDirectory(atEnd);
  for (const folder of folders) {
    cpSync(join(CLIENTS, 'projects', folder), directory, { recursive: true });
  }
  cpSync(join(ROOT, 'schema.graphql'), join(directory, 'schema.graphql'));
  symlinkSync(INSTALLED, join(directory, 'node_modules'));

  const run = (file: string, args: readonly string[]) =>
    new Promise<Ended>((resolve) => {
      execFile(file, args, { cwd: directory, timeout: END_WITHIN_MS }, (error, stdout, stderr) => {
        const why = error?.killed
          ? `ended after ${END_WITHIN_MS / 1000} s: it hangs, or the machine is too busy`
          : '';
        resolve({ status: error ? Number(error.code ?? 1) : 0, stdout, stderr: stderr + why });
      });
    });
  return {
    tool: (name: string, ...args: readonly string[]) => run(join(INSTALLED, '.bin', name), args),
    node: (script: string, ...args: readonly string[]) =>
      run(process.execPath, [join(directory, script), ...args]),
    async compile() {
      const { stdout, stderr } = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['--pretty', 'false']);
      return (stdout + stderr).split(/\n(?=\S)/).filter((error) => error.trim() !== '');
    },
    write: (path: string, text: string) => writeFileSync(join(directory, path), text),
  };
}
