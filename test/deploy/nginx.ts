import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';
import { spawnKept } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { deployed } from './files.js';

/**
 * Starts a real nginx with .deploy/nginx.conf, changed in its addresses and files alone; the test's end ends it.
 *
 * @param gateways their ports on this machine
 * @param change of the configuration
 * @param probe a path that is 200 once it runs
 */
export async function startNginx(
  gateways: readonly number[],
  change: (config: string) => string = (config) => config,
  probe = '/live',
) {
  const folder = temporaryDirectory();
  const port = await freePort();
  let config = deployed('nginx.conf')
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replaceAll('/tmp/', `${folder}/`);
  for (const [index, gateway] of gateways.entries()) {
    config = config.replace(`gateway-${index + 1}:4000`, `127.0.0.1:${gateway}`);
  }
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, change(config));
  const { child, output, exited } = spawnKept('nginx', ['-c', file, '-e', 'stderr', '-g', 'daemon off;']);
  onTestFinished(async () => {
    // Its worker ends with it.
    child.kill('SIGTERM');
    await exited;
  });
  const address = `http://127.0.0.1:${port}`;
  await expect
    .poll(() => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${output()}`);
      return fetch(address + probe).then(
        ({ status }) => status,
        () => 0,
      );
    })
    .toBe(200);
  return {
    address,
    /** How often an attempt at a gateway failed, by what went wrong. */
    failedAttempts(): Readonly<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const [, reason = ''] of output().matchAll(/\[error\] .*?\d+ ([^,]*?) while /g)) {
        counts[reason] = (counts[reason] ?? 0) + 1;
      }
      return counts;
    },
  };
}
