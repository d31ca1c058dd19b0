/** Processes of node:cluster with one Redis share their port and their refreshes, and continue if one is killed. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { temporaryDirectory } from '../support/ends.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { ask, FLAGS } from '../support/gateway-process.js';
import { fixedLimits, freePort } from '../support/processes.js';
import { blockOf, ROOT } from '../support/readme.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { spawnGroup } from '../support/server-process.js';

it.skipIf(isRedisMissing || process.platform !== 'linux')(
  'two processes of node:cluster with one Redis share the port and one refresh, replace one that was killed, and stop',
  async () => {
    const redis = await startRedis();
    const upstream = await startFakeUpstream({}, onTestFinished);
    const cwd = temporaryDirectory();
    for (const name of ['dist', 'node_modules', 'package.json'])
      symlinkSync(join(ROOT, name), join(cwd, name));
    const example = blockOf('src/storage/README.md', 'cluster');
    expect(example).toContain('availableParallelism();');
    writeFileSync(join(cwd, 'cluster.js'), example.replace('availableParallelism();', '2;'));
    const port = await freePort();
    const env = {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      ...fixedLimits(),
      UPSTREAM_URL: upstream.url,
      REDIS_URL: redis.url,
      CHAINS_FRESH_MS: '3600000',
      TOKENS_FRESH_MS: '3600000',
    };
    const { child, output, exited } = spawnGroup(process.execPath, [...FLAGS, 'cluster.js'], { cwd, env });
    const address = `http://127.0.0.1:${port}`;
    const count = (text: string) => output().split(text).length - 1;
    const answer = async () =>
      (await ask<{ tokens: unknown[] }>(address, '{ tokens { symbol } }')).data.tokens;
    await expect.poll(() => count('"msg":"Listening"')).toBe(2);
    await expect.poll(() => count('New snapshot of the tokens listing')).toBe(2);
    await expect.poll(() => count('New snapshot of the chains listing')).toBe(2);
    expect(await answer()).toHaveLength(demoTokens.length);

    const workers = () =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
    const [killed] = workers();
    process.kill(Number(killed), 'SIGKILL');
    await expect.poll(() => workers().includes(killed ?? '')).toBe(false);
    // The killed worker may still get a connection, and close it.
    await expect.poll(() => answer().catch(() => [])).toHaveLength(demoTokens.length);
    await expect.poll(() => count('"msg":"Listening"')).toBe(3);
    await expect.poll(() => count('New snapshot of the tokens listing')).toBe(3);
    // All three processes together send one request for each of the two listings. If Redis is too slow for a
    // process, on a busy machine, the process logs that, and may send both requests itself.
    const alone = count('Redis cannot be used');
    if (alone === 0) expect(upstream.count()).toBe(2);
    else expect(upstream.count()).toBeLessThanOrEqual(2 + 2 * alone);

    child.kill('SIGTERM');
    expect(await exited, output()).toBe(0);
    expect(count('"msg":"Stopped"')).toBe(2);
  },
);
