/** The production packages are enough to run the built gateway, and they are as few and small as promised. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { crawl } from './support/crawl.js';
import { temporaryDirectory } from './support/ends.js';
import { ask } from './support/gateway-process.js';
import { freePort } from './support/processes.js';
import { PACKAGE, ROOT, readText } from './support/readme.js';
import { spawnGroup } from './support/server-process.js';

const MIB = 2 ** 20;
const MAX_MIB = 61;
const MAX_PACKAGES = 100;

const ENV = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', npm_config_prefer_offline: 'true' };
const run = promisify(execFile);
/** Packages that the code imports. Those of @graphql-tools are in package.json only to fix their versions. */
const DEPENDENCIES = Object.keys(PACKAGE.dependencies).filter((name) => !name.startsWith('@graphql-tools/'));

/** The files of a container: the built gateway, and the packages of `npm ci --omit=dev --omit=optional`. */
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-production-'));
  for (const name of ['dist', 'package.json', 'package-lock.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await run('npm', ['ci', '--omit=dev', '--omit=optional'], { cwd: folder, env: ENV });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const npmStart = (cwd: string, env: Readonly<Record<string, string>> = {}) =>
  spawnGroup('npm', ['start'], { cwd, env: { ...ENV, ...env } });

async function startInProduction() {
  const port = await freePort();
  const started = npmStart(folder, { PORT: String(port) });
  await expect.poll(started.output).toContain('"msg":"Listening"');
  return { ...started, address: `http://127.0.0.1:${port}` };
}

it('npm ci without development packages is enough for npm start: it responds, serves both pages, and stops', async () => {
  const { child, address, exited, output } = await startInProduction();
  const query = '{ tokens(srcChainKey: "degen") { symbol chain { name } } }';
  expect((await ask<{ tokens: unknown[] }>(address, query)).data.tokens).toHaveLength(4);
  const statuses = await crawl(
    (path) => fetch(address + path, { headers: { accept: 'text/html' } }),
    ['/', '/graphql'],
  );
  expect(statuses.size).toBeGreaterThan(10);
  expect([...statuses].filter(([, status]) => status !== 200)).toEqual([]);
  child.kill('SIGTERM');
  expect(await exited, output()).toBe(0);
  expect(output()).toContain('"msg":"Stopped"');
});

it(`npm ci installs at most ${MAX_MIB} MiB and ${MAX_PACKAGES} packages, no TypeScript among them, and runs no scripts`, () => {
  const packages = installedPackages();
  expect(packages.length).toBeLessThanOrEqual(MAX_PACKAGES);
  expect(spaceOf(join(folder, 'node_modules')) / MIB).toBeLessThanOrEqual(MAX_MIB);
  const names = packages.map((path) => manifestOf(path).name);
  expect(names.filter((name) => /typescript/.test(name))).toEqual([]);
  const hooks = ['preinstall', 'install', 'postinstall'];
  const scripted = packages.filter((path) => hooks.some((hook) => hook in (manifestOf(path).scripts ?? {})));
  expect(scripted).toEqual([]);
});

it('the dependencies in package.json are exactly what the compiled code imports, and the table in src/decisions.md names each of them', () => {
  const [, table = ''] = readText('src/decisions.md').split('\n## Dependencies\n');
  expect([...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)).toEqual(DEPENDENCIES);
  const dist = join(folder, 'dist');
  const imported = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    // Scripts of the build do not run in production.
    .filter((path) => path.endsWith('.js') && !path.startsWith('packaging/'))
    .filter((path) => !/^pages\/(picker|graphiql)\//.test(path))
    .flatMap((path) => [
      ...readFileSync(join(dist, path), 'utf8').matchAll(
        /\b(?:from|import\(|import|resolve\() ?['"]((?:@[\w-]+\/)?\w[\w.-]*)(?:\/[^'"]*)?['"]/g,
      ),
    ])
    .map(([, name = '']) => name)
    .filter((name) => !isBuiltin(name));
  // pino-pretty is optional: without it a terminal gets JSON lines.
  const expected = [...DEPENDENCIES, 'pino-pretty'];
  expect([...new Set(imported)].toSorted()).toEqual(expected.toSorted());
});

it('npm start names the commands to run if nothing was built', async () => {
  const empty = temporaryDirectory();
  cpSync(join(ROOT, 'package.json'), join(empty, 'package.json'));
  const { exited, output } = npmStart(empty);
  expect(await exited).toBe(1);
  expect(output()).toContain('There is no dist. Run npm ci && npm run build');
});

it('.ci/sbom lists exactly the packages of production, as CycloneDX', async () => {
  const { stdout } = await run('.ci/sbom', [], { cwd: ROOT, env: ENV, maxBuffer: 16 * MIB });
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string;
    components: { name: string; version: string; licenses?: unknown }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const identify = ({ name, version }: { name: string; version: string }) => `${name}@${version}`;
  const installed = installedPackages().map(manifestOf);
  expect(new Set(components.map(identify))).toEqual(new Set(installed.map(identify)));
});

function manifestOf(path: string): { name: string; version: string; scripts?: Record<string, string> } {
  const file = join(folder, path, 'package.json');
  expect(existsSync(file), file).toBe(true);
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The space that a file or a folder takes on a disk with blocks of 4096 bytes, in bytes. */
function spaceOf(path: string): number {
  const stats = lstatSync(path);
  const own = Math.ceil(stats.size / 4096) * 4096;
  if (!stats.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + spaceOf(join(path, name)), own);
}

function installedPackages(): readonly string[] {
  const lock = readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8');
  return Object.keys((JSON.parse(lock) as { packages: object }).packages);
}
