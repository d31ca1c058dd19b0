/** Starts nginx with the configuration of .deploy in front of gateways on this machine. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/ends.js';
import { freePort } from '../support/processes.js';
import { spawnKept } from '../support/server-process.js';
import { deployed } from './files.js';

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
