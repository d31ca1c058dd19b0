import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { ROOT } from '../support/readme.js';
import { type AtEnd, startServerProcess } from '../support/server-process.js';

const run = promisify(execFile);
export const HOSTS = fileURLToPath(new URL('hosts', import.meta.url));
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
/** Runtimes that npm has, for CI: the program in the package of this platform. */
const RUNTIMES = { bun: 'bun@1.4.5', deno: 'deno@2.9.6' } as const;

export type Runtime = keyof typeof RUNTIMES;

/**
 * Packs the gateway, and installs it into an empty project beside the servers that mount it.
 *
 * @returns the folder; undefined where npm cannot be reached. In CI that fails.
 */
export async function installPacked(atEnd: AtEnd): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-hosts-'));
  atEnd(async () => rmSync(folder, { recursive: true, force: true }));
  cpSync(HOSTS, folder, { recursive: true });
  try {
    const { stdout } = await run('npm', ['pack', '--pack-destination', folder, '--json'], { cwd: ROOT });
    const packed: unknown = JSON.parse(stdout);
    const [file] = Array.isArray(packed) ? packed : Object.values(packed as object);
    const { filename } = file as { filename: string };
    // Alone, as a library's user who refuses packages that the running Node is too old for.
    const alone = join(folder, 'alone');
    mkdirSync(alone);
    writeFileSync(join(alone, 'package.json'), '{ "private": true }');
    await run('npm', ['install', '--engine-strict', '--dry-run', ...QUIET, `../${filename}`], { cwd: alone });
    await run('npm', ['install', ...QUIET, `./${filename}`], { cwd: folder });
  } catch (error) {
    if (process.env.CI || !/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(String(error)))
      throw error;
    process.stderr.write(
      'npm cannot be reached: tests of the packed gateway in other servers are skipped.\n',
    );
    return undefined;
  }
  return folder;
}

/** The program of a runtime: that of this machine, or in CI that of npm. Undefined where there is none. */
export async function findRuntime(runtime: Runtime, folder: string): Promise<string | undefined> {
  try {
    await run(runtime, ['--version']);
    return runtime;
  } catch {
    if (!process.env.CI) {
      process.stderr.write(`${runtime} is not installed: the test of the gateway in it is skipped.\n`);
      return undefined;
    }
  }
  // With its scripts: they put the program in its place.
  const apart = mkdtempSync(join(folder, `${runtime}-`));
  writeFileSync(join(apart, 'package.json'), '{}');
  await run('npm', ['install', '--no-audit', '--no-fund', RUNTIMES[runtime]], { cwd: apart });
  return join(apart, 'node_modules/.bin', runtime);
}

/**
 * Starts a file of `hosts` in front of this upstream; gives its address when it answers.
 *
 * @param command the program that runs it, with its arguments
 */
export async function startHost(
  folder: string,
  file: string,
  upstreamUrl: string,
  atEnd: AtEnd,
  command: readonly string[] = [process.execPath],
): Promise<string> {
  const port = await freePort();
  const apart = mkdtempSync(join(folder, 'host-'));
  for (const name of [file, 'route.js']) {
    const text = readFileSync(join(folder, name), 'utf8')
      .replaceAll('https://stargate.finance/api/v1', upstreamUrl)
      .replaceAll('3000', String(port));
    writeFileSync(join(apart, name), text);
  }
  // No other variable: whatever a process may read from its environment must not matter.
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    NODE_ENV: 'production',
    UPSTREAM_URL: 'no address',
  };
  const address = `http://127.0.0.1:${port}/api/graphql`;
  const server = { name: file, command: [...command, join(apart, file)], cwd: folder, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

async function isAnswering(address: string): Promise<boolean> {
  const response = await fetch(`${address}?query={chains{chainKey}tokens{symbol}}`);
  return response.status === 200 && !(await response.text()).includes('"errors"');
}
