import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const HOME = new URL('../../../test/bench/peers/', import.meta.url);

/** Installs the packages that only the servers beside ours need, unless they are there. */
export function installPeers(): void {
  // npm writes it when all is installed.
  if (existsSync(new URL('node_modules/.package-lock.json', HOME))) return;
  process.stderr.write('Installing what the gateway is measured against: npm ci --prefix test/bench/peers\n');
  execFileSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', fileURLToPath(HOME)],
    {
      stdio: ['ignore', process.stderr, process.stderr],
    },
  );
}

/** One of those packages. */
export const requirePeer: (name: string) => unknown = createRequire(new URL('package.json', HOME));
