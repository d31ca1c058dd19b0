import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { json, startFakeUpstream } from '../support/fake-upstream.js';
import { freePort } from '../support/free-port.js';
import { ask } from '../support/gateway-process.js';
import { residentMegabytes } from '../support/load.js';
import { ROOT, readText } from '../support/readme.js';
import { CAN, runContained } from './container.js';
import { type Built, build, parseDockerfile } from './dockerfile.js';
import { bytesOf, deployed, gatewayContainer } from './files.js';

/** How long the memory is watched: short in CI, long for the figures in .deploy/README.md. */
const MEMORY_SECONDS = Number(process.env.DEPLOYED_MEMORY_SECONDS ?? 10);
const LIMIT = bytesOf(gatewayContainer.resources.limits.memory);

const stages = parseDockerfile(deployed('Dockerfile'));
const PATH = process.env.PATH ?? '';
let into: string;
let image: Built;
beforeAll(async () => {
  into = mkdtempSync(join(tmpdir(), 'gateway-image-'));
  // The user of the last stage must get through.
  chmodSync(into, 0o755);
  const env = { PATH, HOME: process.env.HOME ?? '', npm_config_prefer_offline: 'true' };
  image = await build(stages, ROOT, into, env);
});
afterAll(() => rmSync(into, { recursive: true, force: true }));

/** Runs the image's command on free ports, and waits until it listens. */
async function startImage(settings: Readonly<Record<string, string>>) {
  const [port, adminPort] = [String(await freePort()), String(await freePort())];
  const env = { ...image.env, HOST: '127.0.0.1', PORT: port, ADMIN_PORT: adminPort, ...settings };
  const container = runContained(image.command, {
    folder: image.folder,
    env,
    user: image.user,
    volumes: [join(image.folder, 'snapshots')],
    memoryBytes: LIMIT,
  });
  await expect.poll(() => `${container.child.exitCode ?? ''}${container.output()}`).toContain('"Listening"');
  const checkHealth = () => {
    const [program = '', ...args] = image.healthCheck;
    return spawnSync(program, args, { cwd: image.folder, env: { PATH, ...env } }).status;
  };
  return {
    ...container,
    address: `http://127.0.0.1:${port}`,
    admin: `http://127.0.0.1:${adminPort}`,
    checkHealth,
  };
}

describe('the Dockerfile', () => {
  it('has stages of the Node in .nvmrc, and a small last one', () => {
    expect(stages.map(({ base }) => base)).toEqual(
      stages.map(() => `node:${readText('.nvmrc').trim()}-bookworm-slim`),
    );
    expect(stages.at(-1)?.instructions.filter(({ keyword }) => keyword === 'RUN')).toEqual([]);
    expect(image.user).toBe('65534:65534');
    expect(image.ports).toEqual([image.env.PORT, image.env.ADMIN_PORT].map(Number));
  });

  it('runs what npm start runs', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: { start: string } };
    expect(`exec ${image.command.join(' ')}`).toBe(scripts.start);
  });

  it('gives its user nothing to write but the folder of snapshots', () => {
    const ownerOf = (path: string) => statSync(join(image.folder, path)).uid;
    expect(['.', 'dist', 'dist/main.js', 'node_modules', 'package.json'].map(ownerOf)).toEqual(
      Array(5).fill(process.getuid?.()),
    );
    if (CAN.changeUser) expect(ownerOf('snapshots')).toBe(65_534);
  });

  it('refuses to start without an upstream', async () => {
    const { exited, output } = runContained(image.command, {
      folder: image.folder,
      env: image.env,
      user: image.user,
      volumes: [],
      memoryBytes: LIMIT,
    });
    expect(await exited).toBe(1);
    expect(output()).toContain('UPSTREAM_URL: expected a base address');
  });
});

