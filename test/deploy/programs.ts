import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Packages of Debian with the programs of these tests, and how each program says that it is there. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  prometheus: ['prometheus', '--version'],
  promtool: ['promtool', '--version'],
  nginx: ['nginx', '-v'],
  'redis-server': ['redis-server', '--version'],
};

/**
 * Whether tests that need these programs are to be skipped, with a line that says so. In CI they never are: a program
 * that is missing there fails them.
 */
export function areMissing(...programs: readonly string[]): boolean {
  const missing = programs.filter((program) => {
    const [command = program, ...args] = PACKAGES[program] ?? [];
    return spawnSync(command, args).status !== 0;
  });
  if (missing.length === 0 || process.env.CI) return false;
  process.stderr.write(`Not installed: ${missing.join(', ')}. Tests that need it are skipped.\n`);
  return true;
}

/** As `areMissing`, for packages of `test/deploy`, which `npm ci --prefix test/deploy` installs. */
export function arePackagesMissing(...packages: readonly string[]): boolean {
  const missing = packages.filter((name) => !existsSync(new URL(`node_modules/${name}`, import.meta.url)));
  if (missing.length === 0 || process.env.CI) return false;
  process.stderr.write(
    `Not installed: ${missing.join(', ')} (npm ci --prefix test/deploy). Tests are skipped.\n`,
  );
  return true;
}
