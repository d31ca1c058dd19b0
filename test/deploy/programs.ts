/** Whether to skip tests because a program or package of the deployment is not installed. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isMissing } from '../support/server-process.js';

export const areMissing = (...programs: readonly string[]) =>
  programs
    .map((name) => isMissing(spawnSync(name, [name === 'nginx' ? '-v' : '--version']).status === 0, name))
    .includes(true);

/** Whether to skip tests that need this package, which `npm ci --prefix test/deploy` installs. */
export const isPackageMissing = (name: string) =>
  isMissing(
    existsSync(new URL(`node_modules/${name}`, import.meta.url)),
    `${name} (npm ci --prefix test/deploy)`,
  );
