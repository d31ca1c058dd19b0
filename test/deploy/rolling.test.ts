/** Upgrades, kills and rolls back two gateways behind nginx, with one Redis and one disk, under load. */
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { demoChains as chains, demoTokens as tokens } from '../fixtures/demo.js';
import { temporaryDirectory } from '../support/ends.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { spawnGateway } from '../support/gateway-process.js';
import { questionsAbout, startLoad } from '../support/load.js';
import { fixedLimits, freePort } from '../support/processes.js';
import { ROOT } from '../support/readme.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { areMissing, startNginx } from './programs.js';

/** The number of requests. `DEPLOYED_REQUESTS=500000 npm run project deploy` sends more than the default. */
const REQUESTS = Number(process.env.DEPLOYED_REQUESTS ?? 4_000);
const FROM = process.env.UPGRADE_FROM ?? 'HEAD~1';

const all = questionsAbout({ chains, tokens });
const [lists, single] = [all.slice(0, 3), all.slice(3)];
/** A third of the queries has a new variable each time, so the gateway must execute them. One of 16 answers is long. */
const QUESTIONS = Array.from({ length: 48 }, (_, nth) => {
  const question = nth % 16 === 0 ? lists[nth / 16] : single[nth % single.length];
  return { query: '', expected: null, ...question, isNew: nth % 3 === 0 };
});

/** Builds the earlier commit with the packages of this one. @returns its folder; undefined without such a commit */
function buildEarlier(): string | undefined {
  try {
    execFileSync('git', ['rev-parse', '--verify', `${FROM}^{commit}`], { cwd: ROOT, stdio: 'pipe' });
  } catch {
    process.stderr.write(`There is no commit ${FROM} here: upgrades from it are not tested.\n`);
    return undefined;
  }
  const folder = temporaryDirectory();
  execFileSync('sh', ['-c', `git archive ${FROM} | tar -x -C ${folder}`], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('npm', ['run', '-s', 'build'], { cwd: folder, stdio: 'pipe' });
  return folder;
}

/** A gateway of a build. It can be ended, and started again on the same port. The test's end kills it. */
async function createReplica(env: Readonly<Record<string, string>>, firstBuild: string | undefined) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const admin = `http://127.0.0.1:${adminPort}`;
  const settings = { ...env, PORT: String(port), ADMIN_PORT: String(adminPort), LOG_REQUESTS: 'errors' };
  let gateway: ReturnType<typeof spawnGateway> | undefined;
  let answered = 0;
  const replica = {
    port,
    /** Starts a process, of this build unless the folder of another is given, and resolves when it is ready. */
    async start(build = ROOT) {
      gateway = spawnGateway({ ...settings, ...fixedLimits({}, build) }, join(build, 'dist/main.js'));
      await expect.poll(async () => (await fetch(`${admin}/ready`)).ok, { interval: 50 }).toBe(true);
    },
    async end(signal: 'SIGTERM' | 'SIGKILL') {
      const metrics = await (await fetch(`${admin}/metrics`)).text();
      for (const [, count] of metrics.matchAll(
        /^gateway_requests_total\{cache="(?:hit|miss)",outcome="ok"\} (\d+)$/gm,
      ))
        answered += Number(count);
      gateway?.child.kill(signal);
      return gateway?.exited;
    },
    answered: () => answered,
    output: () => gateway?.output(),
  };
  onTestFinished(async () => {
    gateway?.child.kill('SIGKILL');
    await gateway?.exited;
  });
  await replica.start(firstBuild);
  return replica;
}

it.skipIf(areMissing('nginx') || isRedisMissing)(
  `two gateways behind nginx lose none of ${REQUESTS} requests when they are upgraded, killed and rolled back, and find their listings on disk`,
  {
    timeout: 600_000 + REQUESTS * 5,
  },
  async () => {
    const earlier = buildEarlier();
    const redis = await startRedis();
    const upstream = await startFakeUpstream({}, onTestFinished);
    const env = {
      UPSTREAM_URL: upstream.url,
      SNAPSHOT_DIR: temporaryDirectory(),
      TRUSTED_PROXIES: '127.0.0.1',
      // The interval is so short that each version refreshes listings that the other version has stored.
      TOKENS_FRESH_MS: '500',
    };
    const shared = { ...env, REDIS_URL: redis.url };
    const [one, other] = [await createReplica(shared, earlier), await createReplica(shared, earlier)];
    const nginx = await startNginx([one.port, other.port]);
    const began = performance.now();
    const load = startLoad(nginx.address, QUESTIONS, { connections: 32 });
    const reach = (share: number) =>
      expect
        .poll(() => load.answered + load.failures.length, { timeout: 300_000 + REQUESTS * 5 })
        .toBeGreaterThan(share * REQUESTS);
    for (const [share, replica, signal, build] of [
      [0.1, one, 'SIGTERM', undefined],
      [0.2, other, 'SIGTERM', undefined],
      [0.4, one, 'SIGKILL', undefined],
      [0.5, other, 'SIGKILL', undefined],
      [0.6, one, 'SIGKILL', undefined],
      [0.7, one, 'SIGTERM', earlier],
      [0.8, other, 'SIGTERM', earlier],
    ] as const) {
      await reach(share);
      expect(await replica.end(signal), replica.output()).toBe(signal === 'SIGTERM' ? 0 : null);
      if (signal === 'SIGKILL') await reach(share + 0.05);
      await replica.start(build);
      // A request that this gateway refused before it listened is lost if the other is killed before it answers.
      await load.answers();
    }
    await reach(1);
    await load.stop();
    const seconds = (performance.now() - began) / 1000;
    const failed = [`${load.failures.length} failed`, ...new Set(load.failures)].slice(0, 4).join('; ');
    process.stdout.write(
      `${load.answered} requests in ${seconds.toFixed(0)} s (${Math.round(load.answered / seconds)}/s): ${failed}.\n`,
    );
    expect(load.failures).toEqual([]);
    // nginx sent some requests to a stopped gateway, and could have lost them. Each gateway answered many.
    expect(nginx.output()).toMatch(/\[error\] .*Connection refused\) while /);
    for (const replica of [one, other]) {
      expect(await replica.end('SIGTERM')).toBe(0);
      expect(replica.answered()).toBeGreaterThan(REQUESTS / 10);
    }
    // Without the upstream and Redis, a gateway can start only from the files that both versions have written.
    await upstream.close();
    for (const build of [earlier, undefined]) {
      const replica = await createReplica(env, build);
      expect(await replica.end('SIGTERM'), replica.output()).toBe(0);
    }
  },
);
