/** Programs and packages of the deployment: whether to skip tests that need them, and nginx in front of gateways. */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/ends.js';
import { freePort } from '../support/processes.js';
import { isMissing, spawnKept } from '../support/server-process.js';
import { deployed } from './files.js';

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

/** @param gateways the ports of the gateways on this machine, in place of the addresses in .deploy/nginx.conf */
export async function startNginx(gateways: readonly number[]) {
  const folder = temporaryDirectory();
  const port = await freePort();
  let config = deployed('nginx.conf')
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replaceAll('/tmp/', `${folder}/`);
  for (const [index, gateway] of gateways.entries()) {
    config = config.replace(`gateway-${index + 1}:4000`, `127.0.0.1:${gateway}`);
  }
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, config);
  const { child, output, exited } = spawnKept('nginx', ['-c', file, '-e', 'stderr', '-g', 'daemon off;']);
  onTestFinished(async () => {
    // The worker process of nginx ends with this process.
    child.kill('SIGTERM');
    await exited;
  });
  const address = `http://127.0.0.1:${port}`;
  await expect
    .poll(async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${output()}`);
      return (await fetch(`${address}/live`)).status;
    })
    .toBe(200);
  return { address, output };
}
