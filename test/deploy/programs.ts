import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The programs that these tests need, each with a command that succeeds if the program is installed. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  prometheus: ['prometheus', '--version'],
  promtool: ['promtool', '--version'],
  nginx: ['nginx', '-v'],
  'redis-server': ['redis-server', '--version'],
};

/**
 * Whether to skip tests that need these programs; if so, writes a line about it. In CI the tests are not skipped: a
 * missing program fails them.
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

/** Like `areMissing`, but for npm packages, which `npm ci --prefix test/deploy` installs. */
export function arePackagesMissing(...packages: readonly string[]): boolean {
  const missing = packages.filter((name) => !existsSync(new URL(`node_modules/${name}`, import.meta.url)));
  if (missing.length === 0 || process.env.CI) return false;
  process.stderr.write(
    `Not installed: ${missing.join(', ')} (npm ci --prefix test/deploy). Tests are skipped.\n`,
  );
  return true;
}
