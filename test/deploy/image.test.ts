/** Tests the command and the health check of the image, outside a container. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { temporaryDirectory } from '../support/ends.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { ask, post } from '../support/gateway-process.js';
import { fixedLimits, freePort, megabytesOf } from '../support/processes.js';
import { PACKAGE, ROOT } from '../support/readme.js';
import { spawnGroup } from '../support/server-process.js';
import { bytesOf, deployed, gatewayContainer, imageEnv } from './files.js';

/** Memory is measured for this many seconds: few in CI, more for the figures in .deploy/README.md. */
const MEMORY_SECONDS = Number(process.env.DEPLOYED_MEMORY_SECONDS ?? 5);
/** More tokens take more memory, so the smaller number is measured only for those figures. */
const SIZES = process.env.DEPLOYED_MEMORY_SECONDS ? [1_000, 10_000] : [10_000];
const LIMIT = bytesOf(gatewayContainer.resources.limits.memory);
const USER = 65_534;
const AS_USER = `setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs --bounding-set=-all`;
/** Whether this process may run commands as another user. If not, the command runs as the user of the tests. */
const CAN_CHANGE_USER = spawnSync('sh', ['-c', `${AS_USER} true`]).status === 0;

const dockerfile = deployed('Dockerfile');
const PATH = process.env.PATH ?? '';
const command = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '') as string[];
const healthCheck = JSON.parse(/^HEALTHCHECK .*? CMD (.*)$/m.exec(dockerfile)?.[1] ?? '') as string[];

/** Runs the command as the user of the image, who can write only the folder of snapshots. The end of the test kills it. */
function run(settings: Readonly<Record<string, string>>) {
  const program = CAN_CHANGE_USER ? AS_USER.split(' ') : [];
  const [first = '', ...args] = [...program, ...command];
  return spawnGroup(first, args, { cwd: ROOT, env: { PATH, ...imageEnv, ...settings } });
}

async function startImage(settings: Readonly<Record<string, string>>) {
  const snapshots = temporaryDirectory();
  if (CAN_CHANGE_USER) chownSync(snapshots, USER, USER);
  chmodSync(snapshots, 0o700);
  const [port, adminPort] = [String(await freePort()), String(await freePort())];
  const ports = { HOST: '127.0.0.1', PORT: port, ADMIN_PORT: adminPort };
  const env = { ...ports, SNAPSHOT_DIR: snapshots, ...settings };
  const started = run(env);
  await expect.poll(() => `${started.child.exitCode ?? ''}${started.output()}`).toContain('"Listening"');
  const [program = '', ...args] = healthCheck;
  return {
    ...started,
    snapshots,
    address: `http://127.0.0.1:${port}`,
    admin: `http://127.0.0.1:${adminPort}`,
    checkHealth: () => spawnSync(program, args, { env: { PATH, ...env } }).status,
  };
}

it('the command of the image is that of npm start', () => {
  expect(`exec ${command.join(' ')}`).toBe(PACKAGE.scripts.start);
});

it('the command of the image refuses to start without an upstream', async () => {
  const { exited, output } = run({});
  expect(await exited).toBe(1);
  expect(output()).toContain('UPSTREAM_URL: expected the base address of an upstream');
});

it('the image responds, is healthy, writes only snapshots, and stops at SIGTERM', async () => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  const { address, admin, child, exited, output, checkHealth, snapshots } = await startImage({
    UPSTREAM_URL: upstream.url,
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
    .poll(() => readdirSync(snapshots).toSorted().join('\n'))
    .toMatch(/chains-\S+\.snapshot\ntokens-\S+\.snapshot/);
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  if (CAN_CHANGE_USER) {
    expect(status).toMatch(/^Uid:\t65534\t65534/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    const canWrite = (path: string) =>
      spawnSync('sh', ['-c', `${AS_USER} test -w ${join(ROOT, path)}`]).status === 0;
    expect(['dist', 'dist/main.js', 'node_modules', '.'].filter(canWrite)).toEqual([]);
  }
  // The guide to troubleshooting has this command for a running container.
  const [command = ''] = /node -e "fetch[^`]*/.exec(deployed('troubleshooting.md')) ?? [];
  const refresh = command.replace('http://127.0.0.1:4001', admin);
  const { stdout } = await promisify(execFile)('sh', ['-c', refresh]);
  const refreshed = { refreshed: true };
  expect(JSON.parse(stdout)).toMatchObject({ chains: refreshed, tokens: refreshed });
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(checkHealth()).toBe(1);
  expect(output()).toContain('"Stopped"');
  expect(output()).not.toMatch(/"level":"(warn|error|fatal)"/);
});

it('the image is not healthy before it has listings', async () => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.planBoth(status(503));
  const { admin, checkHealth } = await startImage({ UPSTREAM_URL: upstream.url });
  expect((await fetch(`${admin}/live`)).status).toBe(200);
  expect(checkHealth()).toBe(1);
  for (const [name, rows] of Object.entries(generatedListings(2, 4)))
    upstream.plan(name as 'chains' | 'tokens', json({ [name]: rows }));
  await expect.poll(checkHealth).toBe(0);
});

it.each(SIZES)('the image stays below the limit on memory with %i tokens and clients', async (listed) => {
  const { chains, tokens } = generatedListings(80, listed);
  const upstream = await startFakeUpstream({ chains, tokens }, onTestFinished);
  // Prices change with each refresh, so that indexes and responses cannot be reused.
  upstream.plan('tokens', (_response, _request, usd) =>
    json({ tokens: tokens.map((token) => ({ ...token, price: { usd } })) }),
  );
  const { address, child, output } = await startImage({
    UPSTREAM_URL: upstream.url,
    TOKENS_FRESH_MS: '1000',
    LOG_REQUESTS: 'none',
    ...fixedLimits(),
  });
  await ask(address, '{ tokens { symbol } }');
  const idle = megabytesOf(child.pid).now;
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
      const response = await post(address, { query }, { 'accept-encoding': encoding });
      const body = (await response.json()) as { data?: unknown; errors?: unknown };
      expect([response.status, body.errors]).toEqual([200, undefined]);
      answered++;
      most = Math.max(most, megabytesOf(child.pid).now);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, nth) => client(nth)));
  process.stdout.write(
    `Memory with ${listed} tokens: ${mebibytes(idle)} MiB after the first answer, ${mebibytes(most)} MiB at most in ${answered} answers and ${upstream.count('tokens')} refreshes.\n`,
  );
  expect(upstream.count('tokens')).toBeGreaterThan(2);
  expect(child.exitCode ?? child.signalCode, output()).toBeNull();
  expect(most * 1e6).toBeLessThan(LIMIT);
});

const mebibytes = (megabytes: number) => Math.round((megabytes * 1e6) / 2 ** 20);
