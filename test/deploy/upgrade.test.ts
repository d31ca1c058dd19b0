/** Upgrades two gateways with one Redis and one disk from an earlier commit, and rolls them back, under load. */
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { ROOT } from '../support/readme.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { startManyRequests } from './many-requests.js';
import { startNginx } from './nginx.js';
import { areMissing } from './programs.js';
import { createReplica } from './replica.js';

/** The commit to upgrade from: the previous one unless given. */
const FROM = process.env.UPGRADE_FROM ?? 'HEAD~1';
const REQUESTS = 10_000;

const isFromMissing = (() => {
  try {
    execFileSync('git', ['rev-parse', '--verify', `${FROM}^{commit}`], { cwd: ROOT, stdio: 'pipe' });
    return false;
  } catch {
    process.stderr.write(`There is no commit ${FROM} here: upgrades from it are not tested.\n`);
    return true;
  }
})();

/** Builds the earlier commit with the packages of this commit. @returns the path of its main file */
function buildEarlier(): string {
  const folder = temporaryDirectory();
  execFileSync('sh', ['-c', `git archive ${FROM} | tar -x -C ${folder}`], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('npm', ['run', '-s', 'build'], { cwd: folder, stdio: 'pipe' });
  return join(folder, 'dist/main.js');
}

describe.skipIf(areMissing('nginx') || isRedisMissing || isFromMissing)('an upgrade and its rollback', () => {
  it('lose no request, and each side finds its listings on disk', { timeout: 600_000 }, async () => {
    const earlier = buildEarlier();
    const redis = await startRedis();
    const upstream = await startFakeUpstream();
    const env = {
      UPSTREAM_URL: upstream.url,
      SNAPSHOT_DIR: temporaryDirectory(),
      TRUSTED_PROXIES: '127.0.0.1',
      // So short that during the test each version refreshes listings that the other version has stored.
      TOKENS_FRESH_MS: '500',
    };
    const shared = { ...env, REDIS_URL: redis.url };
    const one = await createReplica(shared, earlier);
    const other = await createReplica(shared, earlier);
    const nginx = await startNginx([one.port, other.port]);
    const load = startManyRequests(nginx.address, 16);
    for (const [share, replica, main] of [
      [0.1, one, undefined],
      [0.3, other, undefined],
      [0.5, one, earlier],
      [0.7, other, earlier],
    ] as const) {
      await load.reach(REQUESTS * share);
      expect(await replica.end('SIGTERM'), replica.output()).toBe(0);
      await replica.start(main);
    }
    await load.reach(REQUESTS);
    await load.stop();
    expect(load.failures).toEqual([]);
    for (const replica of [one, other]) {
      expect(await replica.answered()).toBeGreaterThan(REQUESTS / 10);
      expect(await replica.end('SIGTERM')).toBe(0);
    }
    // Without the upstream and Redis, each version can start only from its own files.
    await upstream.close();
    for (const main of [earlier, undefined]) {
      const replica = await createReplica(env, main);
      expect(await replica.end('SIGTERM'), replica.output()).toBe(0);
    }
  });
});