describe('what it runs', () => {
  it('answers, is healthy, writes snapshots and nothing else, and stops at SIGTERM', async () => {
    const upstream = await startFakeUpstream();
    onTestFinished(upstream.close);
    const snapshots = join(image.folder, 'snapshots');
    const { address, admin, child, exited, output, checkHealth } = await startImage({
      UPSTREAM_URL: upstream.url,
      SNAPSHOT_DIR: snapshots,
    });
    const { data } = await ask<{ tokens: unknown[] }>(address, '{ tokens(srcChainKey: "degen") { symbol } }');
    expect(data.tokens).toHaveLength(4);
    await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
    for (const path of ['/', '/graphql']) {
      expect((await fetch(address + path, { headers: { accept: 'text/html' } })).status, path).toBe(200);
    }
    expect((await fetch(`${admin}/metrics`)).status).toBe(200);
    expect((await fetch(`${address}/metrics`)).status).toBe(404);
    expect(checkHealth()).toBe(0);
    await expect
      .poll(() => spawnSync('ls', [snapshots]).stdout.toString())
      .toMatch(/chains-\S+\.snapshot\ntokens-\S+\.snapshot/);
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    if (CAN.changeUser) {
      expect(status).toMatch(/^Uid:\t65534\t65534/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
    }
    if (CAN.mountReadOnly) {
      const inside = (path: string) =>
        spawnSync('nsenter', [`--mount=/proc/${child.pid}/ns/mnt`, 'touch', join(image.folder, path)]).status;
      expect([inside('dist/new'), inside('new'), inside('snapshots/new')]).toEqual([1, 1, 0]);
    }
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    expect(checkHealth()).toBe(1);
    expect(output()).toContain('"Stopped"');
    expect(output()).not.toMatch(/"level":(40|50|60)/);
  });

  it.each([1_000, 10_000])(
    'stays below the limit on memory with %i tokens, a refresh each second, and clients',
    async (listed) => {
      const { chains, tokens } = generatedListings(80, listed);
      const upstream = await startFakeUpstream({ chains, tokens });
      onTestFinished(upstream.close);
      // Prices change with each refresh, so that nothing can be used again.
      upstream.plan('tokens', (response, request, nth) =>
        json({ tokens: tokens.map((token) => ({ ...token, price: { usd: nth } })) })(response, request, nth),
      );
      const { address, child, output, peak } = await startImage({
        UPSTREAM_URL: upstream.url,
        SNAPSHOT_DIR: join(image.folder, 'snapshots'),
        TOKENS_FRESH_MS: '1000',
        LOG_REQUESTS: 'none',
        MAX_WAIT_MS: '60000',
      });
      await ask(address, '{ tokens { symbol } }');
      const idle = residentMegabytes(child.pid);
      const until = performance.now() + MEMORY_SECONDS * 1000;
      const isOver = () =>
        performance.now() >= until && (upstream.count('tokens') > 2 || performance.now() >= until + 60_000);
      let most = idle;
      let answered = 0;
      const client = async (nth: number) => {
        const encoding = ['br', 'gzip', 'identity'][nth % 3] ?? '';
        for (let turn = nth; !isOver(); turn += 8) {
          const query =
            turn % 16 === 0
              ? '{ tokens { id symbol name decimals address price { usd } chain { name } } }'
              : `{ tokenSearch(query: "tok${turn % listed}") { totalCount nodes: edges { node { symbol } } } }`;
          const response = await fetch(`${address}/graphql`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'accept-encoding': encoding },
            body: JSON.stringify({ query }),
          });
          const body = (await response.json()) as { data?: unknown; errors?: unknown };
          expect([response.status, body.errors]).toEqual([200, undefined]);
          answered++;
          most = Math.max(most, residentMegabytes(child.pid));
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, nth) => client(nth)));
      const counted =
        peak() === undefined ? '' : `, ${Math.round((peak() ?? 0) / 2 ** 20)} MiB as its cgroup counts`;
      process.stdout.write(
        `Memory with ${listed} tokens: ${mebibytes(idle)} MiB after the first answer, ${mebibytes(most)} MiB at most in ${answered} answers and ${upstream.count('tokens')} refreshes${counted}.\n`,
      );
      expect(upstream.count('tokens')).toBeGreaterThan(2);
      expect(child.exitCode ?? child.signalCode, output()).toBeNull();
      expect(most * 1e6).toBeLessThan(LIMIT);
    },
  );
});

const mebibytes = (megabytes: number) => Math.round((megabytes * 1e6) / 2 ** 20);
