/** Installs the packed gateway and other servers, and starts the hosts of the library's guide. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { ROOT } from '../support/readme.js';
import { type AtEnd, startServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-files.js';

const run = promisify(execFile);
export const HOSTS = fileURLToPath(new URL('hosts', import.meta.url));
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
/** The address of the upstream in the files of `hosts`. The tests replace it. */
const UPSTREAM = 'https://stargate.finance/api/v1';
/** The runtimes that npm can install, and their arguments to run a file. */
const RUNTIMES = {
  bun: { installed: 'bun@1.4.5', args: [] },
  deno: { installed: 'deno@2.9.6', args: ['run', '--allow-all'] },
} as const;

export type Runtime = keyof typeof RUNTIMES;

/** Packs the gateway, and installs it into an empty project beside the servers that mount it. @returns the folder */
export async function installPacked(atEnd: AtEnd): Promise<string> {
  const folder = temporaryDirectory(atEnd);
  cpSync(HOSTS, folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--pack-destination', folder, '--json'], { cwd: ROOT });
  const packed: unknown = JSON.parse(stdout);
  const [file] = Array.isArray(packed) ? packed : Object.values(packed as object);
  const { filename } = file as { filename: string };
  // First the gateway is installed alone, with engine checks: a package that needs a newer Node is an error.
  const alone = join(folder, 'alone');
  mkdirSync(alone);
  writeFileSync(join(alone, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--engine-strict', '--dry-run', ...QUIET, `../${filename}`], { cwd: alone });
  await run('npm', ['install', ...QUIET, `./${filename}`], { cwd: folder });
  return folder;
}

/** Installs a runtime from npm, once. @returns the program that runs a file, with its arguments */
export function installRuntime(runtime: Runtime, folder: string): Promise<readonly string[]> {
  installing[runtime] ??= (async () => {
    // Install scripts must run here, because they install the program.
    const apart = mkdtempSync(join(folder, `${runtime}-`));
    writeFileSync(join(apart, 'package.json'), '{}');
    await run('npm', ['install', '--no-audit', '--no-fund', RUNTIMES[runtime].installed], { cwd: apart });
    return [join(apart, 'node_modules/.bin', runtime), ...RUNTIMES[runtime].args];
  })();
  return installing[runtime];
}

const installing: Partial<Record<Runtime, Promise<readonly string[]>>> = {};

/** Builds and starts the Next app with this upstream. Resolves with its base address when it answers. */
export async function startNext(folder: string, upstreamUrl: string, atEnd: AtEnd): Promise<string> {
  const app = join(folder, 'next');
  const route = join(app, 'app/tokens/[[...path]]/route.js');
  writeFileSync(route, readFileSync(route, 'utf8').replace(UPSTREAM, upstreamUrl));
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NEXT_TELEMETRY_DISABLED: '1' };
  const next = join(folder, 'node_modules/.bin/next');
  await run(next, ['build'], { cwd: app, env });
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/tokens`;
  const server = { name: 'Next', command: [next, 'start', '-p', String(port)], cwd: app, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

/**
 * Starts a file of `hosts` with this upstream. Resolves with its base address when it answers.
 *
 * @param command the program that runs it, with its arguments
 */
export async function startHost(
  folder: string,
  file: string,
  upstreamUrl: string,
  atEnd: AtEnd,
  command: readonly string[],
): Promise<string> {
  const port = await freePort();
  const apart = mkdtempSync(join(folder, 'host-'));
  const text = readFileSync(join(folder, file), 'utf8');
  writeFileSync(join(apart, file), text.replace(UPSTREAM, upstreamUrl).replaceAll('3000', String(port)));
  // The library must not read the environment, so UPSTREAM_URL is invalid, and other variables are left out.
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    NODE_ENV: 'production',
    UPSTREAM_URL: 'no address',
  };
  const address = `http://127.0.0.1:${port}/tokens`;
  const server = { name: file, command: [...command, join(apart, file)], cwd: folder, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

async function isAnswering(address: string): Promise<boolean> {
  const response = await fetch(`${address}/graphql?query={chains{chainKey}tokens{symbol}}`);
  return response.status === 200 && !(await response.text()).includes('"errors"');
}
